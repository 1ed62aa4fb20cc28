//! Searches of the documents of the application that is served.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use stead_pool::Priority;
use stead_search::request::Format;
use stead_search::result::SearchResult;
use tokio::sync::oneshot;

use crate::embedded::{Embedded, Inside};
use crate::evaluate::Lent;
use crate::{Code, Error, ErrorKind};

impl Embedded {
    /// Answers a search from its parameters, decoded; the form is that which they ask for. What is wrong with the search
    /// itself is part of its result.
    ///
    /// # Errors
    /// [`Code::Unavailable`] where no application is active; [`ErrorKind::ShuttingDown`].
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
        let (pool, begin) = (Arc::clone(&self.pool), Instant::now());
        let run = move |_: &_| {
            let found = active.search(parameters, &Lent(pool.team(usize::MAX)));
            deployments.count_search(&found.0, begin.elapsed());
            answer(found);
        };
        let closed = |_| Error::from(ErrorKind::ShuttingDown);
        self.pool.spawn(Priority::Normal, None, run).map_err(closed)
    }
}

fn unanswered() -> Error {
    Error::new(Code::Internal, "the search ended in an internal error")
}
