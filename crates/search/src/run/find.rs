//! Matching and ranking.

use std::sync::OnceLock;
use std::time::Instant;

use stead_expr::Value;
use stead_expr::codec::binary::encode;
use stead_kernels::Parallel;
use stead_store::{Block, StoreError, View};

use super::prepare::ranking_error;
use super::sort::{Sorting, first};
use super::{Prepared, Searcher};
use crate::matching::{GraphTime, Matcher, Matches, Patience, RowSet};
use crate::query::{OrderKey, SearchError};
use crate::rank::{Explained, Lists, Means, RankOptions, RankedHit, Wanted};
use crate::result::{Coverage, Degraded, FeatureValue, HitKind, Partial, PartialHit};

const MATCH: Lists = Lists { of_match: true, of_summary: false };

/// The part of the time for matching that comparisons of all vectors may take: the nearest are still to be ranked.
const COMPARING: f64 = 0.9;

/// When matching and ranking must have ended; the time counts from `begin`.
fn deadline(prepared: &Prepared, begin: Instant) -> Instant {
    let part = prepared.soft.unwrap_or(1.0).clamp(0.0, 1.0);
    begin + prepared.timeout.mul_f64(part)
}

/// A query with the documents that it is about, and the nearest to its vectors among them.
///
/// # Errors
/// When a vector does not fit the field that it is compared with.
pub fn matcher<'m>(
    searcher: Searcher<'m>,
    prepared: &'m Prepared,
    (begin, cores): (Instant, &dyn Parallel),
) -> Result<Matcher<'m>, SearchError> {
    let mut deadline = deadline(prepared, begin);
    let soft = deadline.saturating_duration_since(begin);
    if prepared.soft.is_some() {
        deadline = begin + soft.mul_f64(COMPARING);
    }
    let means = Means { is_late: &|| Instant::now() >= deadline, cores };
    let threads = prepared.plan.threads(&prepared.rank, searcher.view.len(), means);
    let GraphTime { budget, part } = prepared.graph_time;
    // Without a soft timeout there are all hits or an error.
    let until = part.filter(|_| prepared.soft.is_some()).map(|part| begin + soft.mul_f64(part));
    Matcher::within(&prepared.tree, searcher.view, threads, (means, Patience { budget, until }))
}

