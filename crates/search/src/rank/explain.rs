//! What ranking computes for a query, and what that costs.

use std::time::Duration;

use serde_json::{Value as Json, json};
use stead_expr::{Explanation, Line};
use stead_store::View;

use super::error::RankError;
use super::means::Means;
use super::phases::Lists;
use super::plan::{RankPlan, Source};
use super::query::RankQuery;
use super::ranking::{Frame, RankOptions, Ranked, Ranking};
use crate::columns::Rows;

/// The most documents that steps are measured with: enough for a step to be measured well.
const MAX_MEASURED: usize = 4096;

/// What ranking computed for a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The phases and features in the order in which they were computed.
    pub stages: Vec<Stage>,
    /// Values that are no expressions: features that are computed, and models.
    pub values: Vec<Computation>,
}

/// The stage of an expression that several phases or features take.
pub(super) const SHARED: &str = "shared";

/// An expression that ran.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// The phase, `match-features` and so on, or `shared` for what several of them have in common.
    pub name: &'static str,
    /// The expression on one line.
    pub expression: String,
    /// For how many documents it ran.
    pub documents: usize,
    /// How long that took, with the values that it had to wait for.
    pub took: Duration,
    /// Its program; the steps were measured with at most 4,096 of the documents, and once more.
    pub program: Explanation,
}

/// A value that was computed for documents beside the expressions of phases.
#[derive(Debug, Clone, PartialEq)]
pub struct Computation {
    /// The name that expressions know it by.
    pub name: String,
    /// For how many documents, those counted twice that no phase remembered.
    pub documents: usize,
    /// How long that took, with the values that it takes itself.
    pub took: Duration,
    /// What there is to say of a model.
    pub notes: Vec<String>,
}

/// An expression that a phase has computed.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) name: &'static str,
    pub(super) expression: usize,
    pub(super) documents: usize,
    pub(super) took: Duration,
    /// Some of the documents.
    pub(super) places: Vec<u32>,
    /// Their scores before the global phase.
    pub(super) relevance: Option<Vec<f64>>,
}

impl RankPlan {
    /// Ranks documents as [`RankPlan::rank`] does, and tells what was computed.
    ///
    /// # Errors
    /// As for [`RankPlan::rank`].
    pub fn explain(
        &self,
        query: &RankQuery,
        documents: &View,
        options: RankOptions,
        count: usize,
    ) -> Result<(Ranked, Explained), RankError> {
        let ranking = Ranking::new(self, query, documents, options);
        ranking.records.replace(Some(Vec::new()));
        let ranked = ranking.rank(Lists::ALL, (count, count), Means::UNBOUNDED)?;
        Ok((ranked, ranking.explained()?))
    }
}

impl Explained {
    /// The same for programs; times are in nanoseconds.
    #[must_use]
    pub fn json(&self) -> Json {
        let value = |value: &Computation| {
            json!({
                "name": value.name,
                "documents": value.documents,
                "nanoseconds": nanos(value.took),
                "notes": value.notes,
            })
        };
        let stages: Vec<Json> = self.stages.iter().map(Stage::json).collect();
        json!({"stages": stages, "values": self.values.iter().map(value).collect::<Vec<_>>()})
    }
}

impl Stage {
    fn json(&self) -> Json {
        let line = |line: &Line| {
            json!({
                "step": line.number,
                "rate": line.rate.to_string(),
                "type": line.kind.to_string(),
                "text": line.text,
                "kernel": line.fused,
                "nanoseconds": line.cost.map(nanos),
            })
        };
        json!({
            "name": self.name,
            "expression": self.expression,
            "documents": self.documents,
            "nanoseconds": nanos(self.took),
            "measuredDocuments": self.program.documents,
            "program": self.program.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }
}

fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

impl Ranking<'_> {
    /// What was computed so far, since it was wanted to be recorded.
    pub(super) fn explained(&self) -> Result<Explained, RankError> {
        let records = self.records.take().unwrap_or_default();
        let costs = self.costs.borrow().clone();
        let stages = records.into_iter().map(|r| self.stage(r)).collect::<Result<_, _>>()?;
        let mut values: Vec<Computation> = Vec::new();
        for (number, node) in self.plan.nodes.iter().enumerate() {
            let notes = match &node.source {
                Source::Model { model, .. } => self.notes(*model),
                Source::Feature(..) => Vec::new(),
                _ => continue,
            };
            let Some((took, documents)) = costs.get(&number).copied() else { continue };
            values.push(Computation { name: node.name.clone(), documents, took, notes });
        }
        Ok(Explained { stages, values })
    }

    /// What there is to say of a model.
    fn notes(&self, model: usize) -> Vec<String> {
        let function = &self.plan.models[model].function;
        let mut notes = function.explain();
        if let (Some((found, asked)), Some(stats)) =
            (self.known.borrow().get(&model), function.kept_stats())
        {
            let mebibytes = |bytes: usize| bytes as f64 / f64::from(1 << 20);
            notes.push(format!(
                "{}: kept of {found} of {asked} documents; {:.1} of {:.0} MiB in use by the application",
                function.name(),
                mebibytes(stats.bytes),
                mebibytes(stats.limit)
            ));
        }
        notes
    }

    /// Remembers what a phase has computed, if somebody wants to know.
    pub(super) fn record(
        &self,
        name: &'static str,
        expression: usize,
        frame: &Frame<'_>,
        took: Duration,
    ) {
        let mut records = self.records.borrow_mut();
        let Some(records) = records.as_mut() else { return };
        let documents = frame.rows.len();
        // A first phase that goes block by block is one stage, and what it has in common with others is another.
        let is_in_blocks = ["first-phase", SHARED].contains(&name);
        let is_same = |r: &&mut Record| r.name == name && r.expression == expression;
        if is_in_blocks && let Some(last) = records.iter_mut().find(is_same) {
            last.documents += documents;
            last.took += took;
            return;
        }
        let places = frame.rows.iter().take(MAX_MEASURED).collect();
        let relevance = frame.relevance.map(|r| r.iter().copied().take(MAX_MEASURED).collect());
        records.push(Record { name, expression, documents, took, places, relevance });
    }

    /// Runs the expression of a stage once more, step by step.
    fn stage(&self, record: Record) -> Result<Stage, RankError> {
        let expression = &self.plan.expressions[record.expression];
        // What stands one behind the other in a block is read in place.
        let follow = record.places.windows(2).all(|w| w[1].checked_sub(1) == Some(w[0]));
        let mut frame = Frame::new(match (record.places.first(), record.places.last()) {
            (Some(first), Some(last))
                if follow && self.view.split(*first).0 == self.view.split(*last).0 =>
            {
                Rows::Range(*first..*last + 1)
            }
            _ => Rows::List(&record.places),
        });
        frame.relevance = record.relevance.as_deref();
        let values = self.values_of(expression)?;
        let program = self.with_documents(expression, &frame, |documents| {
            let explained = expression.compiled.explain(&values, documents);
            explained.map_err(|error| RankError::Run { what: expression.text.clone(), error })
        })?;
        let (name, documents, took) = (record.name, record.documents, record.took);
        Ok(Stage { name, expression: expression.text.clone(), documents, took, program })
    }
}
