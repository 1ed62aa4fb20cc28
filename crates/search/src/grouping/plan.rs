//! Groupings that can be done: what is grouped by what, ordered, aggregated and shown
//! (Vespa, `container-search/src/main/java/com/yahoo/search/grouping/vespa/RequestBuilder.java`).

use super::code::{AggregateCode, Compiler, SCOPES, Typed};
use super::continuation::Offsets;
use super::error::GroupingError;
use super::syntax::{
    Aggregate, Expr, Filter, Function, MAX_DEPTH, Max, Operation, Where, described,
};
use super::value::Kind;

/// How many groups and hits there are where a grouping does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The most groups of a list; nothing for any number.
    pub groups: Option<u32>,
    /// The most hits of a list; nothing for any number.
    pub hits: Option<u32>,
    /// The most groups and hits that a grouping may ask for; nothing for any number.
    pub all: Option<u64>,
    /// How many times as many groups each node looks at as the list has.
    pub precision: f64,
}

/// Those of Vespa (`GroupingExecutor.java`).
impl Default for Limits {
    fn default() -> Limits {
        Limits { groups: Some(10), hits: Some(10), all: Some(10_000), precision: 2.0 }
    }
}

/// A grouping that can be done.
#[derive(Debug)]
pub struct GroupingPlan {
    /// Its number among those of the request.
    pub(super) number: u32,
    /// Whether all documents are grouped, not only the matches.
    pub(super) all: bool,
    pub(super) root: NodePlan,
    /// The attributes by number.
    pub(super) attributes: Vec<String>,
    pub(super) offsets: Offsets,
}

/// What is told of each group of a list, and what it is divided into.
#[derive(Debug, Default)]
pub(super) struct NodePlan {
    pub(super) tag: u32,
    pub(super) outputs: Vec<OutputPlan>,
    pub(super) hits: Vec<HitsPlan>,
    pub(super) lists: Vec<ListPlan>,
}

/// A value of groups.
#[derive(Debug)]
pub(super) struct OutputPlan {
    pub(super) label: String,
    pub(super) aggregate: AggregateCode,
    /// Whether it is how many groups there are, of those that pass a filter.
    pub(super) distinct: Option<Option<FilterCode>>,
    pub(super) top: Option<u32>,
}

/// Hits of groups.
#[derive(Debug)]
pub(super) struct HitsPlan {
    pub(super) tag: u32,
    pub(super) label: String,
    pub(super) summary: Option<String>,
    pub(super) max: Option<u32>,
    pub(super) top: Option<u32>,
}

/// A list of groups.
#[derive(Debug)]
pub(super) struct ListPlan {
    pub(super) label: String,
    pub(super) by: Typed,
    /// Which element of a map or array the groups are of, by the number of the scope.
    pub(super) scope: Option<usize>,
    pub(super) filter: Option<FilterCode>,
    pub(super) max: Option<u32>,
    pub(super) precision: Option<u32>,
    pub(super) order: Vec<(Typed, bool)>,
    pub(super) ordered: Vec<AggregateCode>,
    /// Only so many of the best documents are grouped.
    pub(super) top: Option<u32>,
    pub(super) node: NodePlan,
}

/// A test of documents.
#[derive(Debug, Clone)]
pub(super) enum FilterCode {
    Regex(regex::Regex, Typed),
    Range { ends: (f64, f64), within: (bool, bool), value: Typed },
    IsTrue(Typed),
    Not(Box<FilterCode>),
    And(Vec<FilterCode>),
    Or(Vec<FilterCode>),
}

/// What an operation hands to those in it.
#[derive(Clone, Default)]
struct State {
    group: Option<Expr>,
    label: Option<String>,
    max: Option<u32>,
    precision: Option<u32>,
    filter: Option<Filter>,
    order: Vec<(Expr, bool)>,
    top: Option<u32>,
}

struct Builder<'b, 'c> {
    compiler: &'b mut Compiler<'c>,
    limits: Limits,
    offsets: Offsets,
    tag: u32,
    all: bool,
    /// The groups and hits that there may be.
    total: u64,
}