/// The best hits of a query, as many as it wants and leaves out together, and, if that is wanted, what ranking computed. The time
/// counts from `begin`.
///
/// # Errors
/// When something cannot be computed, or takes too long.
pub fn find(
    searcher: Searcher<'_>,
    prepared: &Prepared,
    matcher: &Matcher<'_>,
    options: RankOptions,
    (begin, cores): (Instant, &dyn Parallel),
) -> Result<(Partial, Option<Explained>), SearchError> {
    let (view, plan) = (searcher.view, &prepared.plan);
    let deadline = deadline(prepared, begin);
    let means = Means { is_late: &|| Instant::now() >= deadline, cores };
    let count = prepared.offset.saturating_add(prepared.hits);
    let features = plan.match_features().into_iter().map(str::to_owned).collect();
    let kinds = vec![HitKind { name: view.kind().name().to_owned(), features }];
    let by_score =
        prepared.order.is_empty() || prepared.order.iter().any(|by| by.key == OrderKey::Score);
    let limit = plan.match_limit(&prepared.rank).filter(|_| by_score);
    let (mut skipped, mut chosen) = (matcher.skipped().to_vec(), None);
    if !by_score || limit.is_some() {
        let threads = plan.threads(&prepared.rank, view.len(), means);
        let (mut matches, mut late) = matched(view, matcher, threads, means)?;
        skipped.append(&mut late);
        let total = matches.count();
        let kept = limit.map(|limit| limit.choose(view, &mut matches).map_err(ranking_error));
        chosen = Some((matches, total, kept.transpose()?.unwrap_or(total)));
    }
    let (mut is_cut, mut explained) = (matcher.is_cut(), None);
    // The matches that are grouped, with their scores.
    let (is_grouped, mut grouped) = (!prepared.groupings.is_empty(), Vec::new());
    let (hits, total) = match &chosen {
        Some((matches, total, _)) if !by_score => {
            let mut hits = first(searcher, matches, &prepared.order, count)?;
            let lids: Vec<u32> = hits.iter().map(|hit| hit.lid).collect();
            if !plan.match_features().is_empty() {
                let computed =
                    plan.features(&prepared.rank, view, (matcher, &lids), options, MATCH);
                for (hit, computed) in hits.iter_mut().zip(computed.map_err(ranking_error)?) {
                    hit.features = computed.match_features.iter().map(feature).collect();
                }
            }
            if is_grouped {
                let segments = matches.segments.iter().enumerate();
                let lids =
                    segments.flat_map(|(at, rows)| rows.iter().map(move |row| view.lid(at, row)));
                grouped.extend(lids.map(|lid| (lid, 0.0)));
            }
            (hits, *total)
        }
        _ => {
            // Ordered by other things too, every hit may be among the first.
            let best = if prepared.order.is_empty() { count } else { usize::MAX };
            let hits = if is_grouped { usize::MAX } else { best };
            let wanted = Wanted { hits, features: best, explains: prepared.explains };
            let among = (matcher, chosen.as_ref().map(|(matches, ..)| matches));
            let ranked = plan.rank_matches(&prepared.rank, view, among, options, (wanted, means));
            let (mut ranked, told) = ranked.map_err(ranking_error)?;
            explained = told;
            skipped.append(&mut ranked.skipped);
            is_cut |= ranked.is_cut;
            if is_grouped {
                grouped.extend(ranked.hits.iter().map(|hit| (hit.document, hit.relevance)));
                ranked.hits.truncate(best);
            }
            let mut sorting = Sorting::new(searcher, &prepared.order);
            let hit = |hit: &RankedHit| {
                Ok(PartialHit {
                    lid: hit.document,
                    node: 0,
                    kind: 0,
                    relevance: hit.relevance,
                    sort: sorting.values(hit.document, hit.relevance)?,
                    features: hit.match_features.iter().map(feature).collect(),
                })
            };
            // What a limit of matching left out is a hit all the same.
            let total = chosen.as_ref().map_or(ranked.total, |(_, total, _)| *total);
            (ranked.hits.iter().map(hit).collect::<Result<_, SearchError>>()?, total)
        }
    };
    let (groups, is_late) = prepared.groupings.collect(view, &grouped, (prepared, begin))?;
    is_cut |= is_late;
    let mut coverage = covered(view, &mut skipped);
    coverage.degraded.timeout |= is_cut;
    coverage.degraded.ann_timeout = matcher.is_timed_out();
    if coverage.degraded.timeout && prepared.soft.is_none() {
        return Err(super::timed_out(prepared.timeout));
    }
    if let Some((_, total, kept)) = &chosen
        && kept < total
    {
        coverage.degraded.match_phase = true;
        let part = u128::from(coverage.covered) * *kept as u128 / (*total).max(1) as u128;
        coverage.covered = part as u64;
    }
    let descending = prepared.order.iter().map(|by| by.descending).collect();
    let total = total as u64;
    let errors = Vec::new();
    let partial = Partial { total, coverage, kinds, descending, hits, groups, errors };
    Ok((partial, explained))
}

/// What was looked at where some blocks were left out because it was late.
fn covered(view: &View, skipped: &mut Vec<usize>) -> Coverage {
    skipped.sort_unstable();
    skipped.dedup();
    let alive = |number: &usize| view.block(*number).map_or(0, |block| block.alive().count());
    let missing: usize = skipped.iter().map(alive).sum();
    let documents = view.len() as u64;
    let degraded = Degraded { timeout: !skipped.is_empty(), ..Degraded::default() };
    Coverage { covered: documents - missing as u64, documents, degraded, ..Coverage::default() }
}

/// The blocks that a thread matches at a time: some ten microseconds of the cheapest tests.
const BLOCKS: usize = 16;

/// The matches of as many blocks as there is time for, and the blocks that are left.
fn matched(
    view: &View,
    matcher: &Matcher<'_>,
    threads: usize,
    means: Means<'_>,
) -> Result<(Matches, Vec<usize>), StoreError> {
    let blocks: Vec<&Block> = view.blocks().collect();
    let found: Vec<OnceLock<Result<RowSet, StoreError>>> =
        blocks.iter().map(|_| OnceLock::new()).collect();
    means.share(threads, (found.len(), BLOCKS), &|taken| {
        for at in taken.flatten().filter(|_| !(means.is_late)()) {
            let _ = found[at].set(matcher.segment(at));
        }
    });
    let mut skipped = Vec::new();
    let found = found.into_iter().zip(blocks).enumerate().map(|(number, (found, block))| {
        found.into_inner().unwrap_or_else(|| {
            skipped.push(number);
            Ok(RowSet::none(block.rows()))
        })
    });
    let segments = found.collect::<Result<_, _>>()?;
    Ok((Matches { segments }, skipped))
}

fn feature(value: &Value) -> FeatureValue {
    match value.as_double() {
        Some(number) => FeatureValue::Number(number),
        None => FeatureValue::Tensor(encode(value)),
    }
}
