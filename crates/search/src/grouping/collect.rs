//! Documents to groups.
//!
//! Each list is made for all documents of the group that it is in; what is told of a group and the lists in it are made when the best
//! groups are known, of their documents only.

use std::collections::HashMap;

use stead_store::View;

use super::code::AggregateCode;
use super::code::SCOPES;
use super::error::GroupingError;
use super::evaluate::{ALL, Evaluator, Row};
use super::partial::{GroupHit, PartialGroup, looked_at, sort};
use super::plan::{GroupingPlan, ListPlan, NodePlan, OutputPlan};
use super::state::{Distinct, State};
use super::syntax::Aggregate;
use super::value::Value;

/// The most memory that the groups of a grouping take on a node, in bytes.
pub const MAX_MEMORY: usize = 256 << 20;

/// The documents between two looks at the clock.
const BATCH: usize = 1024;

/// The documents that are grouped: with their scores, or all of them.
pub struct Grouped<'g> {
    /// Matches with their scores.
    pub matches: &'g [(u32, f64)],
    /// Whether there is no time left.
    pub is_late: &'g dyn Fn() -> bool,
}

/// A group in the making.
struct Making {
    id: Value,
    rank: f64,
    order: Vec<State>,
    rows: Vec<Row>,
}

struct Collector<'c, 'v> {
    plan: &'c GroupingPlan,
    evaluator: Evaluator<'v>,
    is_late: &'c dyn Fn() -> bool,
    is_cut: bool,
    memory: usize,
}

/// The groups of documents, and whether some documents were left out because it was late.
pub(super) fn collect(
    plan: &GroupingPlan,
    view: &View,
    grouped: &Grouped<'_>,
) -> Result<(PartialGroup, bool), GroupingError> {
    let evaluator = Evaluator::new(view, &plan.attributes, grouped.is_late);
    let mut collector =
        Collector { plan, evaluator, is_late: grouped.is_late, is_cut: false, memory: 0 };
    let row = |lid, relevance: f64| {
        let relevance = if relevance.is_nan() { f64::NEG_INFINITY } else { relevance };
        Row { lid, relevance, at: [ALL; SCOPES] }
    };
    let rows: Vec<Row> = match plan.all {
        true => view.lids().map(|lid| row(lid, 0.0)).collect(),
        false => grouped.matches.iter().map(|(lid, score)| row(*lid, *score)).collect(),
    };
    let root = Making { id: Value::Null, rank: 0.0, order: Vec::new(), rows };
    let root = collector.group(&plan.root, root)?;
    Ok((root, collector.is_cut))
}

impl Collector<'_, '_> {
    fn group(&mut self, plan: &NodePlan, making: Making) -> Result<PartialGroup, GroupingError> {
        let rows = making.rows;
        let mut outputs = Vec::with_capacity(plan.outputs.len());
        for output in &plan.outputs {
            outputs.push(self.output(output, best(&rows, output.top).as_ref())?);
        }
        let mut hits = Vec::with_capacity(plan.hits.len());
        for list in &plan.hits {
            let offset = self.plan.offsets.of_tag(list.tag);
            let most = list.max.map(|max| looked_at(max, offset));
            let top = list.top.map_or(usize::MAX, |top| top as usize);
            let most = most.unwrap_or(usize::MAX).min(top).min(rows.len());
            self.take(most * size_of::<GroupHit>())?;
            let hit =
                |row: &Row| GroupHit { lid: row.lid, node: 0, kind: 0, relevance: row.relevance };
            hits.push(best(&rows, u32::try_from(most).ok()).iter().map(hit).collect());
        }
        let mut lists = Vec::with_capacity(plan.lists.len());
        for list in &plan.lists {
            lists.push(self.list(list, best(&rows, list.top).as_ref())?);
        }
        let Making { id, rank, order, .. } = making;
        Ok(PartialGroup { id, rank, order, outputs, hits, lists })
    }

