//! Matching and ranking.

use std::time::Instant;

use stead_expr::Value;
use stead_expr::codec::binary::encode;

use super::prepare::ranking_error;
use super::sort::{first, values};
use super::{Prepared, Searcher};
use crate::matching::{Matcher, Matches, RowSet};
use crate::query::SearchError;
use crate::rank::{Explained, Lists, RankOptions, RankedHit, Wanted};
use crate::result::{Coverage, Degraded, FeatureValue, HitKind, Partial, PartialHit};

const MATCH: Lists = Lists { of_match: true, of_summary: false };

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
    begin: Instant,
) -> Result<(Partial, Option<Explained>), SearchError> {
    let view = searcher.view;
    let (matches, coverage) = matched(searcher, prepared, matcher, begin)?;
    let total = matches.count();
    let count = prepared.offset.saturating_add(prepared.hits);
    let plan = &prepared.plan;
    let features = plan.match_features().into_iter().map(str::to_owned).collect();
    let kinds = vec![HitKind { name: view.kind().name().to_owned(), features }];
    let by_score =
        prepared.order.is_empty() || prepared.order.iter().any(|by| by.attribute.is_none());
    let mut explained = None;
    let (hits, total) = if by_score {
        // Ordered by other things too, every hit may be among the first.
        let hits = if prepared.order.is_empty() { count } else { total };
        let wanted = Wanted { hits, explains: prepared.explains };
        let ranked = plan.rank_matches(&prepared.rank, view, (matcher, &matches), options, wanted);
        let (ranked, told) = ranked.map_err(ranking_error)?;
        explained = told;
        let hit = |hit: &RankedHit| PartialHit {
            lid: hit.document,
            node: 0,
            kind: 0,
            relevance: hit.relevance,
            sort: values(view, &prepared.order, hit.document, hit.relevance),
            features: hit.match_features.iter().map(feature).collect(),
        };
        (ranked.hits.iter().map(hit).collect(), ranked.total)
    } else {
        let mut hits = first(view, &matches, &prepared.order, count);
        let lids: Vec<u32> = hits.iter().map(|hit| hit.lid).collect();
        if !plan.match_features().is_empty() {
            let computed = plan.features(&prepared.rank, view, (matcher, &lids), options, MATCH);
            for (hit, computed) in hits.iter_mut().zip(computed.map_err(ranking_error)?) {
                hit.features = computed.match_features.iter().map(feature).collect();
            }
        }
        (hits, total)
    };
    let descending = prepared.order.iter().map(|by| by.descending).collect();
    let total = total as u64;
    let partial = Partial { total, coverage, kinds, descending, hits, errors: Vec::new() };
    Ok((partial, explained))
}

/// The matches of as many blocks as there is time for.
fn matched(
    searcher: Searcher<'_>,
    prepared: &Prepared,
    matcher: &Matcher<'_>,
    begin: Instant,
) -> Result<(Matches, Coverage), SearchError> {
    let documents = searcher.view.len() as u64;
    let part = prepared.soft.unwrap_or(1.0);
    let deadline = begin + prepared.timeout.mul_f64(part.clamp(0.0, 1.0));
    let mut coverage = Coverage { documents, ..Coverage::default() };
    let mut segments = Vec::new();
    for (number, block) in searcher.view.blocks().enumerate() {
        if Instant::now() >= deadline {
            if prepared.soft.is_none() {
                return Err(super::timed_out(prepared.timeout));
            }
            coverage.degraded = Degraded { timeout: true, ..Degraded::default() };
            segments.push(RowSet::none(block.rows()));
            continue;
        }
        segments.push(matcher.segment(number));
        coverage.covered += block.alive().count() as u64;
    }
    Ok((Matches { segments }, coverage))
}

fn feature(value: &Value) -> FeatureValue {
    match value.as_double() {
        Some(number) => FeatureValue::Number(number),
        None => FeatureValue::Tensor(encode(value)),
    }
}
