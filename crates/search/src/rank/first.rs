//! The first phase: the scores of all documents, or of those that a query matches.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use super::best::{Best, Hits};
use super::error::RankError;
use super::hits::Hit;
use super::means::Means;
use super::memo::Memo;
use super::plan::{RankPlan, Source};
use super::query::RankQuery;
use super::ranking::{Frame, Ranking};
use crate::columns::Rows;
use crate::matching::{RowSet, alive};

/// The documents that a first phase with values that must be computed takes at a time: their columns stay small.
const BLOCK: usize = 1024;

/// Where at least one of so many rows is a match, expressions that read columns in place score all rows of the block: reading
/// the others too costs less than gathering the matches.
const DENSE: usize = 4;

/// The fewest documents that another thread is worth: some hundred microseconds of the cheapest expressions.
const MIN_HITS: usize = 16_384;

/// What a thread is given at a time is a part of its share, so that none waits long for another.
const PARTS: usize = 4;

/// What a thread has scored.
struct Scored {
    hits: Best,
    /// Blocks that were left out because it was late.
    skipped: Vec<usize>,
}

impl Scored {
    /// Nothing, of which the best `most` will be kept.
    fn new(most: usize) -> Scored {
        Scored { hits: Best::new(most), skipped: Vec::new() }
    }
}

/// What comes back from a thread, in the order of the blocks.
struct Done {
    scored: Scored,
    memo: HashMap<usize, Memo>,
    costs: HashMap<usize, (Duration, usize)>,
}

impl RankPlan {
    /// How many threads so many documents are worth.
    pub(crate) fn threads(&self, query: &RankQuery, documents: usize, means: Means<'_>) -> usize {
        let bound = |known: Option<usize>| known.filter(|n| *n > 0).unwrap_or(usize::MAX);
        let most = means.cores.threads().min(bound(self.threads)).min(bound(query.threads));
        let least = query.min_hits_per_thread.or(self.min_hits_per_thread).unwrap_or(MIN_HITS);
        most.min(documents / least.max(1)).max(1)
    }
}

