//! Operations with documents, through document processors and past them.

use std::sync::Arc;

use stead_store::{Operation, Outcome};

use super::{Deployed, Deployments, WhenBusy};
use crate::components::{Fed, Feeding};
use crate::meters::Meter;
use crate::{Code, Error};

impl Deployments {
    /// Feeds an operation: it goes through the document processors of an application, and what comes out is done, in its order. `done`
    /// is called once, when all of that is durable and the next search sees it. When a processor fails nothing is done.
    ///
    /// # Errors
    /// As [`Deployments::submit`] where the application has no processors for it. [`Code::InvalidArgument`] for updates that processors
    /// cannot see.
    pub fn feed(
        self: &Arc<Self>,
        deployed: &Deployed,
        fed: Fed,
        how: Feeding,
        done: impl FnOnce(Result<Outcome, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let document = fed.operation.document.as_str();
        let processing = deployed.components.as_ref();
        match processing.and_then(|of| of.processing(document, how.route)) {
            Some(processing) => {
                let meters = Arc::clone(&self.meters);
                processing.feed(self, fed, how, move |outcome| {
                    let is_refused = |error: &Error| error.code == Code::Overloaded;
                    if outcome.as_ref().is_err_and(is_refused) {
                        meters.record(&[(Meter::FeedRefused, 1.0)]);
                    }
                    done(outcome);
                })
            }
            None => {
                // The id names its type.
                let kind = document.split(':').nth(2).unwrap_or_default().to_owned();
                self.submit(&kind, fed.operation, how.when_busy, done)
            }
        }
    }

    /// Does an operation with a document of a type as it is, past document processors. `done` is called once, when it is durable and
    /// the next search sees it.
    ///
    /// # Errors
    /// [`Code::Overloaded`] when too many are not yet done, unless the operation [waits](WhenBusy::Wait); [`Code::Unavailable`] while an
    /// application is being activated; types that are not there; and what the disk refuses.
    pub fn submit(
        &self,
        kind: &str,
        operation: Operation,
        when_busy: WhenBusy,
        done: impl FnOnce(Result<Outcome, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let submitted = self.documents.submit(kind, operation, when_busy, self.counted(done));
        if submitted.as_ref().is_err_and(|error| error.code == Code::Overloaded) {
            self.meters.record(&[(Meter::FeedRefused, 1.0)]);
        }
        submitted
    }
}
