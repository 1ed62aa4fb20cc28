//! A search from the request to the result, on the node that has the documents.
//!
//! [`prepare`] turns a request into what is asked; [`find`] matches and ranks, which gives a [`Partial`](crate::result::Partial);
//! [`fill`] gets the summaries of its hits. [`search`] does all of it for one node, for each type of documents that is asked for.

mod fields;
mod fill;
mod find;
mod groups;
mod prepare;
mod sort;
mod sources;
mod stored;
mod streamed;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use stead_app::application::Schema;
use stead_expr::Value;
use stead_kernels::Parallel;
use stead_store::{StoreError, View};

pub use fill::{fill, hidden_id};
pub use find::{find, matcher};
pub use groups::Groupings;
pub use prepare::{Prepared, prepare};
pub use stored::field_value;

use sources::chosen;
use streamed::streamed;

use crate::matching::Matcher;
use crate::query::{SearchCode, SearchError, Searches};
use crate::rank::{Explained, RankError, RankOptions, RankPlan};
use crate::request::SearchRequest;
use crate::result::{Hit, Item, Partial, PartialHit, SearchResult, Timing, merge};

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
    pub stored: &'s (dyn Fn(&str, &str) -> Result<Option<Value>, StoreError> + Sync),
    /// The rank profiles by the names of their schemas and their own.
    pub plans: &'s (dyn Fn(&str, &str) -> Result<Arc<RankPlan>, RankError> + Sync),
}

impl<'s> Searcher<'s> {
    /// The same of other documents, if there are some.
    fn over<'v>(&self, view: &'v Option<View>) -> Searcher<'v>
    where
        's: 'v,
    {
        Searcher { view: view.as_ref().unwrap_or(self.view), ..*self }
    }
}

/// Searches documents of some types: those among them that the request asks for, at the same time. Other cores may take part; the result
/// is the same on one.
#[must_use]
pub fn search(
    searchers: &[Searcher<'_>],
    request: &SearchRequest,
    options: RankOptions,
    cores: &dyn Parallel,
) -> SearchResult {
    match run(searchers, request, options, cores) {
        Ok(result) => result,
        Err(error) => SearchResult::failed(error),
    }
}

/// One type of documents of a search.
struct Part<'p> {
    searcher: Searcher<'p>,
    prepared: &'p Prepared,
    matcher: Matcher<'p>,
    explained: Option<Explained>,
}

/// Whether profiles of one name say the same of [models of significance](crate::query::SignificanceModels), where the request says nothing (Vespa,
/// `SignificanceSearcher.java`). What else is wrong with profiles is told by those who run them.
fn agreed(searchers: &[Searcher<'_>], request: &SearchRequest) -> Result<(), SearchError> {
    if request.rank.uses_significance.is_some() {
        return Ok(());
    }
    let profile = request.rank.profile.as_deref().unwrap_or("default");
    let uses = |searcher: &Searcher<'_>| {
        let plan = (searcher.plans)(&searcher.schema.name.value, profile);
        plan.is_ok_and(|plan| plan.uses_significance)
    };
    let mut all = searchers.iter().map(uses);
    let Some(first) = all.next() else { return Ok(()) };
    if all.all(|other| other == first) {
        return Ok(());
    }
    let names: Vec<&str> = searchers.iter().map(|s| s.schema.name.value.as_str()).collect();
    Err(SearchError::illegal(format!(
        "Inconsistent 'significance' configuration for the rank profile '{profile}' in the schemas [{}]. Use 'restrict' to limit the query to a \
         subset of schemas. Specify same 'significance' configuration for all selected schemas.",
        names.join(", ")
    )))
}