impl Ranking<'_> {
    /// Scores documents, the matches if there is a query; those at or below the limit are no hits, and those behind the best lose
    /// their scores. Also the blocks that were left out because it was late. Several threads find the same as one. `count` hits are
    /// wanted in the end.
    pub(super) fn first_phase(
        &self,
        count: usize,
        means: Means<'_>,
    ) -> Result<(Hits, Vec<usize>), RankError> {
        let plan = self.plan;
        let keep = self.query.keep_rank_count.unwrap_or(plan.first.count).max(self.rerank_count());
        // Those behind, whose scores are all the same, are only needed where so many are wanted or groups are sought among them.
        let global = plan.global.as_ref().map_or(0, |phase| self.global_count(phase));
        let are_wanted = keep < count.max(global)
            || plan.second.is_some() && plan.diversity(self.query).is_some();
        let mut scored = Scored::new(if are_wanted { usize::MAX } else { keep });
        let blocks: Vec<usize> = (0..self.view.blocks().count()).collect();
        // What is known of the query after the first block, the other threads need not find out.
        let (first, rest) = blocks.split_at(blocks.len().min(1));
        self.some(first, means, &mut scored)?;
        let threads = plan.threads(self.query, self.view.len(), means);
        // Who wants to know what was computed is told of one thread.
        if threads < 2 || rest.len() < 2 || self.records.borrow().is_some() {
            self.some(rest, means, &mut scored)?;
        } else {
            self.together(rest, threads, means, &mut scored)?;
        }
        let mut hits = scored.hits.finish();
        hits.forget_scores(keep);
        Ok((hits, scored.skipped))
    }

    /// Scores the documents of blocks on several threads.
    fn together(
        &self,
        blocks: &[usize],
        threads: usize,
        means: Means<'_>,
        scored: &mut Scored,
    ) -> Result<(), RankError> {
        let (plan, query, view) = (self.plan, self.query, self.view);
        let (options, matcher, seed) = (self.options, self.matcher, self.seed());
        let (matches, most) = (self.matches, scored.hits.most());
        let parts: Vec<&[usize]> = blocks.chunks(blocks.len().div_ceil(threads * PARTS)).collect();
        let done: Vec<OnceLock<Result<Done, RankError>>> =
            parts.iter().map(|_| OnceLock::new()).collect();
        // At most so many threads take the parts, one after the other each.
        means.share(threads, (parts.len(), 1), &|taken| {
            for at in taken.flatten() {
                let (Some(part), Some(place)) = (parts.get(at), done.get(at)) else { return };
                let mut ranking = Ranking::new(plan, query, view, options).with_seed(&seed);
                (ranking.matcher, ranking.matches) = (matcher, matches);
                ranking.cores = means.cores;
                let mut scored = Scored::new(most);
                let result = ranking.some(part, means, &mut scored).map(|()| Done {
                    scored,
                    memo: ranking.memo.take(),
                    costs: ranking.costs.take(),
                });
                let _ = place.set(result);
            }
        });
        for done in done.into_iter().filter_map(OnceLock::into_inner) {
            let done = done?;
            scored.hits.absorb(done.scored.hits);
            scored.skipped.extend(done.scored.skipped);
            let mut memo = self.memo.borrow_mut();
            for (node, other) in done.memo {
                memo.entry(node).or_default().absorb(other);
            }
            let mut costs = self.costs.borrow_mut();
            for (node, (took, documents)) in done.costs {
                let cost = costs.entry(node).or_insert((Duration::ZERO, 0));
                *cost = (cost.0 + took, cost.1 + documents);
            }
        }
        Ok(())
    }

    /// Scores the documents of some blocks.
    fn some(
        &self,
        blocks: &[usize],
        means: Means<'_>,
        scored: &mut Scored,
    ) -> Result<(), RankError> {
        let limit = self.query.drop_limit.or(self.plan.first.drop_limit);
        let hits = &mut scored.hits;
        let mut take = |document: u32, first: f64| {
            // What is no number is the least, as in Vespa.
            let score = if first.is_finite() { first } else { f64::NEG_INFINITY };
            if limit.is_none_or(|limit| score > limit) {
                hits.push(Hit { document, first, second: None, global: None, score });
            }
        };
        let mut sparse = Vec::new();
        for number in blocks {
            if (means.is_late)() {
                scored.skipped.push(*number);
                continue;
            }
            let Some(block) = self.view.block(*number) else { continue };
            let rows = match (self.matches, self.matcher) {
                (Some(matches), _) => match matches.segments.get(*number) {
                    Some(rows) => Cow::Borrowed(rows),
                    None => continue,
                },
                (None, Some(matcher)) => Cow::Owned(matcher.segment(*number)?),
                (None, None) => Cow::Owned(alive(block)),
            };
            self.block(*number, &rows, &mut sparse, &mut take)?;
        }
        self.list(&sparse, &mut take)
    }

    /// The scores of some rows of a block. Few of them are left to `sparse`, which is scored once there are many: what is done once for some
    /// documents is more than what is done for one of them.
    fn block(
        &self,
        number: usize,
        rows: &RowSet,
        sparse: &mut Vec<u32>,
        take: &mut dyn FnMut(u32, f64),
    ) -> Result<(), RankError> {
        let (view, expression) = (self.view, self.plan.first.expression);
        let (wanted, count) = (rows.count(), rows.rows());
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
        let lids = rows.iter().map(|row| view.lid(number, row));
        if wanted * DENSE < count {
            sparse.extend(lids);
            if sparse.len() >= BLOCK {
                self.list(sparse, take)?;
                sparse.clear();
            }
            return Ok(());
        }
        self.list(&lids.collect::<Vec<_>>(), take)
    }

    /// The scores of documents in ascending order of their numbers.
    fn list(&self, lids: &[u32], take: &mut dyn FnMut(u32, f64)) -> Result<(), RankError> {
        let (view, expression) = (self.view, self.plan.first.expression);
        for lids in lids.chunks(BLOCK) {
            // Rows of a block without a gap are read where they lie.
            let (first, last) = (lids[0], lids[lids.len() - 1]);
            let is_run = (last - first) as usize + 1 == lids.len()
                && view.split(first).0 == view.split(last).0;
            let frame = Frame::new(match is_run {
                true => Rows::Range(first..last + 1),
                false => Rows::List(lids),
            });
            let scores = self.scores("first-phase", expression, &frame)?;
            lids.iter().zip(scores).for_each(|(lid, score)| take(*lid, score));
        }
        Ok(())
    }

    /// The scores of the first phase of some documents, if something wants to know them, as features that are listed do; else NaN.
    pub(super) fn scores_of(&self, lids: &[u32], is_listed: bool) -> Result<Vec<f64>, RankError> {
        let is_named = || self.plan.names(|source| matches!(source, Source::FirstPhase));
        if lids.is_empty() || !(is_listed || is_named()) {
            return Ok(vec![f64::NAN; lids.len()]);
        }
        self.scores("first-phase", self.plan.first.expression, &Frame::new(Rows::List(lids)))
    }
}