impl GroupingPlan {
    /// A grouping of documents; `offsets` are the pages that somebody sees.
    pub(super) fn new(
        operation: &Operation,
        compiler: &mut Compiler<'_>,
        limits: Limits,
        (number, offsets): (u32, Offsets),
    ) -> Result<GroupingPlan, GroupingError> {
        let mut builder = Builder { compiler, limits, offsets, tag: 1, all: false, total: 0 };
        let mut root = NodePlan { tag: 1, ..NodePlan::default() };
        builder.operation(operation, &mut root, State::default(), (true, 1))?;
        prune(&mut root);
        let Builder { offsets, all, total, .. } = builder;
        if let Some(most) = limits.all
            && total > most
        {
            return Err(GroupingError::text(format!(
                "The theoretical total number of groups and summaries in grouping query exceeds 'grouping.globalMaxGroups' \
                 ( {total} > {most} ). Either restrict group/summary counts with max() or disable 'grouping.globalMaxGroups'."
            )));
        }
        let attributes = std::mem::take(&mut compiler.attributes);
        Ok(GroupingPlan { number, all, root, attributes, offsets })
    }

    /// Whether there is nothing to tell: such a grouping is no part of a result.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.root.is_empty()
    }

    /// The attributes that it reads.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.attributes.iter().map(String::as_str)
    }

    /// The summaries of hits in groups that it names.
    pub fn summaries(&self) -> impl Iterator<Item = &str> {
        let mut open = vec![&self.root];
        std::iter::from_fn(move || {
            let node = open.pop()?;
            open.extend(node.lists.iter().map(|list| &list.node));
            Some(node.hits.iter().filter_map(|hits| hits.summary.as_deref()))
        })
        .flatten()
    }
}

/// Lists without anything to tell go.
fn prune(node: &mut NodePlan) {
    node.lists.iter_mut().for_each(|list| prune(&mut list.node));
    node.lists.retain(|list| !list.node.is_empty());
}

impl NodePlan {
    fn is_empty(&self) -> bool {
        self.outputs.is_empty() && self.hits.is_empty() && self.lists.is_empty()
    }
}

impl Builder<'_, '_> {
    /// Adds what an operation does to that of the group that it works on.
    fn operation(
        &mut self,
        operation: &Operation,
        node: &mut NodePlan,
        mut state: State,
        (is_root, factor): (bool, u64),
    ) -> Result<(), GroupingError> {
        if operation.level > 2 {
            return Err(GroupingError::text(format!(
                "Can not operate on {}.",
                described(operation.level)
            )));
        }
        if operation.is_each && state.group.is_some() {
            return self.list(operation, node, state, factor);
        }
        if let (true, Some(label)) = (operation.is_each, &operation.label) {
            state.label = Some(label.clone());
        }
        self.inside(operation, node, state, (is_root, factor))
    }

    /// `each` of a list of groups.
    fn list(
        &mut self,
        operation: &Operation,
        node: &mut NodePlan,
        mut state: State,
        factor: u64,
    ) -> Result<(), GroupingError> {
        let Some(group) = state.group.take() else { return Ok(()) };
        self.tag += 1;
        let tag = self.tag;
        let (max, precision) = (state.max.take(), state.precision.take());
        let most = match &group {
            // One for each bucket, and one for what is in none.
            Expr::Predefined(_, buckets) => {
                let all = buckets.len() as u64 + 1;
                Some(max.filter(|max| *max > 0).map_or(all, |max| all.min(u64::from(max))))
            }
            _ => max.filter(|max| *max > 0).map(u64::from),
        };
        let factor = self.counted(most, factor, "groups", "group")?;
        let label = operation.label.clone().or(state.label.take()).unwrap_or_default();
        if node.lists.iter().any(|list| list.label == label) {
            return Err(twice("group list", &label));
        }
        let scopes = self.compiler.scopes.len();
        self.compiler.lists.clear();
        let by = self.compiler.typed(&group)?;
        // Elements of one map or array: what stands inside is about the same element.
        let scope = match self.compiler.lists.as_slice() {
            [one] if by.is_list && scopes < SCOPES => {
                self.compiler.scopes.push(one.clone());
                Some(scopes)
            }
            [_] if by.is_list => {
                return Err(GroupingError::text(format!(
                    "more than {SCOPES} maps or arrays are grouped inside of each other"
                )));
            }
            _ => None,
        };
        let filter = state.filter.take().map(|filter| self.filter(&filter)).transpose()?;
        let mut ordered = Vec::new();
        let mut order = Vec::new();
        for (expr, ascends) in std::mem::take(&mut state.order) {
            order.push((self.compiler.ordered(&expr, &mut ordered)?, ascends));
        }
        let offset = self.offsets.of_tag(tag);
        let mut inner = NodePlan { tag, ..NodePlan::default() };
        let top = state.top;
        self.inside(operation, &mut inner, state, (false, factor))?;
        self.compiler.scopes.truncate(scopes);
        let precision = precision.map(|precision| precision.saturating_add(offset));
        node.lists.push(ListPlan {
            label,
            by,
            scope,
            filter,
            max,
            precision,
            order,
            ordered,
            top,
            node: inner,
        });
        Ok(())
    }

