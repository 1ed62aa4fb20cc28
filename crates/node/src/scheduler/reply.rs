//! Who waits for the answer of a job.

use super::Answer;
use crate::sequences::StepReply;
use tokio::sync::oneshot;

/// Who waits for the answer of a job.
pub(crate) enum Reply {
    /// A client.
    Client(oneshot::Sender<Answer>),
    /// A sequence, whose state changes first.
    Step(StepReply),
}

impl Reply {
    /// Whether nobody waits any more.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Reply::Client(sender) => sender.is_closed(),
            Reply::Step(reply) => reply.is_closed(),
        }
    }

    /// Gives the answer.
    pub(crate) fn send(self, answer: Answer) {
        match self {
            // A client that has gone away needs none.
            Reply::Client(sender) => drop(sender.send(answer)),
            Reply::Step(reply) => reply.send(answer),
        }
    }
}
