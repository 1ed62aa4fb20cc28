//! One search on its way through a chain.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stead_expr::codec::json::Form;
use stead_python::{Deadline, Host, Session};
use stead_search::result::SearchResult;

use super::host::SearchHost;
use super::reserve::Reserved;
use super::{BackEnd, Query, Searching, query};
use crate::Code;
use crate::components::failure::ComponentError;
use crate::components::link::Link;
use crate::components::native::{Call, Execution, NativeUnit, Searcher};
use crate::components::together::Together;

/// What all links of a search have.
pub(super) struct Running {
    pub(super) chain: Arc<Searching>,
    pub(super) reserved: Reserved,
    pub(super) back_end: BackEnd,
    pub(super) deadline: Deadline,
    /// That of tensors which searchers in Python make.
    pub(super) form: Form,
    pub(super) late: Late,
}

/// Which searchers in Python had not answered at the deadline: all who wait for the last one are late with it, and any of them may be
/// told first.
#[derive(Default)]
pub(super) struct Late {
    /// The links whose calls run, several times where these were asked several times.
    running: Mutex<Vec<usize>>,
    last: AtomicUsize,
}

impl Late {
    fn running(&self) -> MutexGuard<'_, Vec<usize>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, at: usize) {
        let mut running = self.running();
        if let Some(place) = running.iter().position(|link| *link == at) {
            running.swap_remove(place);
        }
    }

    /// The last link that was late, of those from one on.
    fn last(&self, at: usize) -> usize {
        let behind = self.running().iter().copied().max().unwrap_or(0);
        let last = behind.max(at);
        self.last.fetch_max(last, Ordering::SeqCst).max(last)
    }
}

impl Running {
    /// The result of a query at a link: of the searchers from there on and of the documents.
    pub(super) fn search(
        self: &Arc<Self>,
        at: usize,
        query: Query,
    ) -> Result<SearchResult, ComponentError> {
        match self.chain.links.get(at) {
            None => (self.back_end)(query, self.deadline).map_err(|error| ComponentError {
                code: error.code,
                component: self.chain.id.clone(),
                kind: None,
                message: error.to_string(),
                traceback: None,
            }),
            Some(Link::Native(unit)) => self.native(unit, at, query),
            Some(Link::Python(components)) => self.python(components, at, query),
        }
    }

    fn native(
        self: &Arc<Self>,
        unit: &NativeUnit<dyn Searcher>,
        at: usize,
        query: Query,
    ) -> Result<SearchResult, ComponentError> {
        let begun = Instant::now();
        let next = |query: Query| self.search(at + 1, query);
        let execution = Execution { next: &next, call: Call { deadline: self.deadline } };
        let found = unit.call(|searcher| searcher.search(query, &execution));
        let result = found.and_then(|found| found.map_err(|error| unit.failed(error)));
        unit.record(result.as_ref().err(), Duration::ZERO, Some(begun));
        result
    }

    fn python(
        self: &Arc<Self>,
        components: &Together,
        at: usize,
        query: Query,
    ) -> Result<SearchResult, ComponentError> {
        let asked = Instant::now();
        let running = Arc::clone(self);
        let next = move |query: Query| running.search(at + 1, query);
        let is_last = at + 1 == self.chain.links.len();
        let host = Arc::new(SearchHost::new(Box::new(next), !is_last, components.host()));
        let mut begun = None;
        let mut call = |session: &mut Session| {
            begun = Some(Instant::now());
            let argument = query::argument(&query).map_err(|error| {
                components.failing().error(Code::ResourceExhausted, &error.to_string())
            })?;
            let host: Arc<dyn Host> = host.clone();
            components.call(session, "search", argument, host, self.deadline)
        };
        self.late.running().push(at);
        let answer = match self.reserved.of(at) {
            Some(session) => call(&mut session.lock().unwrap_or_else(PoisonError::into_inner)),
            None => components.session(self.deadline).and_then(|mut session| call(&mut session)),
        };
        let waited = begun.map_or(asked.elapsed(), |begun| begun.duration_since(asked));
        let result = answer.and_then(|answer| {
            let result = host.result(answer, self.form);
            result.map_err(|text| components.failing().error(Code::Internal, &text))
        });
        // What it was told by a searcher behind it, and did not answer in another way, is of that one.
        let result = result.map_err(|error| match host.failed() {
            Some(inner) if error.kind.as_deref() == Some("stead.HostError") => inner,
            _ => error,
        });
        let result = result.map_err(|error| self.who_is_late(at, error));
        self.late.ended(at);
        components.record(result.as_ref().err(), waited, begun);
        result
    }

    /// The error of the last searcher in Python that was late, where one is late that waits for it.
    fn who_is_late(&self, at: usize, error: ComponentError) -> ComponentError {
        if error.code != Code::DeadlineExceeded {
            return error;
        }
        let last = self.late.last(at);
        match self.chain.links.get(last) {
            Some(Link::Python(components)) if last > at => components.failing().late(),
            _ => error,
        }
    }
}
