//! A plan with a query and documents: values by their names, each computed once for the query or for some documents.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stead_expr::{Attribute, Bound, Scratch, Value};
use stead_store::Documents;

use super::error::RankError;
use super::explain::Record;
use super::hits::RankedHit;
use super::memo::Memo;
use super::plan::{Expression, RankPlan, Source};
use super::query::{RankQuery, input_value};
use crate::columns::{Computed, Rows, gather, slice};
use crate::features::{Argument, DocumentContext, QueryContext, Run};
use crate::models::{self, BoundModel};

/// What ranking depends on beside the query and the documents.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankOptions {
    /// Seconds since 1970: `now`.
    pub now: f64,
    /// Where chance begins.
    pub seed: u64,
}

/// The result for a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The best hits.
    pub hits: Vec<RankedHit>,
    /// How many documents are hits: those that no limit dropped.
    pub total: usize,
}

/// A plan with a query and documents.
pub(super) struct Ranking<'r> {
    pub(super) plan: &'r RankPlan,
    pub(super) query: &'r RankQuery,
    pub(super) documents: &'r Documents,
    options: RankOptions,
    /// By node, of the query.
    values: Vec<OnceCell<Value>>,
    /// By expression.
    bound: Vec<OnceCell<Bound>>,
    pub(super) bound_models: Vec<OnceCell<BoundModel>>,
    scratch: RefCell<Scratch>,
    pub(super) model_scratch: RefCell<models::Scratch>,
    memo: RefCell<HashMap<usize, Memo>>,
    /// The scores of the first phase by document.
    pub(super) first_scores: OnceCell<Vec<f64>>,
    pub(super) first_ranks: OnceCell<FirstRanks>,
    /// What computing each feature took, by node, with the documents.
    pub(super) costs: RefCell<HashMap<usize, (Duration, usize)>>,
    /// What the phases computed, where somebody wants to know.
    pub(super) records: RefCell<Option<Vec<Record>>>,
}

/// What is known of the hits that the second phase takes.
#[derive(Debug, Default)]
pub(super) struct FirstRanks {
    /// From 1.
    pub(super) ranks: HashMap<u32, f64>,
    /// The best score of the first phase.
    pub(super) max: f64,
}

/// Some documents with the values that were computed for them.
pub(super) struct Frame<'f> {
    pub(super) rows: Rows<'f>,
    /// The scores before the global phase, in it.
    pub(super) relevance: Option<&'f [f64]>,
    columns: RefCell<HashMap<usize, Rc<Computed>>>,
}

/// The values of documents under a name.
pub(super) enum ColumnOf<'c> {
    InPlace(Attribute<'c>),
    Computed(Rc<Computed>),
}

impl ColumnOf<'_> {
    pub(super) fn attribute(&self) -> Attribute<'_> {
        match self {
            ColumnOf::InPlace(attribute) => attribute.clone(),
            ColumnOf::Computed(computed) => computed.attribute(),
        }
    }
}

impl<'f> Frame<'f> {
    pub(super) fn new(rows: Rows<'f>) -> Frame<'f> {
        Frame { rows, relevance: None, columns: RefCell::default() }
    }
}

impl<'r> Ranking<'r> {
    /// Checks the values of the query.
    pub(super) fn new(
        plan: &'r RankPlan,
        query: &'r RankQuery,
        documents: &'r Documents,
        options: RankOptions,
    ) -> Ranking<'r> {
        Ranking {
            plan,
            query,
            documents,
            options,
            values: plan.nodes.iter().map(|_| OnceCell::new()).collect(),
            bound: plan.expressions.iter().map(|_| OnceCell::new()).collect(),
            bound_models: plan.models.iter().map(|_| OnceCell::new()).collect(),
            scratch: RefCell::default(),
            model_scratch: RefCell::default(),
            memo: RefCell::default(),
            first_scores: OnceCell::new(),
            first_ranks: OnceCell::new(),
            costs: RefCell::default(),
            records: RefCell::default(),
        }
    }

