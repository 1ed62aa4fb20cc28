//! A search from the request to the result, on the node that has the documents.
//!
//! [`prepare`] turns a request into what is asked; [`find`] matches and ranks, which gives a [`Partial`](crate::result::Partial);
//! [`fill`] gets the summaries of its hits. [`search`] does all of it for one node.

mod fill;
mod find;
mod prepare;
mod sort;
mod stored;

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use stead_app::application::Schema;
use stead_expr::Value;
use stead_store::View;

pub use fill::fill;
pub use find::find;
pub use prepare::{Prepared, prepare};
pub use stored::field_value;

use crate::matching::Matcher;
use crate::query::SearchError;
use crate::rank::{Explained, RankError, RankOptions, RankPlan};
use crate::request::SearchRequest;
use crate::result::{Item, Partial, SearchResult, Timing, merge};

/// Documents that can be searched.
#[derive(Clone, Copy)]
pub struct Searcher<'s> {
    /// Their schema.
    pub schema: &'s Schema,
    /// The documents.
    pub view: &'s View,
    /// The name of the cluster that has them.
    pub cluster: &'s str,
    /// The value of a field of a stored document, of whichever type, by its id: what `document(id).field` means as the value of
    /// an input.
    pub stored: &'s dyn Fn(&str, &str) -> Option<Value>,
    /// The rank profiles by their names.
    pub plans: &'s dyn Fn(&str) -> Result<Arc<RankPlan>, RankError>,
}

/// Searches documents.
#[must_use]
pub fn search(
    searcher: Searcher<'_>,
    request: &SearchRequest,
    options: RankOptions,
) -> SearchResult {
    match run(searcher, request, options) {
        Ok(result) => result,
        Err(error) => SearchResult::failed(error),
    }
}

fn run(
    searcher: Searcher<'_>,
    request: &SearchRequest,
    options: RankOptions,
) -> Result<SearchResult, SearchError> {
    let begin = Instant::now();
    let prepared = prepare(searcher, request)?;
    let matcher = Matcher::of_view(&prepared.tree, searcher.view)?;
    let (partial, explained) = find(searcher, &prepared, &matcher, options, begin)?;
    let mut partial = merge(vec![partial], prepared.offset.saturating_add(prepared.hits));
    let query = begin.elapsed();
    partial.hits.drain(..prepared.offset.min(partial.hits.len()));
    let hits = fill(searcher, &prepared, &matcher, &partial, options)?;
    let all = begin.elapsed();
    let timing = Timing {
        query: query.as_secs_f64(),
        summary_fetch: (all - query).as_secs_f64(),
        search: all.as_secs_f64(),
    };
    let mut trace: Vec<Item> = match request.trace {
        0 => Vec::new(),
        _ => trace(&prepared, &partial, timing).into_iter().map(Item::Text).collect(),
    };
    if prepared.explains {
        let explained = explained.as_ref().map(Explained::json);
        trace.push(Item::from(json!({
            "schema": searcher.view.kind().name(),
            "profile": prepared.plan.profile(),
            "matching": matcher.explain(),
            "ranking": explained,
        })));
    }
    Ok(SearchResult {
        total: partial.total,
        coverage: Some(partial.coverage),
        hits,
        errors: partial.errors,
        timing: request.timing.then_some(timing),
        trace,
    })
}

/// What was done.
fn trace(prepared: &Prepared, partial: &Partial, timing: Timing) -> Vec<String> {
    let mut messages = prepared.warnings.clone();
    messages.extend(prepared.plan.notes(&prepared.rank));
    messages.push(format!(
        "matched and ranked {} of {} documents by profile {} in {:.3} ms",
        partial.total,
        partial.coverage.covered,
        prepared.plan.profile(),
        timing.query * 1000.0
    ));
    messages
}
