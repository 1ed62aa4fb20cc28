//! Searchers: a chain of them stands around the search of the documents, sees the query before and the result after it.

mod host;
mod question;
mod results;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stead_app::components::{Chain, ChainKind};
use stead_app::package::Report;
use stead_app::services::ClusterChains;
use stead_python::{Deadline, Host};
use stead_search::query::{SearchCode, SearchError};
use stead_search::request::{Presentation, Values};
use stead_search::result::{Item, SearchResult, Timing};

pub(crate) use host::BackEnd;
pub(crate) use question::Question;

use super::Unit;
use super::failure::ComponentError;
use super::together::Together;
use crate::{Code, Error};
use host::SearchHost;

/// Searches through chains that may be in at a time: each has a thread while it waits.
const MAX_INSIDE: usize = 256;

/// Those that are in.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// The searchers of a chain.
pub(crate) struct Searching {
    components: Together,
    chain: String,
}

/// The chains of an application that have searchers, by their ids.
pub(super) fn chains(
    chains: &[ClusterChains],
    units: &HashMap<&str, &Arc<Unit>>,
    report: &mut Report,
) -> BTreeMap<String, Arc<Searching>> {
    let mut found: BTreeMap<String, Arc<Searching>> = BTreeMap::new();
    let all = chains.iter().flat_map(|(_, chains)| chains);
    for chain in all.filter(|c| c.kind == ChainKind::Search && !c.components.is_empty()) {
        let components = chain.components.iter();
        let of_chain = components.filter_map(|id| units.get(id.as_str()).copied().cloned());
        let mut parts = Together::parts("search chain", &chain.id, of_chain.collect());
        if parts.len() > 1 {
            report.error(&chain.place, apart(chain, &parts));
        }
        let Some(components) = parts.pop() else { continue };
        let id = chain.id.clone();
        found.insert(id.clone(), Arc::new(Searching { components, chain: id }));
    }
    found
}

/// Searchers go on with each other within one call, which has one interpreter.
fn apart(chain: &Chain, parts: &[Together]) -> String {
    let ids: Vec<String> = parts.iter().map(|part| part.ids().join(" and ")).collect();
    format!(
        "search chain {}: {} run in interpreters of different kinds, and one call goes through all of them; give their packages the same isolation and environment",
        chain.id,
        ids.join(", and apart from them ")
    )
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
        self.components.record_refused();
    }

    /// The result of a search of these values, query profiles among them. It blocks; the documents are searched by the back end. A request
    /// that says a timeout has no more than that.
    pub(crate) fn search(&self, values: &Values, back_end: BackEnd) -> SearchResult {
        let begun = Instant::now();
        let (presentation, timeout) = match (Presentation::of(values), values.timeout()) {
            (Ok(presentation), Ok(timeout)) => (presentation, timeout),
            (Err(error), _) | (_, Err(error)) => return SearchResult::failed(error),
        };
        let limit = self.components.timeout();
        let deadline = Deadline::after(timeout.map_or(limit, |timeout| timeout.min(limit)));
        let host = Arc::new(SearchHost::new(back_end, self.components.host()));
        let answer = self.call(values, &host, deadline, presentation);
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

    fn call(
        &self,
        values: &Values,
        host: &Arc<SearchHost>,
        deadline: Deadline,
        presentation: Presentation,
    ) -> Result<SearchResult, ComponentError> {
        let asked = Instant::now();
        let session = self.components.session(deadline);
        let (waited, begun) = (asked.elapsed(), Instant::now());
        let is_called = session.is_ok();
        let answer = session.and_then(|mut session| {
            let argument = question::argument(values);
            let host: Arc<dyn Host> = host.clone();
            self.components.call(&mut session, "search", argument, host, deadline)
        });
        let result = answer.and_then(|answer| {
            let result = host.result(answer, presentation.tensors);
            result.map_err(|text| self.components.failing().error(Code::Internal, &text))
        });
        self.components.record(result.as_ref().err(), waited, is_called.then_some(begun));
        result
    }

    fn told(&self, took: Duration) -> Item {
        let (ids, ms) = (self.components.ids().join(", "), took.as_secs_f64() * 1000.0);
        Item::Text(format!("search chain {} ({ids}) took {ms:.3} ms", self.chain))
    }
}

/// An error of components as one of the search.
fn of_search(error: ComponentError) -> SearchError {
    let code = match error.code {
        Code::InvalidArgument => SearchCode::InvalidQueryParameter,
        Code::DeadlineExceeded => SearchCode::Timeout,
        Code::Overloaded | Code::Unavailable => SearchCode::NoBackendsInService,
        _ => SearchCode::ErrorInPlugin,
    };
    SearchError { code, message: Error::from(error).to_string() }
}
