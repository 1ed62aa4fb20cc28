//! Who waits for an operation, until everything that came of it is done.

use std::sync::{Arc, Mutex, PoisonError};

use stead_python::Deadline;
use stead_store::Outcome;

use super::Processing;
use crate::{Code, Deployments, Error};

type Done = Box<dyn FnOnce(Result<Outcome, Error>) + Send>;

/// An operation that was fed, whatever its processors have made of it.
pub(super) struct Ticket {
    pub(super) processing: Arc<Processing>,
    /// Where its operations are done.
    pub(super) deployments: Arc<Deployments>,
    /// When its processors must have ended.
    pub(super) deadline: Deadline,
    /// The id of its document.
    document: String,
    state: Mutex<State>,
}

struct State {
    /// Parts that are not yet done: operations, and calls of processors that it is in.
    open: usize,
    /// What became of the operation with its own document.
    outcome: Option<Outcome>,
    error: Option<Error>,
    /// Gone when it was called.
    done: Option<Done>,
}

impl Ticket {
    /// One with one part that is open.
    pub(super) fn new(
        processing: Arc<Processing>,
        deployments: Arc<Deployments>,
        deadline: Deadline,
        document: String,
        done: Done,
    ) -> Arc<Ticket> {
        let state = State { open: 1, outcome: None, error: None, done: Some(done) };
        let state = Mutex::new(state);
        Arc::new(Ticket { processing, deployments, deadline, document, state })
    }

    /// Another part has begun.
    pub(super) fn open(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open += 1;
    }

    /// A part has ended. The first error is that of all; nothing of a part that ended well is taken back.
    pub(super) fn close(&self, ended: Result<Option<Outcome>, Error>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match ended {
            Ok(Some(outcome)) if state.outcome != Some(Outcome::ConditionFailed) => {
                state.outcome = Some(outcome);
            }
            Ok(_) => {}
            Err(error) => {
                state.error.get_or_insert(error);
            }
        }
        state.open = state.open.saturating_sub(1);
        if state.open > 0 {
            return;
        }
        let (done, outcome) = (state.done.take(), state.outcome.take());
        let answer = match state.error.take() {
            Some(error) => Err(error),
            // What was dropped, or became operations with other documents, is done.
            None => Ok(outcome.unwrap_or(Outcome::Applied)),
        };
        drop(state);
        if let Some(done) = done {
            done(answer);
        }
    }

    /// What became of an operation with a document has been found.
    pub(super) fn stored(&self, document: &str, ended: Result<Outcome, Error>) {
        self.close(match ended {
            Ok(outcome) if document == self.document => Ok(Some(outcome)),
            Ok(Outcome::ConditionFailed) => {
                let text = format!("Condition did not match document nr 0 with id {document}");
                Err(Error::new(Code::FailedPrecondition, text))
            }
            Ok(_) => Ok(None),
            Err(error) => Err(error),
        });
    }
}
