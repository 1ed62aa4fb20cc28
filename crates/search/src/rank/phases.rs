//! The phases: all documents, the best of them, the best of those.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use stead_expr::{Attribute, Value};
use stead_store::View;

use super::best::Hits;
use super::diversity::{Diversity, pick};
use super::error::RankError;
use super::explain::Explained;
use super::hits::{Hit, RankedHit, rescale, sort, sort_first};
use super::means::Means;
use super::plan::{PhasePlan, RankPlan, Source};
use super::query::RankQuery;
use super::ranking::{FirstRanks, Frame, RankOptions, Ranked, Ranking};
use crate::columns::{Computed, Rows, value};
use crate::matching::{Matcher, Matches};

/// How long the second phase computes without a look at the clock, by what a document took before. A phase that is quick computes all
/// of its documents together, which models are fastest with.
const BATCH_NANOS: u64 = 20_000_000;

/// The fewest and the most documents of the second phase between two looks at the clock.
const MIN_BATCH: u64 = 8;
const MAX_BATCH: u64 = 1024;

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
        Ranking::new(self, query, documents, options).rank(
            Lists::ALL,
            (count, count),
            Means::UNBOUNDED,
        )
    }

    /// Ranks the matches of a query, or those that were chosen among them; as many of the best as are wanted with their match features
    /// come with these.
    ///
    /// # Errors
    /// As for [`RankPlan::rank`].
    pub fn rank_matches(
        &self,
        query: &RankQuery,
        documents: &View,
        (matcher, matches): (&Matcher<'_>, Option<&Matches>),
        options: RankOptions,
        (wanted, means): (Wanted, Means<'_>),
    ) -> Result<(Ranked, Option<Explained>), RankError> {
        let lists = Lists { of_match: true, of_summary: false };
        let mut ranking = Ranking::new(self, query, documents, options);
        (ranking.matcher, ranking.matches) = (Some(matcher), matches);
        ranking.cores = means.cores;
        ranking.records.replace(wanted.explains.then(Vec::new));
        let ranked = ranking.rank(lists, (wanted.hits, wanted.features), means)?;
        let explained = wanted.explains.then(|| ranking.explained()).transpose()?;
        Ok((ranked, explained))
    }

    /// The match and summary features of documents, without ranking them.
    ///
    /// # Errors
    /// As for [`RankPlan::rank`].
    pub fn features(
        &self,
        query: &RankQuery,
        documents: &View,
        (matcher, lids): (&Matcher<'_>, &[u32]),
        options: RankOptions,
        lists: Lists,
    ) -> Result<Vec<RankedHit>, RankError> {
        let mut ranking = Ranking::new(self, query, documents, options);
        ranking.matcher = Some(matcher);
        let are_listed = lists.of_summary && query.list_features;
        let listed = self.listed.as_ref().filter(|_| are_listed);
        let first = ranking.scores_of(lids, listed.is_some())?;
        let hit = |(document, first): (&u32, f64)| Hit {
            document: *document,
            first,
            second: None,
            global: None,
            score: first,
        };
        let hits: Vec<Hit> = lids.iter().zip(first).map(hit).collect();
        let mut found = ranking.with_features(&hits, lists, hits.len())?;
        if let Some(listed) = listed {
            let mut ranking = Ranking::new(listed, query, documents, options);
            ranking.matcher = Some(matcher);
            let more = ranking.with_features(&hits, lists, hits.len())?;
            found.iter_mut().zip(more).for_each(|(hit, more)| {
                hit.rank_features.extend(more.rank_features);
            });
        }
        Ok(found)
    }
}

/// What is wanted of ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// How many of the best hits.
    pub hits: usize,
    /// How many of these, the best first, come with match features; the others have none.
    pub features: usize,
    /// Whether to tell what was computed.
    pub explains: bool,
}

/// Which lists of features are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lists {
    /// `match-features`
    pub of_match: bool,
    /// `summary-features`
    pub of_summary: bool,
}

impl Lists {
    /// Both.
    pub const ALL: Lists = Lists { of_match: true, of_summary: true };
}

