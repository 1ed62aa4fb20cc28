//! The phases: all documents, the best of them, the best of those.

use std::rc::Rc;
use std::time::Instant;

use stead_expr::{Attribute, Value};
use stead_store::View;

use super::error::RankError;
use super::hits::{Hit, RankedHit, rescale, sort};
use super::plan::{PhasePlan, RankPlan};
use super::query::RankQuery;
use super::ranking::{FirstRanks, Frame, RankOptions, Ranked, Ranking};
use crate::columns::{Computed, Rows, value};

/// The documents that a first phase with values that must be computed takes at a time: their columns stay small.
const BLOCK: usize = 1024;

impl RankPlan {
    /// Ranks documents for a query; the best `count` of them come with their match and summary features.
    ///
    /// # Errors
    /// When a value of the query does not fit, or something cannot be computed.
    pub fn rank(
        &self,
        query: &RankQuery,
        documents: &View,
        options: RankOptions,
        count: usize,
    ) -> Result<Ranked, RankError> {
        Ranking::new(self, query, documents, options).rank(count)
    }
}

impl Ranking<'_> {
    pub(super) fn rank(&self, count: usize) -> Result<Ranked, RankError> {
        let mut hits = self.first_phase()?;
        if let Some(phase) = &self.plan.second {
            self.second_phase(phase, &mut hits)?;
        }
        sort(&mut hits);
        if let Some(phase) = &self.plan.global {
            self.global_phase(phase, &mut hits)?;
        }
        let total = hits.len();
        hits.truncate(count);
        Ok(Ranked { hits: self.with_features(&hits)?, total })
    }

    /// Scores all documents; those at or below the limit are no hits, and those behind the best lose their scores.
    fn first_phase(&self) -> Result<Vec<Hit>, RankError> {
        let (plan, view) = (&self.plan, self.view);
        let expression = plan.first.expression;
        let limit = self.query.drop_limit.or(plan.first.drop_limit);
        let most = if plan.expressions[expression].is_in_place { usize::MAX } else { BLOCK };
        let mut hits: Vec<Hit> = Vec::with_capacity(view.len());
        for (number, block) in view.blocks().enumerate() {
            for begin in (0..block.rows()).step_by(most) {
                let end = block.rows().min(begin.saturating_add(most));
                let rows = view.lid(number, begin)..view.lid(number, end);
                let alive: Vec<u32>;
                let rows = match block.is_whole() {
                    true => Rows::Range(rows),
                    false => {
                        alive =
                            rows.filter(|lid| block.alive().contains(view.split(*lid).1)).collect();
                        Rows::List(&alive)
                    }
                };
                if rows.is_empty() {
                    continue;
                }
                let frame = Frame::new(rows);
                let scores = self.scores("first-phase", expression, &frame)?;
                for (document, first) in frame.rows.iter().zip(scores) {
                    // What is no number is the least, as in Vespa.
                    let score = if first.is_finite() { first } else { f64::NEG_INFINITY };
                    if limit.is_none_or(|limit| score > limit) {
                        hits.push(Hit { document, first, second: None, global: None, score });
                    }
                }
            }
        }
        let keep = self.query.keep_rank_count.unwrap_or(plan.first.count).max(self.rerank_count());
        if keep < hits.len() {
            sort(&mut hits);
            hits.iter_mut().skip(keep).for_each(|hit| hit.score = f64::NEG_INFINITY);
        }
        Ok(hits)
    }

    /// The documents of hits; from now on values that are computed may name their scores.
    fn places(&self, hits: &[Hit]) -> Vec<u32> {
        self.first_scores.borrow_mut().extend(hits.iter().map(|hit| (hit.document, hit.first)));
        hits.iter().map(|hit| hit.document).collect()
    }

    fn rerank_count(&self) -> usize {
        let phase = self.plan.second.as_ref();
        phase.map_or(0, |p| self.query.second_phase.rerank_count.unwrap_or(p.count))
    }

    /// Scores the best hits anew; scales the others below them.
    fn second_phase(&self, phase: &PhasePlan, hits: &mut Vec<Hit>) -> Result<(), RankError> {
        sort(hits);
        let count = self.rerank_count().min(hits.len());
        let (best, rest) = hits.split_at_mut(count);
        let places = self.places(best);
        let _ = self.first_ranks.set(FirstRanks {
            ranks: places.iter().zip(1_u32..).map(|(at, rank)| (*at, f64::from(rank))).collect(),
            max: best.first().map_or(f64::NEG_INFINITY, |hit| hit.score),
        });
        let scores =
            self.scores("second-phase", phase.expression, &Frame::new(Rows::List(&places)))?;
        let mut ranked = Vec::with_capacity(best.len());
        for (hit, score) in best.iter_mut().zip(scores) {
            ranked.push((hit.score, score));
            (hit.second, hit.score) = (Some(score), score);
        }
        rescale(&ranked, rest);
        let limit = self.query.second_phase.drop_limit.or(phase.drop_limit);
        if let Some(limit) = limit {
            hits.retain(|hit| hit.score > limit);
        }
        Ok(())
    }

    /// Scores the best hits anew, with what is known of all of them together.
    fn global_phase(&self, phase: &PhasePlan, hits: &mut Vec<Hit>) -> Result<(), RankError> {
        let count = self.query.global_phase.rerank_count.unwrap_or(phase.count).min(hits.len());
        let (best, rest) = hits.split_at_mut(count);
        let places = self.places(best);
        let relevance: Vec<f64> = best.iter().map(|hit| hit.score).collect();
        let mut frame = Frame::new(Rows::List(&places));
        frame.relevance = Some(&relevance);
        let scores = self.scores("global-phase", phase.expression, &frame)?;
        let mut ranked = Vec::with_capacity(best.len());
        for (hit, score) in best.iter_mut().zip(scores) {
            ranked.push((hit.score, score));
            (hit.global, hit.score) = (Some(score), score);
        }
        rescale(&ranked, rest);
        // Hits of the same score stay in the order that they had.
        hits.sort_by(|a, b| super::hits::descending(a.score, b.score));
        if let Some(limit) = self.query.global_phase.drop_limit.or(phase.drop_limit) {
            hits.retain(|hit| hit.score > limit);
        }
        Ok(())
    }

    fn scores(
        &self,
        phase: &'static str,
        expression: usize,
        frame: &Frame<'_>,
    ) -> Result<Vec<f64>, RankError> {
        let begin = Instant::now();
        let scores = self.evaluate(expression, frame)?;
        self.record(phase, expression, frame, begin.elapsed());
        let scores = Rc::new(scores);
        self.remember(expression, frame, &scores);
        match &*scores {
            Computed::Numbers(scores) => Ok(scores.clone()),
            Computed::Tensors(_) => Err(RankError::Feature {
                name: self.plan.expressions[expression].text.clone(),
                text: "a score is a number".to_owned(),
            }),
        }
    }

    fn with_features(&self, hits: &[Hit]) -> Result<Vec<RankedHit>, RankError> {
        let places = self.places(hits);
        let frame = Frame::new(Rows::List(&places));
        let mut ranked: Vec<RankedHit> = hits
            .iter()
            .map(|hit| RankedHit {
                document: hit.document,
                relevance: hit.score,
                first_phase: hit.first,
                second_phase: hit.second,
                global_phase: hit.global,
                match_features: Vec::new(),
                summary_features: Vec::new(),
            })
            .collect();
        for (_, expression) in &self.plan.match_features {
            let values = self.feature_values("match-features", *expression, &frame)?;
            ranked.iter_mut().zip(values).for_each(|(hit, value)| hit.match_features.push(value));
        }
        for (_, expression) in &self.plan.summary_features {
            let values = self.feature_values("summary-features", *expression, &frame)?;
            ranked.iter_mut().zip(values).for_each(|(hit, value)| hit.summary_features.push(value));
        }
        Ok(ranked)
    }

    fn feature_values(
        &self,
        list: &'static str,
        number: usize,
        frame: &Frame<'_>,
    ) -> Result<Vec<Value>, RankError> {
        let expression = &self.plan.expressions[number];
        let begin = Instant::now();
        let computed = self.evaluate(number, frame)?;
        self.record(list, number, frame, begin.elapsed());
        let attribute: Attribute<'_> = computed.attribute();
        let of = |row| value(&attribute, expression.compiled.kind(), row);
        let values: Option<Vec<Value>> = (0..frame.rows.len()).map(of).collect();
        values.ok_or_else(|| RankError::Feature {
            name: expression.text.clone(),
            text: "has too few values".to_owned(),
        })
    }
}
