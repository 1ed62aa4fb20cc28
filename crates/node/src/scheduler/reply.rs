//! Who waits for the answer of a job.

use super::Answer;
use crate::ErrorKind;
use crate::sequences::StepReply;
use tokio::sync::{mpsc, oneshot};

/// Who waits for the answer of a job.
pub(crate) enum Reply {
    /// A client.
    Client(oneshot::Sender<Answer>),
    /// A sequence, whose state changes first.
    Step(StepReply),
    /// A pipeline, of which this is one of several runs.
    Part(PartReply),
}

/// Where the results of a pipeline's runs come together.
pub(crate) struct PartReply {
    /// Which of the runs it is.
    part: usize,
    results: Option<mpsc::UnboundedSender<(usize, Answer)>>,
}

impl PartReply {
    pub(crate) fn new(part: usize, results: &mpsc::UnboundedSender<(usize, Answer)>) -> PartReply {
        PartReply { part, results: Some(results.clone()) }
    }

    fn send(&mut self, answer: Answer) {
        if let Some(results) = self.results.take() {
            // A pipeline that has failed elsewhere needs no more results.
            drop(results.send((self.part, answer)));
        }
    }
}

impl Drop for PartReply {
    fn drop(&mut self) {
        // Nobody may wait for ever for a run that was lost.
        self.send(Err(ErrorKind::ShuttingDown.into()));
    }
}

impl Reply {
    /// Whether nobody waits any more.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Reply::Client(sender) => sender.is_closed(),
            Reply::Step(reply) => reply.is_closed(),
            Reply::Part(reply) => reply.results.as_ref().is_none_or(|r| r.is_closed()),
        }
    }

    /// Gives the answer.
    pub(crate) fn send(self, answer: Answer) {
        match self {
            // A client that has gone away needs none.
            Reply::Client(sender) => drop(sender.send(answer)),
            Reply::Step(reply) => reply.send(answer),
            Reply::Part(mut reply) => reply.send(answer),
        }
    }
}