    fn list(&mut self, plan: &ListPlan, rows: &[Row]) -> Result<Vec<PartialGroup>, GroupingError> {
        let before = self.memory;
        let mut places: HashMap<Value, usize> = HashMap::new();
        let mut groups: Vec<Making> = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            if self.is_over(number) {
                break;
            }
            let value = self.evaluator.value(&plan.by, row)?;
            for (element, value) in value.elements().iter().enumerate() {
                let mut row = *row;
                if let Some(at) = plan.scope.and_then(|scope| row.at.get_mut(scope)) {
                    *at = u32::try_from(element).unwrap_or(ALL);
                }
                if let Some(filter) = &plan.filter
                    && !self.evaluator.passes(filter, &row)?
                {
                    continue;
                }
                let at = match places.get(value) {
                    Some(at) => *at,
                    None => {
                        let of = plan.ordered.len() * size_of::<State>();
                        self.take(2 * value.memory() + of + 2 * size_of::<Making>())?;
                        places.insert(value.clone(), groups.len());
                        let order = plan.ordered.iter().map(state).collect();
                        let (id, rank) = (value.clone(), f64::NEG_INFINITY);
                        groups.push(Making { id, rank, order, rows: Vec::new() });
                        groups.len() - 1
                    }
                };
                let Some(group) = groups.get_mut(at) else { continue };
                // Memory doubles when it is full.
                self.memory += 2 * size_of::<Row>();
                group.rows.push(row);
                group.rank = group.rank.max(row.relevance);
                for (state, of) in group.order.iter_mut().zip(&plan.ordered) {
                    aggregate(&mut self.evaluator, state, of, &row)?;
                }
            }
            self.take(0)?;
        }
        drop(places);
        // Which of them are the best is known of what is ordered by alone.
        let mut rows: HashMap<Value, Vec<Row>> = HashMap::new();
        let mut known: Vec<PartialGroup> = Vec::with_capacity(groups.len());
        for Making { id, rank, order, rows: own } in groups {
            rows.insert(id.clone(), own);
            let (outputs, hits, lists) = (Vec::new(), Vec::new(), Vec::new());
            known.push(PartialGroup { id, rank, order, outputs, hits, lists });
        }
        sort(&mut known, plan);
        if let Some(max) = plan.max {
            let most = looked_at(max, self.plan.offsets.of_tag(plan.node.tag));
            known.truncate(plan.precision.map_or(most, |precision| most.max(precision as usize)));
        }
        let mut found = Vec::with_capacity(known.len());
        for PartialGroup { id, rank, order, .. } in known {
            let rows = rows.remove(&id).unwrap_or_default();
            found.push(self.group(&plan.node, Making { id, rank, order, rows })?);
        }
        self.memory = before + found.iter().map(memory).sum::<usize>();
        Ok(found)
    }

    fn output(&mut self, plan: &OutputPlan, rows: &[Row]) -> Result<State, GroupingError> {
        let mut state = match plan.distinct {
            Some(_) => State::Distinct(Distinct::new()),
            None => state(&plan.aggregate),
        };
        let mut counted = 0;
        for (number, row) in rows.iter().enumerate() {
            if self.is_over(number) {
                break;
            }
            if let Some(Some(filter)) = &plan.distinct
                && !self.evaluator.passes(filter, row)?
            {
                continue;
            }
            aggregate(&mut self.evaluator, &mut state, &plan.aggregate, row)?;
            if number.is_multiple_of(BATCH) {
                let memory = state.memory();
                self.take(memory.saturating_sub(counted))?;
                counted = memory.max(counted);
            }
        }
        Ok(state)
    }

    /// Whether it is late, from time to time.
    fn is_over(&mut self, number: usize) -> bool {
        if number.is_multiple_of(BATCH) && !self.is_cut {
            self.is_cut = (self.is_late)();
        }
        self.is_cut |= self.evaluator.ran_out;
        self.is_cut
    }

    /// Counts memory before it is taken.
    fn take(&mut self, bytes: usize) -> Result<(), GroupingError> {
        self.memory = self.memory.saturating_add(bytes);
        match self.memory > MAX_MEMORY {
            true => Err(GroupingError::text(format!(
                "the groups take more than {MAX_MEMORY} bytes; group by something with fewer values, or fewer documents"
            ))),
            false => Ok(()),
        }
    }
}

fn state(of: &AggregateCode) -> State {
    State::new(&of.what, of.of.as_ref().map(|of| of.kind))
}

/// Takes a document into a value of its group.
fn aggregate(
    evaluator: &mut Evaluator<'_>,
    state: &mut State,
    of: &AggregateCode,
    row: &Row,
) -> Result<(), GroupingError> {
    let value = match &of.of {
        Some(typed) => evaluator.value(typed, row)?,
        None => Value::Null,
    };
    state.add(&of.what, &value);
    debug_assert!(!matches!(of.what, Aggregate::Summary(_)), "hits are no values");
    Ok(())
}

/// The rows with the best scores, if there are more than so many; those of the same score by their numbers.
fn best(rows: &[Row], most: Option<u32>) -> std::borrow::Cow<'_, [Row]> {
    let Some(most) = most else { return rows.into() };
    let mut sorted = rows.to_vec();
    let order = |a: &Row, b: &Row| {
        crate::rank::descending(a.relevance, b.relevance).then(a.lid.cmp(&b.lid))
    };
    let most = most as usize;
    if most == 0 {
        return Vec::new().into();
    }
    if most < sorted.len() {
        sorted.select_nth_unstable_by(most - 1, order);
        sorted.truncate(most);
    }
    sorted.sort_by(order);
    sorted.into()
}

/// About how much memory a group takes, in bytes.
fn memory(group: &PartialGroup) -> usize {
    let states = group.order.iter().chain(&group.outputs);
    let states: usize = states.map(|state| size_of::<State>() + state.memory()).sum();
    let hits: usize = group.hits.iter().map(|hits| hits.len() * size_of::<GroupHit>()).sum();
    let inner: usize = group.lists.iter().flatten().map(memory).sum();
    size_of::<PartialGroup>() + group.id.memory() + states + hits + inner
}
