//! The first phase: the scores of all documents, or of those that a query matches.

use std::borrow::Cow;

use super::error::RankError;
use super::hits::{Hit, sort_first};
use super::plan::Source;
use super::ranking::{Frame, Ranking};
use crate::columns::Rows;
use crate::matching::{Matches, RowSet, alive};

/// The documents that a first phase with values that must be computed takes at a time: their columns stay small.
const BLOCK: usize = 1024;

/// Where at least one of so many rows is a match, expressions that read columns in place score all rows of the block: reading
/// the others too costs less than gathering the matches.
const DENSE: usize = 4;

impl Ranking<'_> {
    /// Scores documents; those at or below the limit are no hits, and those behind the best lose their scores.
    pub(super) fn first_phase(&self, matches: Option<&Matches>) -> Result<Vec<Hit>, RankError> {
        let (plan, view) = (&self.plan, self.view);
        let limit = self.query.drop_limit.or(plan.first.drop_limit);
        let mut hits: Vec<Hit> = Vec::new();
        for (number, block) in view.blocks().enumerate() {
            let rows: Cow<'_, RowSet> = match matches {
                Some(matches) => match matches.segments.get(number) {
                    Some(rows) => Cow::Borrowed(rows),
                    None => continue,
                },
                None => Cow::Owned(alive(block)),
            };
            let mut take = |document: u32, first: f64| {
                // What is no number is the least, as in Vespa.
                let score = if first.is_finite() { first } else { f64::NEG_INFINITY };
                if limit.is_none_or(|limit| score > limit) {
                    hits.push(Hit { document, first, second: None, global: None, score });
                }
            };
            self.block(number, block.rows(), &rows, &mut take)?;
        }
        let keep = self.query.keep_rank_count.unwrap_or(plan.first.count).max(self.rerank_count());
        if keep < hits.len() {
            sort_first(&mut hits, keep);
            hits.iter_mut().skip(keep).for_each(|hit| hit.score = f64::NEG_INFINITY);
        }
        Ok(hits)
    }

    /// The scores of some rows of a block.
    fn block(
        &self,
        number: usize,
        count: usize,
        rows: &RowSet,
        take: &mut dyn FnMut(u32, f64),
    ) -> Result<(), RankError> {
        let (view, expression) = (self.view, self.plan.first.expression);
        let wanted = rows.count();
        if wanted == 0 {
            return Ok(());
        }
        if self.plan.expressions[expression].is_in_place && wanted * DENSE >= count {
            let frame = Frame::new(Rows::Range(view.lid(number, 0)..view.lid(number, count)));
            let scores = self.scores("first-phase", expression, &frame)?;
            for row in rows.iter() {
                take(view.lid(number, row), scores.get(row).copied().unwrap_or(f64::NAN));
            }
            return Ok(());
        }
        let lids: Vec<u32> = rows.iter().map(|row| view.lid(number, row)).collect();
        for lids in lids.chunks(BLOCK) {
            // Rows without a gap are read where they lie.
            let (first, behind) = (lids[0], lids[lids.len() - 1] + 1);
            let frame = Frame::new(match (behind - first) as usize == lids.len() {
                true => Rows::Range(first..behind),
                false => Rows::List(lids),
            });
            let scores = self.scores("first-phase", expression, &frame)?;
            lids.iter().zip(scores).for_each(|(lid, score)| take(*lid, score));
        }
        Ok(())
    }

    /// The scores of the first phase of some documents, if something wants to know them; else NaN.
    pub(super) fn scores_of(&self, lids: &[u32]) -> Result<Vec<f64>, RankError> {
        if lids.is_empty() || !self.plan.names(|source| matches!(source, Source::FirstPhase)) {
            return Ok(vec![f64::NAN; lids.len()]);
        }
        self.scores("first-phase", self.plan.first.expression, &Frame::new(Rows::List(lids)))
    }
}