    fn context(&self) -> QueryContext<'_> {
        let RankOptions { now, seed } = self.options;
        QueryContext { query: self.query, now, seed, documents: self.documents }
    }

    /// A value that does not depend on documents.
    pub(super) fn value(&self, node: usize) -> Result<&Value, RankError> {
        let cell = &self.values[node];
        if let Some(value) = cell.get() {
            return Ok(value);
        }
        let found = self.value_of(node)?;
        Ok(cell.get_or_init(|| found))
    }

    fn value_of(&self, number: usize) -> Result<Value, RankError> {
        let node = &self.plan.nodes[number];
        let fail = |text: String| RankError::Feature { name: node.name.clone(), text };
        match &node.source {
            Source::Input(name) => {
                let input = &self.plan.inputs[name];
                match (self.query.inputs.get(name), &input.default) {
                    (Some(json), _) => input_value(name, &input.kind, json),
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => {
                        nothing(&input.kind).ok_or_else(|| fail("has no value".to_owned()))
                    }
                }
            }
            Source::Constant(value) => Ok(value.clone()),
            Source::Model { model, output } => self.model_value(*model, *output),
            Source::Expression(expression) => {
                let expression = &self.plan.expressions[*expression];
                let values = self.values_of(expression)?;
                expression.compiled.run(&values).map_err(|e| failed(expression, e))
            }
            Source::Feature(feature, _) => match &feature.run {
                Run::Query(run) => run(&self.context()).map_err(fail),
                Run::Always(value) => Ok(value.clone()),
                Run::Documents(_) => Err(fail("depends on documents".to_owned())),
            },
            _ => Err(fail("depends on documents".to_owned())),
        }
    }

    /// The values of the query that an expression takes.
    pub(super) fn values_of(&self, expression: &Expression) -> Result<Vec<&Value>, RankError> {
        expression.query.iter().map(|node| self.value(*node)).collect()
    }

    fn bound(&self, number: usize) -> Result<&Bound, RankError> {
        let (expression, cell) = (&self.plan.expressions[number], &self.bound[number]);
        if let Some(bound) = cell.get() {
            return Ok(bound);
        }
        let values = self.values_of(expression)?;
        let bound = expression.compiled.for_query(&values).map_err(|e| failed(expression, e))?;
        Ok(cell.get_or_init(|| bound))
    }

    /// The values of an expression for documents.
    pub(super) fn evaluate(&self, number: usize, frame: &Frame<'_>) -> Result<Computed, RankError> {
        let expression = &self.plan.expressions[number];
        let bound = self.bound(number)?;
        self.with_documents(expression, frame, |documents| {
            let mut scratch = self.scratch.borrow_mut();
            if expression.compiled.kind().is_double() {
                let mut scores = Vec::new();
                bound
                    .scores(documents, &mut scratch, &mut scores)
                    .map_err(|e| failed(expression, e))?;
                return Ok(Computed::Numbers(scores));
            }
            let stored = bound.stored(documents, &mut scratch);
            stored.map(Computed::Tensors).map_err(|e| failed(expression, e))
        })
    }

    /// Gives an expression the columns that it takes.
    pub(super) fn with_documents<T>(
        &self,
        expression: &Expression,
        frame: &Frame<'_>,
        run: impl FnOnce(&stead_expr::Documents<'_>) -> Result<T, RankError>,
    ) -> Result<T, RankError> {
        let columns = expression.of_documents.iter().map(|node| self.column(*node, frame));
        let columns: Vec<ColumnOf<'_>> = columns.collect::<Result<_, _>>()?;
        let attributes: Vec<Attribute<'_>> = columns.iter().map(ColumnOf::attribute).collect();
        let count = frame.rows.len();
        run(&stead_expr::Documents { count, index: None, attributes: &attributes })
    }

    /// The values of documents under a name.
    pub(super) fn column(
        &self,
        number: usize,
        frame: &Frame<'_>,
    ) -> Result<ColumnOf<'r>, RankError> {
        let node = &self.plan.nodes[number];
        let fail = |text: String| RankError::Feature { name: node.name.clone(), text };
        if let Source::Attribute(name) = &node.source {
            let attribute = self.documents.attribute(name);
            let attribute = attribute.ok_or_else(|| fail("has no column".to_owned()))?;
            if let Rows::Range(range) = &frame.rows {
                return Ok(ColumnOf::InPlace(slice(attribute, range)));
            }
            let found = gather(&attribute, &node.kind, frame.rows.iter());
            let found = found.ok_or_else(|| fail("has too few values".to_owned()))?;
            return Ok(ColumnOf::Computed(Rc::new(found)));
        }
        if let Some(known) = frame.columns.borrow().get(&number) {
            return Ok(ColumnOf::Computed(known.clone()));
        }
        let found = self.computed(number, frame)?;
        frame.columns.borrow_mut().insert(number, found.clone());
        Ok(ColumnOf::Computed(found))
    }

    fn computed(&self, number: usize, frame: &Frame<'_>) -> Result<Rc<Computed>, RankError> {
        let node = &self.plan.nodes[number];
        let remembers = matches!(
            node.source,
            Source::Feature(..) | Source::Expression(_) | Source::Model { .. }
        );
        if remembers
            && let Some(memo) = self.memo.borrow().get(&number)
            && let Some(known) = memo.get(&frame.rows, &node.kind)
        {
            return Ok(Rc::new(known));
        }
        let begin = Instant::now();
        let found = match node.source {
            Source::Model { model, output } => self.of_model(model, output, frame)?,
            _ => Rc::new(self.compute(number, frame)?),
        };
        let mut costs = self.costs.borrow_mut();
        let cost = costs.entry(number).or_insert((Duration::ZERO, 0));
        *cost = (cost.0 + begin.elapsed(), cost.1 + frame.rows.len());
        if remembers && !matches!(node.source, Source::Model { .. }) {
            let mut memo = self.memo.borrow_mut();
            memo.entry(number).or_default().keep(&frame.rows, &found);
        }
        Ok(found)
    }

    /// An output of a model; the others that expressions name come with it.
    fn of_model(
        &self,
        model: usize,
        output: usize,
        frame: &Frame<'_>,
    ) -> Result<Rc<Computed>, RankError> {
        let plan = &self.plan.models[model];
        let columns = self.run_model(model, frame)?;
        for (node, column) in plan.outputs.iter().zip(&columns) {
            let Some(node) = node else { continue };
            frame.columns.borrow_mut().insert(*node, column.clone());
            self.memo.borrow_mut().entry(*node).or_default().keep(&frame.rows, column);
        }
        columns.get(output).cloned().ok_or_else(|| RankError::Feature {
            name: plan.function.name().to_owned(),
            text: "it has too few outputs".to_owned(),
        })
    }

    /// Keeps what a phase computed for those that name it: the global phase wants the scores of the second.
    pub(super) fn remember(&self, expression: usize, frame: &Frame<'_>, scores: &Rc<Computed>) {
        let is_it = |source: &Source| matches!(source, Source::Expression(e) if *e == expression);
        let nodes = self.plan.nodes.iter().enumerate().filter(|(_, node)| is_it(&node.source));
        for (number, _) in nodes {
            self.memo.borrow_mut().entry(number).or_default().keep(&frame.rows, scores);
        }
    }

    fn compute(&self, number: usize, frame: &Frame<'_>) -> Result<Computed, RankError> {
        let node = &self.plan.nodes[number];
        let fail =
            |text: &str| RankError::Feature { name: node.name.clone(), text: text.to_owned() };
        let numbers = |number: &dyn Fn(usize) -> f64| {
            Ok(Computed::Numbers(frame.rows.iter().map(number).collect()))
        };
        match &node.source {
            Source::Expression(expression) => self.evaluate(*expression, frame),
            Source::Feature(feature, arguments) => match &feature.run {
                Run::Documents(run) => {
                    let computed = arguments.iter().map(|a| self.argument(*a, frame));
                    let computed = computed.collect::<Result<Vec<_>, _>>()?;
                    let arguments: Vec<Argument<'_>> =
                        computed.iter().map(Owned::argument).collect();
                    let (query, rows) = (self.context(), &frame.rows);
                    let cx = DocumentContext { query, rows, arguments: &arguments };
                    run(&cx).map_err(|text| fail(&text))
                }
                Run::Query(_) | Run::Always(_) => {
                    let value = self.value(number)?;
                    let mut computed = Computed::new(&node.kind);
                    match frame.rows.iter().all(|_| computed.push(value)) {
                        true => Ok(computed),
                        false => Err(fail("has more blocks than a column holds")),
                    }
                }
            },
            Source::FirstPhase => {
                let scores = self.first_scores.get().ok_or_else(|| fail("is not known yet"))?;
                numbers(&|row| scores.get(row).copied().unwrap_or(f64::NAN))
            }
            // Documents that the second phase did not take have no rank.
            Source::FirstPhaseRank => {
                let known = self.first_ranks.get();
                let rank = |row: usize| known?.ranks.get(&(row as u32)).copied();
                numbers(&|row| rank(row).unwrap_or(f64::MAX))
            }
            Source::FirstPhaseMax => {
                let max = self.first_ranks.get().map_or(f64::NEG_INFINITY, |known| known.max);
                numbers(&|_| max)
            }
            Source::Relevance => {
                let scores =
                    frame.relevance.ok_or_else(|| fail("is known in the global-phase only"))?;
                Ok(Computed::Numbers(scores.to_vec()))
            }
            Source::Normalized(parts) => {
                let mut sums = vec![0.0; frame.rows.len()];
                for (normalizer, expression) in parts {
                    let Computed::Numbers(values) = self.evaluate(*expression, frame)? else {
                        return Err(fail("takes numbers only"));
                    };
                    let scaled = normalizer.normalize(&values);
                    sums.iter_mut().zip(scaled).for_each(|(sum, x)| *sum += x);
                }
                Ok(Computed::Numbers(sums))
            }
            Source::Input(_)
            | Source::Constant(_)
            | Source::Attribute(_)
            | Source::Model { .. } => Err(fail("is no value that is computed for documents")),
        }
    }

    /// The value of an expression that is the argument of a feature.
    fn argument(&self, number: usize, frame: &Frame<'_>) -> Result<Owned<'_>, RankError> {
        let expression = &self.plan.expressions[number];
        let kind = expression.compiled.kind();
        if expression.of_documents.is_empty() {
            let values = self.values_of(expression)?;
            let value = expression.compiled.run(&values).map_err(|e| failed(expression, e))?;
            return Ok(Owned::Query(value));
        }
        Ok(Owned::Documents(self.evaluate(number, frame)?, kind))
    }
}

/// The value of an argument while a feature is computed.
enum Owned<'o> {
    Query(Value),
    Documents(Computed, &'o stead_expr::TensorType),
}

impl Owned<'_> {
    fn argument(&self) -> Argument<'_> {
        match self {
            Owned::Query(value) => Argument::Query(value),
            Owned::Documents(computed, kind) => Argument::Documents(computed.attribute(), kind),
        }
    }
}

fn failed(expression: &Expression, error: stead_expr::RunError) -> RankError {
    RankError::Run { what: expression.text.clone(), error }
}

/// What an input is that has neither a value nor a default: 0, zeros, or no labels.
fn nothing(kind: &stead_expr::TensorType) -> Option<Value> {
    let cells = if kind.is_dense() { kind.block_size() } else { 0 };
    let cells = stead_expr::Cells::zeros(kind.cell(), cells);
    Value::new(kind.clone(), stead_expr::Labels::default(), cells).ok()
}
