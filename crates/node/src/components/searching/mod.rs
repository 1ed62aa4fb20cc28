//! Searchers: a chain of them stands around the search of the documents, sees the query before and the result after it.

mod host;
mod query;
mod reserve;
mod results;
mod running;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stead_app::components::{Chain, ChainKind};
use stead_app::package::Report;
use stead_app::services::ClusterChains;
use stead_python::Deadline;
use stead_search::query::{SearchCode, SearchError};
use stead_search::request::Presentation;
use stead_search::result::{Item, SearchResult, Timing};

pub(crate) use host::BackEnd;
pub use query::Query;

use super::Unit;
use super::failure::ComponentError;
use super::link::Link;
use super::native::{NativeUnit, Searcher};
use crate::{Code, Error};
use reserve::{Reserved, too_many};
use running::{Late, Running};

/// Searches through chains that may be in at a time: each has a thread while it waits.
const MAX_INSIDE: usize = 256;

/// Those that are in.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// The searchers of a chain, at least one.
pub(crate) struct Searching {
    id: String,
    links: Vec<Link<dyn Searcher>>,
    /// How long a search may take in all.
    timeout: Duration,
}

/// The chains of an application that have searchers, by their ids.
pub(super) fn chains(
    chains: &[ClusterChains],
    units: &HashMap<&str, &Arc<Unit>>,
    natives: &BTreeMap<String, Arc<NativeUnit<dyn Searcher>>>,
    report: &mut Report,
) -> BTreeMap<String, Arc<Searching>> {
    let mut found: BTreeMap<String, Arc<Searching>> = BTreeMap::new();
    let all = chains.iter().flat_map(|(_, chains)| chains);
    let is_one = |chain: &&Chain| chain.kind == ChainKind::Search && !chain.components.is_empty();
    for chain in all.filter(is_one) {
        let links = Link::of_chain("search chain", &chain.id, &chain.components, units, natives);
        if let Some(text) = too_many(chain, &links) {
            report.error(&chain.place, text);
        }
        let Some(timeout) = links.iter().map(Link::timeout).min() else { continue };
        let id = chain.id.clone();
        found.insert(id.clone(), Arc::new(Searching { id, links, timeout }));
    }
    found
}

/// A search that is in.
pub(crate) struct Inside;

impl Inside {
    /// # Errors
    /// [`Code::Overloaded`] when there are too many.
    pub(crate) fn enter() -> Result<Inside, Error> {
        let before = INSIDE.fetch_add(1, Ordering::Relaxed);
        let inside = Inside;
        match before < MAX_INSIDE {
            true => Ok(inside),
            false => {
                Err(Error::new(Code::Overloaded, "too many searches by searchers are waiting"))
            }
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Searching {
    /// Counts a search that was refused as too many are in.
    pub(crate) fn record_refused(&self) {
        self.links.iter().for_each(Link::record_refused);
    }

    /// The result of a search of these values, query profiles among them. It blocks; the documents are searched by the back end. A request
    /// that says a timeout has no more than that.
    pub(crate) fn search(self: &Arc<Self>, query: Query, back_end: BackEnd) -> SearchResult {
        let begun = Instant::now();
        let values = &query.values;
        let (presentation, timeout) = match (Presentation::of(values), values.timeout()) {
            (Ok(presentation), Ok(timeout)) => (presentation, timeout),
            (Err(error), _) | (_, Err(error)) => return SearchResult::failed(error),
        };
        let limit = timeout.map_or(self.timeout, |timeout| timeout.min(self.timeout));
        let deadline = Deadline::after(limit);
        let answer = Reserved::take(&self.links, deadline).and_then(|reserved| {
            let (chain, form) = (Arc::clone(self), presentation.tensors);
            Arc::new(Running { chain, reserved, back_end, deadline, form, late: Late::default() })
                .search(0, query)
        });
        let took = begun.elapsed();
        let mut result = answer.unwrap_or_else(|error| SearchResult::failed(of_search(error)));
        let search = took.as_secs_f64();
        let inner = result.timing.take().unwrap_or_default();
        result.timing = presentation.timing.then_some(Timing { search, ..inner });
        if presentation.trace > 0 {
            result.trace.push(self.told(took));
        }
        result
    }

    fn told(&self, took: Duration) -> Item {
        let ids: Vec<&str> = self.links.iter().flat_map(Link::ids).collect();
        let (ids, ms) = (ids.join(", "), took.as_secs_f64() * 1000.0);
        Item::Text(format!("search chain {} ({ids}) took {ms:.3} ms", self.id))
    }
}

/// An error of components as one of the search.
pub(super) fn of_search(error: ComponentError) -> SearchError {
    let code = match error.code {
        Code::InvalidArgument => SearchCode::InvalidQueryParameter,
        Code::DeadlineExceeded => SearchCode::Timeout,
        Code::Overloaded | Code::Unavailable => SearchCode::NoBackendsInService,
        _ => SearchCode::ErrorInPlugin,
    };
    SearchError { code, message: Error::from(error).to_string() }
}
