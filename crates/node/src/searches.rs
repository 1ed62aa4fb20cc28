//! Searches of the documents of the application that is served.

use std::sync::Arc;
use std::sync::atomic::Ordering;

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
        if self.draining.load(Ordering::SeqCst) {
            return Err(ErrorKind::ShuttingDown.into());
        }
        let active = self.deployments().and_then(|deployments| deployments.active());
        let active = active
            .ok_or_else(|| Error::new(Code::Unavailable, "no application is deployed here yet"))?;
        let (sender, receiver) = oneshot::channel();
        let pool = Arc::clone(&self.pool);
        let run = move |_: &_| {
            // Whoever asked may have gone.
            let _ = sender.send(active.search(parameters, &Lent(pool.team(usize::MAX))));
        };
        let closed = || Error::from(ErrorKind::ShuttingDown);
        self.pool.spawn(Priority::Normal, None, run).map_err(|_| closed())?;
        let failed = |_| Error::new(Code::Internal, "the search ended in an internal error");
        receiver.await.map_err(failed)
    }
}
