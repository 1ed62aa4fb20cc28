//! Values of documents under their names, each computed once for some documents.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stead_expr::{TensorType, Value};

use super::error::RankError;
use super::explain::SHARED;
use super::plan::Source;
use super::ranking::{ColumnOf, Frame, Ranking, failed};
use crate::columns::{Computed, Rows, gather_documents, slice};
use crate::features::{Argument, DocumentContext, Run};

impl<'r> Ranking<'r> {
    /// The values of documents under a name.
    pub(super) fn column(
        &self,
        number: usize,
        frame: &Frame<'_>,
    ) -> Result<ColumnOf<'r>, RankError> {
        let node = &self.plan.nodes[number];
        let fail = |text: String| RankError::Feature { name: node.name.clone(), text };
        if let Source::Attribute(name) = &node.source {
            let attribute = self.view.attribute(name);
            let attribute = attribute.ok_or_else(|| fail("has no column".to_owned()))?;
            if let Rows::Range(range) = &frame.rows
                && !attribute.is_imported()
                && let Some((column, row)) = attribute.at(range.start)?
            {
                let rows = row..row + range.len();
                match column.in_block() {
                    Some(own) => {
                        if let Some(whole) = own.attribute() {
                            return Ok(ColumnOf::InPlace(slice(whole, &rows)));
                        }
                    }
                    None if column.attribute().is_some() => {
                        return Ok(ColumnOf::Held(column, rows));
                    }
                    None => {}
                }
            }
            let found = gather_documents(attribute, &node.kind, frame.rows.iter())?;
            let found = found.ok_or_else(|| fail("has too few values".to_owned()))?;
            return Ok(ColumnOf::Computed(Arc::new(found)));
        }
        if let Some(known) = frame.columns.borrow().get(&number) {
            return Ok(ColumnOf::Computed(known.clone()));
        }
        let found = self.computed(number, frame)?;
        frame.columns.borrow_mut().insert(number, found.clone());
        Ok(ColumnOf::Computed(found))
    }

    fn computed(&self, number: usize, frame: &Frame<'_>) -> Result<Arc<Computed>, RankError> {
        let node = &self.plan.nodes[number];
        let remembers = matches!(
            node.source,
            Source::Feature(..) | Source::Expression(_) | Source::Model { .. }
        );
        if remembers
            && let Some(memo) = self.memo.borrow().get(&number)
            && let Some(known) = memo.get(&frame.rows, &node.kind)
        {
            return Ok(Arc::new(known));
        }
        let begin = Instant::now();
        let found = match node.source {
            Source::Model { model, output } => self.of_model(model, output, frame)?,
            _ => Arc::new(self.compute(number, frame)?),
        };
        if let Source::Expression(expression) = node.source {
            self.record(SHARED, expression, frame, begin.elapsed());
        }
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
    ) -> Result<Arc<Computed>, RankError> {
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
    pub(super) fn remember(&self, expression: usize, frame: &Frame<'_>, scores: &Arc<Computed>) {
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
        let numbers = |number: &dyn Fn(u32) -> f64| {
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
                let scores = self.first_scores.borrow();
                numbers(&|document| scores.get(&document).copied().unwrap_or(f64::NAN))
            }
            // Documents that the second phase did not take have no rank.
            Source::FirstPhaseRank => {
                let known = self.first_ranks.get();
                let rank = |document: u32| known?.ranks.get(&document).copied();
                numbers(&|document| rank(document).unwrap_or(f64::MAX))
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
    fn argument(&self, number: usize, frame: &Frame<'_>) -> Result<Owned, RankError> {
        let expression = &self.plan.expressions[number];
        if expression.of_documents.is_empty() {
            let values = self.values_of(expression)?;
            let value = expression.compiled.run(&values).map_err(|e| failed(expression, e))?;
            return Ok(Owned::Query(value));
        }
        let computed = self.evaluate(number, frame)?;
        let kind = computed.kind();
        Ok(Owned::Documents(computed, kind))
    }
}

/// The value of an argument while a feature is computed.
enum Owned {
    Query(Value),
    Documents(Computed, TensorType),
}

impl Owned {
    fn argument(&self) -> Argument<'_> {
        match self {
            Owned::Query(value) => Argument::Query(value),
            Owned::Documents(computed, kind) => Argument::Documents(computed.attribute(), kind),
        }
    }
}