    /// What an operation tells, and what is in it.
    fn inside(
        &mut self,
        operation: &Operation,
        node: &mut NodePlan,
        mut state: State,
        (is_root, factor): (bool, u64),
    ) -> Result<(), GroupingError> {
        let before = state.clone();
        self.state(operation, &mut state, is_root)?;
        for output in &operation.outputs {
            let group = if operation.is_each { None } else { state.group.as_ref() };
            let filter = if operation.is_each { None } else { state.filter.as_ref() };
            // Hits take the limit that stands around them.
            let around = (&before, group, filter, state.top);
            self.output(output, operation.level, node, around, factor)?;
        }
        for child in &operation.children {
            self.operation(child, node, state.clone(), (false, factor))?;
        }
        Ok(())
    }

    /// What an operation says for those in it.
    fn state(
        &mut self,
        operation: &Operation,
        state: &mut State,
        is_root: bool,
    ) -> Result<(), GroupingError> {
        if let Some(group) = &operation.group {
            if state.group.is_some() {
                return Err(GroupingError::text("Can not group list of groups."));
            }
            // Also where no list is made of it.
            self.compiler.typed(group)?;
            state.group = Some(group.clone());
            state.label = Some(group.to_string());
        } else if operation.level == 1 {
            state.label = Some("hits".to_owned());
        } else if operation.level > 1 {
            let level = described(operation.level);
            return Err(GroupingError::text(format!("Can not create anonymous {level}.")));
        }
        if operation.filter.is_some() {
            state.filter.clone_from(&operation.filter);
        }
        // A limit of the outermost list is one of documents.
        if !operation.is_each && state.group.is_none() {
            match operation.max {
                Some(Max::Of(_)) if !is_root => {
                    return Err(GroupingError::text(
                        "max in all(...) without group is for the outermost operation",
                    ));
                }
                Some(Max::Of(max)) => state.top = Some(max),
                _ => {}
            }
        } else {
            state.max = match (operation.max, &state.group) {
                (Some(Max::Unlimited), _) => None,
                (Some(Max::Of(max)), _) => Some(max),
                (None, Some(_)) => self.limits.groups,
                (None, None) => self.limits.hits,
            };
        }
        if !operation.order.is_empty() {
            if operation.level != 2 {
                let level = described(operation.level);
                return Err(GroupingError::text(format!("Can not order {level} content.")));
            }
            for order in &operation.order {
                state.order.push(match order {
                    Expr::Call(Function::Neg, of) => {
                        let Some(of) = of.first() else { continue };
                        (of.clone(), false)
                    }
                    other => (other.clone(), true),
                });
            }
        }
        if let Some(precision) = operation.precision {
            state.precision = Some(precision);
        } else if let Some(max) = state.max.filter(|_| self.limits.precision > 0.0) {
            let precision = (f64::from(max) * self.limits.precision).ceil().max(1.0);
            state.precision = Some(precision as u32);
        }
        match operation.wheres {
            Some(_) if !is_root || operation.group.is_some() => {
                Err(GroupingError::text("Can not apply 'where' to non-root group."))
            }
            wheres => {
                self.all |= wheres == Some(Where::All);
                Ok(())
            }
        }
    }

