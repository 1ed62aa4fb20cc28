//! Steps that run somewhere else, and how they come back.

use super::{Sequencer, Step};
use crate::scheduler::Answer;
use crate::sequences::state::State;
use crate::{Error, ErrorKind};
use std::sync::Arc;
use stead_sequence::{Origin, Ticket};
use stead_tensor::Tensor;

/// The outputs that the client wants, in the order of their names, and the state for the next step.
pub(crate) type Done = Result<(Vec<Tensor>, State), Error>;

/// The right to run one step of a pipeline, and the duty to end it.
pub(crate) struct Turn {
    /// What the step before left; none for a START.
    pub(crate) state: Option<State>,
    pub(super) reply: StepReply,
}

impl Turn {
    /// Ends the step: all states change, or none. Dropping the turn changes none.
    pub(crate) fn end(mut self, done: Done) {
        if let Some(pending) = self.reply.pending.take() {
            self.reply.sequencer.finish(pending, done);
        }
    }
}

/// What is known of a step while it runs.
pub(super) struct Pending {
    pub(super) ticket: Ticket,
    /// The number of the step, from 1.
    pub(super) number: u64,
    pub(super) end: bool,
    pub(super) origin: Origin,
    pub(super) step: Box<Step>,
    pub(super) windows: Vec<Tensor>,
}

/// The obligation to end a step. Dropping it ends the step as failed, so that no sequence waits for ever for
/// a run that was lost.
pub(crate) struct StepReply {
    pub(super) sequencer: Arc<Sequencer>,
    pub(super) pending: Option<Pending>,
}

impl StepReply {
    /// Whether the client has gone away.
    pub(crate) fn is_closed(&self) -> bool {
        self.pending.as_ref().is_none_or(|p| p.step.client.is_closed())
    }

    /// Ends the step.
    pub(crate) fn send(mut self, answer: Answer) {
        if let Some(mut pending) = self.pending.take() {
            let done = self.sequencer.split(&mut pending, answer);
            self.sequencer.finish(pending, done);
        }
    }
}

impl Drop for StepReply {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.sequencer.finish(pending, Err(ErrorKind::ShuttingDown.into()));
        }
    }
}
