//! Searches of the documents of the application that is served.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use stead_expr::Value;
use stead_pool::{Class, Pool, TaskError};
use stead_python::Deadline;
use stead_search::query::SearchError;
use stead_search::request::{Format, Presentation};
use stead_search::result::SearchResult;
use tokio::sync::oneshot;

use crate::admission::{Line, Place};
use crate::components::{BackEnd, InsideSearchers, Query, Searching};
use crate::deploy::{Asked, timeout};
use crate::embedded::{Embedded, Inside};
use crate::evaluate::Lent;
use crate::{Code, Deployed, Error, ErrorKind};

/// The status of a search that did not end in time.
const LATE: u16 = 504;

impl Embedded {
    /// Answers a search from its parameters, decoded; the form is that which they ask for. What is wrong with the search
    /// itself is part of its result.
    ///
    /// # Errors
    /// [`Code::Unavailable`] where no application is active, and when so many wait that the deadline would pass first;
    /// [`Code::Overloaded`] when too many searches by searchers are in;
    /// [`ErrorKind::ShuttingDown`].
    pub async fn search(
        &self,
        parameters: Vec<(String, String)>,
    ) -> Result<(SearchResult, Format), Error> {
        let _inside = Inside::enter(self);
        let (sender, receiver) = oneshot::channel();
        self.start_search(parameters, move |found| {
            // Whoever asked may have gone.
            let _ = sender.send(found);
        })?;
        receiver.await.map_err(|_| unanswered())
    }

    /// [`Embedded::search`] for programs without a runtime: the calling thread waits.
    ///
    /// # Errors
    /// As there.
    pub fn search_wait(
        &self,
        parameters: &[(&str, &str)],
    ) -> Result<(SearchResult, Format), Error> {
        let _inside = Inside::enter(self);
        let (sender, receiver) = sync_channel(1);
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        self.start_search(parameters.iter().map(owned).collect(), move |found| {
            // Whoever asked waits.
            let _ = sender.send(found);
        })?;
        receiver.recv().map_err(|_| unanswered())
    }

    fn start_search(
        &self,
        parameters: Vec<(String, String)>,
        answer: impl FnOnce((SearchResult, Format)) + Send + 'static,
    ) -> Result<(), Error> {
        if self.draining.load(Ordering::SeqCst) {
            return Err(ErrorKind::ShuttingDown.into());
        }
        let found = self.deployments().and_then(|all| Some((Arc::clone(all), all.active()?)));
        let (deployments, active) = found
            .ok_or_else(|| Error::new(Code::Unavailable, "no application is deployed here yet"))?;
        let begin = Instant::now();
        let answer = move |result: SearchResult, format: Format| {
            deployments.count_search(&result, begin.elapsed());
            answer((result, format));
        };
        let Asked { values, warnings, chain } = match active.asked(parameters) {
            Ok(asked) => asked,
            Err(error) => {
                answer(SearchResult::failed(error), Format::Json);
                return Ok(());
            }
        };
        let format = Presentation::of(&values).map_or(Format::Json, |shown| shown.format);
        let pool = Arc::clone(&self.pool);
        match chain {
            Some(chain) => {
                let back_end = back_end(pool, active, warnings);
                let query = Query { values, features: BTreeMap::new() };
                by_searchers(&chain, query, back_end, move |result| answer(result, format))
            }
            None => {
                let answer = move |result| answer(result, format);
                let profile = values.get("ranking.profile").unwrap_or("default");
                // Clients choose the name, which is kept.
                let pace = self.paces.of(&format!("rank-profile {profile:.100}"));
                let deadline = begin.checked_add(timeout(&values));
                let place = self.line.enter(&pace, begin, deadline);
                let place = place
                    .map_err(|refused| refused.error(&format!("rank profile {profile:.100}")))?;
                let closed = |_| Error::from(ErrorKind::ShuttingDown);
                let asked = active.asks_embedders(&values).then(|| values.clone());
                let query = Query { values, features: BTreeMap::new() };
                let Some(asked) = asked else {
                    let embedded = Ok(BTreeMap::new());
                    return on_pool(&pool, active, query, warnings, embedded, Some(place), answer)
                        .map_err(closed);
                };
                let embedding = Arc::clone(&active);
                // When the pool is closed then, the search is not answered.
                embedding.embedded(&asked, move |found| {
                    let _ = on_pool(&pool, active, query, warnings, found, Some(place), answer);
                });
                Ok(())
            }
        }
    }
}

/// Runs a search on the pool, once the tensors of its inputs are known or could not be made. Its place in the line is that of one
/// that waits until then.
fn on_pool(
    pool: &Arc<Pool>,
    active: Arc<Deployed>,
    query: Query,
    warnings: Vec<String>,
    embedded: Result<BTreeMap<String, Value>, SearchError>,
    mut place: Option<Place>,
    answer: impl FnOnce(SearchResult) + Send + 'static,
) -> Result<(), TaskError> {
    let embedded = match embedded {
        Ok(embedded) => embedded,
        Err(error) => {
            answer(SearchResult::failed(error));
            return Ok(());
        }
    };
    let team = Arc::clone(pool);
    pool.spawn(Class::Query, None, move |_: &_| {
        let Query { values, mut features } = query;
        for (name, value) in embedded {
            features.entry(name).or_insert(value);
        }
        place.iter_mut().for_each(Place::begin);
        let begun = Instant::now();
        let result = active.search(values, warnings, features, &Lent(team.team(usize::MAX)));
        Line::ran(place.as_slice(), begun, Instant::now(), result.status() == LATE);
        answer(result);
    })
}

/// Runs searchers where a thread may wait: one that is lent for it, or the caller's where there is no runtime.
fn by_searchers(
    chain: &Arc<Searching>,
    query: Query,
    back_end: BackEnd,
    answer: impl FnOnce(SearchResult) + Send + 'static,
) -> Result<(), Error> {
    let inside = InsideSearchers::enter().inspect_err(|_| chain.record_refused())?;
    let chain = Arc::clone(chain);
    let run = move || {
        let result = chain.search(query, back_end);
        drop(inside);
        answer(result);
    };
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => drop(runtime.spawn_blocking(run)),
        Err(_) => run(),
    }
    Ok(())
}

/// The search of the documents that searchers go on with, on the pool.
fn back_end(pool: Arc<Pool>, active: Arc<Deployed>, warnings: Vec<String>) -> BackEnd {
    Arc::new(move |query: Query, deadline: Deadline| {
        let (sender, receiver) = sync_channel(1);
        let (team, warnings) = (Arc::clone(&pool), warnings.clone());
        let (embedding, searched) = (Arc::clone(&active), Arc::clone(&active));
        let values = query.values.clone();
        embedding.embedded(&values, move |found| {
            // Whoever asked may have given up.
            let answer = move |result| drop(sender.send(result));
            // A pool that is closed shows below.
            let _ = on_pool(&team, searched, query, warnings, found, None, answer);
        });
        let found = receiver.recv_timeout(deadline.left().unwrap_or(Duration::MAX));
        found.map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                Error::new(Code::DeadlineExceeded, "the deadline passed before there was a result")
            }
            RecvTimeoutError::Disconnected => {
                Error::new(Code::Internal, "the search ended in an internal error")
            }
        })
    })
}

fn unanswered() -> Error {
    Error::new(Code::Internal, "the search ended in an internal error")
}