    fn output(
        &mut self,
        output: &super::syntax::Output,
        level: u32,
        node: &mut NodePlan,
        (state, group, filter, top): (&State, Option<&Expr>, Option<&Filter>, Option<u32>),
        factor: u64,
    ) -> Result<(), GroupingError> {
        let Expr::Aggregate(what, of) = &output.expr else {
            return Err(GroupingError::text(format!(
                "Can not convert '{}' to an aggregator.",
                output.expr
            )));
        };
        self.tag += 1;
        let tag = self.tag;
        if let Aggregate::Summary(name) = what {
            if output.label.is_some() {
                return Err(GroupingError::text(format!(
                    "Can not label expression '{}'.",
                    output.expr
                )));
            }
            let label = state.label.clone().unwrap_or_else(|| "hits".to_owned());
            if node.hits.iter().any(|hits| hits.label == label) {
                return Err(twice("hit list", &label));
            }
            let most = state.max.filter(|max| *max > 0).map(u64::from);
            // Those of no group are as many as somebody asks for.
            if node.tag > 1 {
                self.counted(most, factor, "summaries", "summary")?;
            }
            let (summary, max) = (name.clone(), state.max);
            node.hits.push(HitsPlan { tag, label, summary, max, top });
            return Ok(());
        }
        let label = output.label.clone().unwrap_or_else(|| output.expr.to_string());
        if node.outputs.iter().any(|known| known.label == label) {
            return Err(twice("output", &label));
        }
        let (aggregate, distinct) = if level > 1 {
            let (Aggregate::Count, Some(group)) = (what, group) else {
                return Err(GroupingError::text(format!(
                    "Can not aggregate on {}.",
                    described(level)
                )));
            };
            // The groups are those that the expression of the list makes.
            let of = Some(self.compiler.typed(group)?);
            let filter = filter.map(|filter| self.filter(filter)).transpose()?;
            (AggregateCode { what: Aggregate::Count, of }, Some(filter))
        } else {
            (self.compiler.aggregate(&output.expr, what, of.first())?, None)
        };
        node.outputs.push(OutputPlan { label, aggregate, distinct, top });
        Ok(())
    }

    /// Counts groups or hits that there may be; how many there are of what is inside of each.
    fn counted(
        &mut self,
        most: Option<u64>,
        factor: u64,
        names: &str,
        name: &str,
    ) -> Result<u64, GroupingError> {
        if self.limits.all.is_none() {
            return Ok(factor);
        }
        let Some(most) = most else {
            return Err(GroupingError::text(format!(
                "Cannot return unbounded number of {names} when 'grouping.globalMaxGroups' is enabled. Either restrict {name} \
                 count with max() or disable 'grouping.globalMaxGroups'."
            )));
        };
        let all = factor.saturating_mul(most);
        self.total = self.total.saturating_add(all);
        Ok(if name == "group" { all } else { factor })
    }

    fn filter(&mut self, filter: &Filter) -> Result<FilterCode, GroupingError> {
        let mut list = |list: &[Filter]| -> Result<Vec<FilterCode>, GroupingError> {
            list.iter().map(|filter| self.filter(filter)).collect()
        };
        Ok(match filter {
            Filter::And(all) => FilterCode::And(list(all)?),
            Filter::Or(all) => FilterCode::Or(list(all)?),
            Filter::Not(one) => FilterCode::Not(Box::new(self.filter(one)?)),
            Filter::Regex(pattern, value) => {
                let whole = regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
                    .nest_limit(MAX_DEPTH as u32)
                    .size_limit(1 << 20)
                    .build();
                let regex = whole.map_err(|_| {
                    GroupingError::text(format!("'{pattern:.60}' is no regular expression"))
                })?;
                FilterCode::Regex(regex, self.compiler.typed(value)?)
            }
            Filter::Range { ends, within, value } => {
                let value = self.compiler.typed(value)?;
                FilterCode::Range { ends: *ends, within: *within, value }
            }
            Filter::IsTrue(value) => {
                let typed = self.compiler.typed(value)?;
                if typed.kind != Kind::Bool {
                    return Err(GroupingError::text(format!(
                        "istrue() requires input to be type bool, got {value}"
                    )));
                }
                FilterCode::IsTrue(typed)
            }
        })
    }
}

/// Vespa's text for a label that two siblings have.
fn twice(what: &str, label: &str) -> GroupingError {
    GroupingError::text(format!("Can not use {what} label '{label}' for multiple siblings."))
}