impl Ranking<'_> {
    /// The best of all documents, or of the matches among them, and as many of these with features as are wanted.
    pub(super) fn rank(
        &self,
        lists: Lists,
        (count, with_features): (usize, usize),
        means: Means<'_>,
    ) -> Result<Ranked, RankError> {
        let (mut hits, skipped) = self.first_phase(count, means)?;
        let mut is_cut = false;
        if let Some(phase) = &self.plan.second {
            is_cut |= self.second_phase(phase, &mut hits, means)?;
        }
        match &self.plan.global {
            Some(phase) if !is_cut => {
                sort(&mut hits.kept);
                self.global_phase(phase, &mut hits)?;
            }
            // Without the scores of the second phase those of the global one say little.
            _ => sort_first(&mut hits.kept, count),
        }
        let total = hits.total();
        hits.kept.truncate(count);
        let hits = self.with_features(&hits.kept, lists, with_features)?;
        Ok(Ranked { hits, total, skipped, is_cut })
    }

    /// The documents of hits; from now on values that are computed may name their scores.
    fn places(&self, hits: &[Hit]) -> Vec<u32> {
        if self.plan.names(|source| matches!(source, Source::FirstPhase)) {
            let scores = hits.iter().map(|hit| (hit.document, hit.first));
            self.first_scores.borrow_mut().extend(scores);
        }
        hits.iter().map(|hit| hit.document).collect()
    }

    pub(super) fn rerank_count(&self) -> usize {
        let phase = self.plan.second.as_ref();
        phase.map_or(0, |p| self.query.second_phase.rerank_count.unwrap_or(p.count))
    }

    /// Scores the best hits anew, as many as there is time for; scales the others below them. Whether some were left out.
    fn second_phase(
        &self,
        phase: &PhasePlan,
        hits: &mut Hits,
        means: Means<'_>,
    ) -> Result<bool, RankError> {
        let mut count = self.rerank_count().min(hits.kept.len());
        let mut dropped = None;
        // Hits that diversity passes over count as ranks.
        let mut ranks: Vec<f64> = (1..=count).map(|rank| rank as f64).collect();
        match self.plan.diversity(self.query) {
            Some(diversity) => {
                sort(&mut hits.kept);
                // The share of a group is one of all that may be ranked again, however few there are.
                (ranks, dropped) = self.diverse(&diversity, self.rerank_count(), &mut hits.kept)?;
                count = ranks.len();
            }
            None => sort_first(&mut hits.kept, count),
        }
        let (best, rest) = hits.kept.split_at_mut(count);
        let places = self.places(best);
        if self.plan.names(|s| matches!(s, Source::FirstPhaseRank | Source::FirstPhaseMax)) {
            let _ = self.first_ranks.set(FirstRanks {
                ranks: places.iter().copied().zip(ranks).collect(),
                max: best.first().map_or(f64::NEG_INFINITY, |hit| hit.score),
            });
        }
        let scores = self.in_time(phase.expression, &places, means)?;
        let is_cut = scores.len() < best.len();
        let (best, late) = best.split_at_mut(scores.len());
        let mut ranked = Vec::with_capacity(best.len());
        for (hit, score) in best.iter_mut().zip(scores) {
            ranked.push((hit.score, score));
            (hit.second, hit.score) = (Some(score), score);
        }
        rescale(&ranked, dropped, late);
        rescale(&ranked, dropped, rest);
        let limit = self.query.second_phase.drop_limit.or(phase.drop_limit);
        if let Some(limit) = limit {
            hits.retain_above(limit);
        }
        Ok(is_cut)
    }

    /// The scores of the second phase of the first documents of a list, as many as there is time for.
    fn in_time(
        &self,
        expression: usize,
        places: &[u32],
        means: Means<'_>,
    ) -> Result<Vec<f64>, RankError> {
        let mut scores = Vec::with_capacity(places.len());
        while scores.len() < places.len() && !(means.is_late)() {
            let cost = self.plan.second_cost.load(Ordering::Relaxed).max(1);
            let batch = (BATCH_NANOS / cost).clamp(MIN_BATCH, MAX_BATCH) as usize;
            let behind = places.len().min(scores.len() + batch);
            let (begin, part) = (Instant::now(), &places[scores.len()..behind]);
            let frame = Frame::new(Rows::List(part));
            scores.extend(self.scores("second-phase", expression, &frame)?);
            let took = begin.elapsed().as_nanos() as u64 / part.len().max(1) as u64;
            self.plan.second_cost.store(took, Ordering::Relaxed);
        }
        Ok(scores)
    }

    /// Puts hits of different groups first; tells the ranks of these, and the best score of those that were passed over.
    fn diverse(
        &self,
        diversity: &Diversity,
        count: usize,
        hits: &mut [Hit],
    ) -> Result<(Vec<f64>, Option<f64>), RankError> {
        let places: Vec<u32> = hits.iter().map(|hit| hit.document).collect();
        let groups = diversity.groups(self.view, &places)?;
        let picked = pick(&groups, count, diversity.of_hits(count));
        let dropped = picked.first_dropped.and_then(|at| hits.get(at)).map(|hit| hit.score);
        let mut is_picked = vec![false; hits.len()];
        picked.places.iter().for_each(|at| is_picked[*at] = true);
        let (best, rest): (Vec<_>, Vec<_>) =
            hits.iter().copied().zip(is_picked).partition(|(_, is_picked)| *is_picked);
        for (to, (hit, _)) in hits.iter_mut().zip(best.into_iter().chain(rest)) {
            *to = hit;
        }
        Ok((picked.places.iter().map(|at| (at + 1) as f64).collect(), dropped))
    }

    pub(super) fn global_count(&self, phase: &PhasePlan) -> usize {
        self.query.global_phase.rerank_count.unwrap_or(phase.count)
    }

    /// Scores the best hits anew, with what is known of all of them together.
    fn global_phase(&self, phase: &PhasePlan, hits: &mut Hits) -> Result<(), RankError> {
        let count = self.global_count(phase).min(hits.kept.len());
        let (best, rest) = hits.kept.split_at_mut(count);
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
        rescale(&ranked, None, rest);
        // Hits of the same score stay in the order that they had.
        hits.kept.sort_by(|a, b| super::hits::descending(a.score, b.score));
        if let Some(limit) = self.query.global_phase.drop_limit.or(phase.drop_limit) {
            hits.retain_above(limit);
        }
        Ok(())
    }

    pub(super) fn scores(
        &self,
        phase: &'static str,
        expression: usize,
        frame: &Frame<'_>,
    ) -> Result<Vec<f64>, RankError> {
        let begin = Instant::now();
        let scores = self.evaluate(expression, frame)?;
        self.record(phase, expression, frame, begin.elapsed());
        let scores = Arc::new(scores);
        self.remember(expression, frame, &scores);
        match &*scores {
            Computed::Numbers(scores) => Ok(scores.clone()),
            Computed::Tensors(_) => Err(RankError::Feature {
                name: self.plan.expressions[expression].text.clone(),
                text: "a score is a number".to_owned(),
            }),
        }
    }

    /// Hits, the first `count` of them with features: who groups all matches shows few of them.
    fn with_features(
        &self,
        hits: &[Hit],
        lists: Lists,
        count: usize,
    ) -> Result<Vec<RankedHit>, RankError> {
        let places = self.places(&hits[..hits.len().min(count)]);
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
                rank_features: Vec::new(),
            })
            .collect();
        let wanted = |is_wanted: bool, list| if is_wanted { list } else { &[][..] };
        for (_, expression) in wanted(lists.of_match, &self.plan.match_features[..]) {
            let values = self.feature_values("match-features", *expression, &frame)?;
            ranked.iter_mut().zip(values).for_each(|(hit, value)| hit.match_features.push(value));
        }
        for (_, expression) in wanted(lists.of_summary, &self.plan.summary_features[..]) {
            let values = self.feature_values("summary-features", *expression, &frame)?;
            ranked.iter_mut().zip(values).for_each(|(hit, value)| hit.summary_features.push(value));
        }
        let are_listed = lists.of_summary && self.query.list_features;
        for (_, expression) in wanted(are_listed, &self.plan.rank_features[..]) {
            let values = self.feature_values("rank-features", *expression, &frame)?;
            ranked.iter_mut().zip(values).for_each(|(hit, value)| hit.rank_features.push(value));
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
        let kind = computed.kind();
        let of = |row| value(&attribute, &kind, row);
        let values: Option<Vec<Value>> = (0..frame.rows.len()).map(of).collect();
        values.ok_or_else(|| RankError::Feature {
            name: expression.text.clone(),
            text: "has too few values".to_owned(),
        })
    }
}
