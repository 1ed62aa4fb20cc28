//! The answer of a submitted task.

use std::any::Any;
use std::sync::mpsc;

/// Why a task has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// The task panicked with this message.
    #[error("task panicked: {0}")]
    Panicked(String),
    /// The pool was shut down before the task was queued.
    #[error("the pool is shut down")]
    Closed,
}

/// A claim on the answer of a task. Dropping it does not stop the task.
#[derive(Debug)]
pub struct Ticket<R> {
    pub(crate) answer: mpsc::Receiver<Result<R, TaskError>>,
}

impl<R> Ticket<R> {
    /// Blocks until the task has run. Never call it on a worker: the task may be waiting for that worker.
    ///
    /// # Errors
    /// [`TaskError`].
    pub fn wait(self) -> Result<R, TaskError> {
        self.answer.recv().unwrap_or(Err(TaskError::Closed))
    }
}

/// The text of a panic's payload.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "panic without a message".to_owned()
    }
}
