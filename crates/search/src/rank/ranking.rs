//! A plan with a query and documents: values by their names, each computed once for the query or for some documents.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use stead_expr::{Attribute, Bound, Numbers, Scratch, Value};
use stead_kernels::{Parallel, Serial};
use stead_store::{Held, View};

use super::error::RankError;
use super::explain::Record;
use super::hits::RankedHit;
use super::memo::Memo;
use super::plan::{Expression, RankPlan, Source};
use super::query::RankQuery;
use crate::columns::{Computed, Rows, slice};
use crate::features::{QueryContext, Run};
use crate::matching::{Matcher, Matches};
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
    /// The blocks whose documents were left out because it was late.
    pub skipped: Vec<usize>,
    /// Whether a later phase left documents out because it was late.
    pub is_cut: bool,
}

/// A plan with a query and documents.
pub(super) struct Ranking<'r> {
    pub(super) plan: &'r RankPlan,
    pub(super) query: &'r RankQuery,
    pub(super) view: &'r View,
    pub(super) matcher: Option<&'r Matcher<'r>>,
    /// The documents to rank, where they were chosen among the matches.
    pub(super) matches: Option<&'r Matches>,
    pub(super) options: RankOptions,
    /// The cores that models may run on.
    pub(super) cores: &'r dyn Parallel,
    /// By node, of the query.
    pub(super) values: Vec<OnceCell<Value>>,
    /// By expression.
    pub(super) bound: Vec<OnceCell<Arc<Bound>>>,
    pub(super) bound_models: Vec<OnceCell<Arc<BoundModel>>>,
    scratch: RefCell<Scratch>,
    pub(super) model_scratch: RefCell<models::Scratch>,
    pub(super) memo: RefCell<HashMap<usize, Memo>>,
    /// The scores of the first phase of documents that a later one takes.
    pub(super) first_scores: RefCell<HashMap<u32, f64>>,
    pub(super) first_ranks: OnceCell<FirstRanks>,
    /// What computing each feature took, by node, with the documents.
    pub(super) costs: RefCell<HashMap<usize, (Duration, usize)>>,
    /// By model, for how many documents values of their own were known, and for how many they were asked.
    pub(super) known: RefCell<HashMap<usize, (usize, usize)>>,
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

/// What is known of a query, for rankings of the same query on other threads.
pub(super) struct Seed {
    values: Vec<Option<Value>>,
    bound: Vec<Option<Arc<Bound>>>,
    bound_models: Vec<Option<Arc<BoundModel>>>,
}

/// Some documents with the values that were computed for them.
pub(super) struct Frame<'f> {
    pub(super) rows: Rows<'f>,
    /// The scores before the global phase, in it.
    pub(super) relevance: Option<&'f [f64]>,
    pub(super) columns: RefCell<HashMap<usize, Arc<Computed>>>,
}

/// The values of documents under a name.
pub(super) enum ColumnOf<'c> {
    InPlace(Attribute<'c>),
    /// Rows of a column that lies on disk, in memory as long as this is.
    Held(Held<'c>, Range<usize>),
    Computed(Arc<Computed>),
}

impl ColumnOf<'_> {
    pub(super) fn attribute(&self) -> Attribute<'_> {
        match self {
            ColumnOf::InPlace(attribute) => attribute.clone(),
            ColumnOf::Held(column, rows) => match column.attribute() {
                Some(whole) => slice(whole, rows),
                // Only columns that have this form are held.
                None => Attribute::Numbers(Numbers::F64(&[])),
            },
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
        view: &'r View,
        options: RankOptions,
    ) -> Ranking<'r> {
        Ranking {
            plan,
            query,
            view,
            matcher: None,
            matches: None,
            options,
            cores: &Serial,
            values: plan.nodes.iter().map(|_| OnceCell::new()).collect(),
            bound: plan.expressions.iter().map(|_| OnceCell::new()).collect(),
            bound_models: plan.models.iter().map(|_| OnceCell::new()).collect(),
            scratch: RefCell::default(),
            model_scratch: RefCell::default(),
            memo: RefCell::default(),
            first_scores: RefCell::default(),
            first_ranks: OnceCell::new(),
            costs: RefCell::default(),
            known: RefCell::default(),
            records: RefCell::default(),
        }
    }

    /// What is known of the query so far.
    pub(super) fn seed(&self) -> Seed {
        Seed {
            values: self.values.iter().map(|cell| cell.get().cloned()).collect(),
            bound: self.bound.iter().map(|cell| cell.get().cloned()).collect(),
            bound_models: self.bound_models.iter().map(|cell| cell.get().cloned()).collect(),
        }
    }

    /// The same with what is known of the query.
    pub(super) fn with_seed(self, seed: &Seed) -> Ranking<'r> {
        fn filled<T: Clone>(known: &[Option<T>]) -> Vec<OnceCell<T>> {
            let cell = |known: &Option<T>| known.clone().map_or_else(OnceCell::new, OnceCell::from);
            known.iter().map(cell).collect()
        }
        Ranking {
            values: filled(&seed.values),
            bound: filled(&seed.bound),
            bound_models: filled(&seed.bound_models),
            ..self
        }
    }

    pub(super) fn context(&self) -> QueryContext<'_> {
        let RankOptions { now, seed } = self.options;
        let now = self.query.freshness.map_or(now, |freshness| freshness.time(now));
        let (documents, matcher) = (self.view, self.matcher);
        QueryContext { query: self.query, now, seed, documents, matcher }
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
                match (self.query.input(name, &input.kind), &input.default) {
                    (Some(value), _) => value,
                    (None, Some(default)) => Ok(default.clone()),
                    (None, None) => {
                        let text = || format!("is a {} that the query does not give", input.kind);
                        nothing(&input.kind).ok_or_else(|| fail(text()))
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
        Ok(cell.get_or_init(|| Arc::new(bound)))
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
}

pub(super) fn failed(expression: &Expression, error: stead_expr::RunError) -> RankError {
    RankError::Run { what: expression.text.clone(), error }
}

/// What an input is that has neither a value nor a default: 0, zeros, or no labels.
fn nothing(kind: &stead_expr::TensorType) -> Option<Value> {
    let cells = if kind.is_dense() { kind.block_size() } else { 0 };
    let cells = stead_expr::Cells::zeros(kind.cell(), cells);
    Value::new(kind.clone(), stead_expr::Labels::default(), cells).ok()
}