fn run(
    searchers: &[Searcher<'_>],
    request: &SearchRequest,
    options: RankOptions,
    cores: &dyn Parallel,
) -> Result<SearchResult, SearchError> {
    let begin = Instant::now();
    let statement = request.query.statement()?;
    // What one type cannot answer does not keep the others from it.
    let mut errors = Vec::new();
    let mut views = Vec::new();
    for searcher in chosen(searchers, request, &statement)? {
        match streamed::asked(searcher, request, options.now) {
            Ok(which) => views.push((*searcher, which.map(|_| searcher.view.unread()), which)),
            Err(error) => errors.push(error),
        }
    }
    // Which fields of streamed documents are read is known when all that is asked is.
    let unread: Vec<Searcher<'_>> = views.iter().map(|(s, view, _)| s.over(view)).collect();
    let names: Vec<Searches<'_>> =
        unread.iter().map(|s| Searches::new(s.schema, s.view.kind())).collect();
    agreed(&unread, request)?;
    let (mut ready, mut read) = (Vec::new(), Vec::new());
    for (at, (searcher, _, which)) in views.iter().enumerate() {
        let others = [&names[..at], &names[at + 1..]].concat();
        let prepared = prepare(unread[at], request, &statement, &others, options.now);
        let with_view = prepared.and_then(|mut prepared| {
            let bounds = (begin, request.streaming.most_bytes);
            let of = |which| streamed(searcher.view, which, &mut prepared, bounds);
            Ok((which.map(of).transpose()?, prepared))
        });
        match with_view {
            Ok((view, prepared)) => {
                read.push((*searcher, view));
                ready.push(prepared);
            }
            Err(error) => errors.push(error),
        }
    }
    let asked: Vec<(Searcher<'_>, Prepared)> =
        read.iter().map(|(searcher, view)| searcher.over(view)).zip(ready).collect();
    let Some((_, first)) = asked.first() else {
        return Err(errors.into_iter().next().unwrap_or_else(|| SearchError::illegal("no query")));
    };
    let (hits, offset, timeout) = (first.hits, first.offset, first.timeout);
    let (mut parts, mut partials) = (Vec::new(), Vec::new());
    for found in at_once(&asked, cores, &|of| part(of, options, (begin, cores))) {
        match found {
            Ok((part, partial)) => {
                parts.push(part);
                partials.push(partial);
            }
            Err(error) if asked.len() > 1 => errors.push(error),
            Err(error) => return Err(error),
        }
    }
    if parts.is_empty() {
        return Err(errors.into_iter().next().unwrap_or_else(|| timed_out(timeout)));
    }
    let mut partial = merge(partials, offset.saturating_add(hits));
    partial.coverage.results = parts.len() as u32;
    let query = begin.elapsed();
    partial.hits.drain(..offset.min(partial.hits.len()));
    let hits = filled(&parts, &partial, options, &mut errors)?;
    let groups = groups::rendered(&parts, &mut partial, options, &mut errors);
    let all = begin.elapsed();
    let timing = Timing {
        query: query.as_secs_f64(),
        summary_fetch: (all - query).as_secs_f64(),
        search: all.as_secs_f64(),
    };
    partial.errors.append(&mut errors);
    Ok(SearchResult {
        total: partial.total,
        coverage: Some(partial.coverage),
        groups,
        hits,
        errors: partial.errors,
        timing: request.timing.then_some(timing),
        trace: trace(&parts, request, partial.total, timing),
    })
}

/// The hits of one type, without their fields.
fn part<'p>(
    (searcher, prepared): &'p (Searcher<'p>, Prepared),
    options: RankOptions,
    (begin, cores): (Instant, &dyn Parallel),
) -> Result<(Part<'p>, Partial), SearchError> {
    let matcher = matcher(*searcher, prepared, (begin, cores))?;
    let (partial, explained) = find(*searcher, prepared, &matcher, options, (begin, cores))?;
    Ok((Part { searcher: *searcher, prepared, matcher, explained }, partial))
}

/// What becomes of each of a list, in its order: at the same time where there are several, on the cores that take part.
fn at_once<'l, T: Sync, R: Send>(
    list: &'l [T],
    cores: &dyn Parallel,
    one: &(dyn Fn(&'l T) -> R + Sync),
) -> Vec<R> {
    if list.len() < 2 || cores.threads() < 2 {
        return list.iter().map(one).collect();
    }
    let found: Vec<Mutex<Option<R>>> = list.iter().map(|_| Mutex::new(None)).collect();
    cores.for_each(list.len(), &|at| {
        if let (Some(of), Some(slot)) = (list.get(at), found.get(at)) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(one(of));
        }
    });
    // Each was called, or a panic of one has ended all.
    found
        .into_iter()
        .filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// The hits of all types with their fields; what cannot be read is told.
fn filled(
    parts: &[Part<'_>],
    partial: &Partial,
    options: RankOptions,
    errors: &mut Vec<SearchError>,
) -> Result<Vec<Hit>, SearchError> {
    let mut filled: Vec<(usize, Hit)> = Vec::new();
    for (kind, of) in partial.kinds.iter().enumerate() {
        let is_it = |part: &&Part<'_>| part.searcher.view.kind().name() == of.name;
        let Some(part) = parts.iter().find(is_it) else { continue };
        let own = partial.hits.iter().enumerate().filter(|(_, hit)| hit.kind as usize == kind);
        let (places, hits): (Vec<usize>, Vec<&PartialHit>) = own.unzip();
        // Groups may be of types that no hit is of.
        if hits.is_empty() {
            continue;
        }
        let (hits, unread) = fill(part.searcher, part.prepared, &part.matcher, &hits, options)?;
        errors.extend(unread);
        filled.extend(places.into_iter().zip(hits));
    }
    filled.sort_by_key(|(place, _)| *place);
    Ok(filled.into_iter().map(|(_, hit)| hit).collect())
}

/// The error of a search that had not enough time.
fn timed_out(timeout: Duration) -> SearchError {
    let message = format!("Timed out after {} ms", timeout.as_millis());
    SearchError { code: SearchCode::Timeout, message }
}

/// What was done, as far as the request wants to know.
fn trace(parts: &[Part<'_>], request: &SearchRequest, total: u64, timing: Timing) -> Vec<Item> {
    let mut trace = Vec::new();
    if request.trace > 0 {
        let mut messages = request.warnings.clone();
        for Part { prepared, .. } in parts {
            messages.extend(prepared.tree.warnings.iter().cloned());
            messages.extend(prepared.plan.notes_of_search());
        }
        let profiles: Vec<&str> = parts.iter().map(|p| p.prepared.plan.profile()).collect();
        let documents: usize = parts.iter().map(|p| p.searcher.view.len()).sum();
        messages.push(format!(
            "matched and ranked {total} of {documents} documents by profile {} in {:.3} ms",
            profiles.join(", "),
            timing.query * 1000.0
        ));
        for message in messages {
            let message = Item::Text(message);
            if !trace.contains(&message) {
                trace.push(message);
            }
        }
    }
    for Part { searcher, prepared, matcher, explained } in parts {
        if request.explains {
            trace.push(Item::from(json!({
                "schema": searcher.view.kind().name(),
                "profile": prepared.plan.profile(),
                "matching": matcher.explain(),
                "ranking": explained.as_ref().map(Explained::json),
            })));
        }
    }
    trace
}
