//! Searchers that leave hits out ask for more than are wanted.

use stead_search::rank::descending;
use stead_search::result::{Hit, SearchResult};

use crate::components::native::{NativeError, Query};

/// The hits of a request that says nothing, and the most that it may want then: `hits` and `maxHits` of the table of parameters.
const HITS: usize = 10;
const MAX_HITS: usize = 400;

/// The hits that a query wants, those that it leaves out before them, and the most that may be asked for. Nothing where these are no
/// numbers: whoever searches the documents says so.
pub(super) fn wanted(query: &Query) -> Option<(usize, usize, usize)> {
    let number = |name: &str, default: usize| match query.values.get(name) {
        None => Some(default),
        Some(text) => text.trim().parse::<usize>().ok(),
    };
    Some((number("hits", HITS)?, number("offset", 0)?, number("maxHits", MAX_HITS)?))
}

/// Searches for `more` times the hits that a query wants, has `keep` leave some out or put them in another order, and gives those that are
/// wanted. It is searched again for twice as many while too few are left of all that were asked for.
pub(super) fn search_more(
    query: Query,
    more: usize,
    keep: &dyn Fn(Vec<Hit>) -> Vec<Hit>,
    search: &dyn Fn(Query) -> Result<SearchResult, NativeError>,
) -> Result<SearchResult, NativeError> {
    let Some((hits, offset, most)) = wanted(&query) else { return search(query) };
    // What the query may not ask for itself is not asked for in its name.
    if hits > most {
        return search(query);
    }
    let enough = offset.saturating_add(hits);
    let mut asked = enough.saturating_mul(more.max(1)).min(most.max(enough));
    loop {
        let mut one = query.clone();
        one.values.set("offset", "0".to_owned());
        one.values.set("hits", asked.to_string());
        one.values.set("maxHits", asked.max(most).to_string());
        let mut result = search(one)?;
        let found = result.hits.len();
        let mut kept = keep(std::mem::take(&mut result.hits));
        let is_all = found < asked || asked >= most.max(enough) || more <= 1;
        if kept.len() >= enough || is_all {
            kept.drain(..offset.min(kept.len()));
            kept.truncate(hits);
            result.hits = kept;
            return Ok(result);
        }
        asked = asked.saturating_mul(2).min(most.max(enough));
    }
}

/// Hits in the order of the scores that each is given, with those that have none behind them.
pub(super) fn rated(mut hits: Vec<Hit>, scores: Vec<f64>, rest: Vec<Hit>) -> Vec<Hit> {
    for (hit, score) in hits.iter_mut().zip(scores) {
        hit.relevance = score;
    }
    hits.sort_by(|a, b| descending(a.relevance, b.relevance));
    hits.extend(rest);
    hits
}

/// Searches for at least so many hits, has `order` put them in another order, and gives those that are wanted.
pub(super) fn search_at_least(
    query: Query,
    least: usize,
    order: &dyn Fn(Vec<Hit>) -> Result<Vec<Hit>, NativeError>,
    search: &dyn Fn(Query) -> Result<SearchResult, NativeError>,
) -> Result<SearchResult, NativeError> {
    let Some((hits, offset, most)) = wanted(&query) else { return search(query) };
    if hits > most {
        return search(query);
    }
    let asked = offset.saturating_add(hits).max(least);
    let mut one = query;
    one.values.set("offset", "0".to_owned());
    one.values.set("hits", asked.to_string());
    one.values.set("maxHits", asked.max(most).to_string());
    let mut result = search(one)?;
    let mut ordered = order(std::mem::take(&mut result.hits))?;
    ordered.drain(..offset.min(ordered.len()));
    ordered.truncate(hits);
    result.hits = ordered;
    Ok(result)
}
