//! Sequences that are listed, ended, copied, taken out and brought in from outside.

use super::{Due, Sequencer, Work, others};
use crate::sequences::durable::Durable;
use crate::sequences::state::Stored;
use crate::{Error, ErrorKind};
use std::sync::Arc;
use stead_sequence::{SequenceError, SequenceId, Summary};
use stead_tensor::Tensor;

impl Sequencer {
    /// Up to `limit` sequences behind `after`.
    pub(crate) fn list(&self, after: Option<&SequenceId>, limit: usize) -> Vec<Summary> {
        self.lock().list(after, limit, self.now())
    }

    /// What is known of one sequence.
    pub(crate) fn summary(&self, id: &SequenceId) -> Option<Summary> {
        self.lock().summary(id, self.now())
    }

    /// Ends a sequence.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`] when there is none.
    pub(crate) fn end(self: &Arc<Self>, id: &SequenceId) -> Result<(), Error> {
        let mut due = Due::default();
        {
            let mut table = self.lock();
            table.remove(id, self.now(), &mut due.next).map_err(ErrorKind::Sequence)?;
            self.durable.iter().for_each(|log| log.gone(id, self.now()));
        }
        self.go_on(&mut due);
        self.flush()
    }

    /// Copies the state of a sequence to a new one.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`]: there is no such sequence, there is one of the new id, or the table is full.
    pub(crate) fn fork(&self, from: &SequenceId, to: SequenceId) -> Result<u64, Error> {
        let (step, state) = self.lock().state(from).map_err(ErrorKind::Sequence)?;
        self.insert(to, step, state)?;
        self.flush()?;
        Ok(step)
    }

    /// Adds a sequence that was made elsewhere.
    fn insert(&self, id: SequenceId, step: u64, state: Stored) -> Result<(), Error> {
        let others = self.others();
        let (mut table, mut others) = others.lock(self);
        // What has expired is recorded; nothing waits for it.
        drop(others::expire(&mut others));
        if others.iter().any(|o| o.shared && o.table.contains(&id)) {
            return Err(ErrorKind::Sequence(SequenceError::AlreadyExists).into());
        }
        table.insert(id.clone(), step, state, self.now()).map_err(ErrorKind::Sequence)?;
        self.note_new(&table, &id).map_err(|error| {
            // Nothing can wait for a sequence that did not exist a moment ago.
            drop(table.remove(&id, self.now(), &mut Vec::new()));
            self.log_failed(&error)
        })?;
        // Only kept answers are left to be ceded, for which nothing waits.
        drop(others::cede(&mut others, &id));
        Ok(())
    }

    /// Waits until what was recorded is durable, where that is promised.
    fn flush(&self) -> Result<(), Error> {
        self.durable.as_ref().map_or(Ok(()), Durable::flush).map_err(|e| self.log_failed(&e))
    }

    /// The steps done and the named values of a sequence's state.
    ///
    /// # Errors
    /// [`ErrorKind::Sequence`] when there is none.
    pub(crate) fn export(&self, id: &SequenceId) -> Result<(u64, Vec<(String, Tensor)>), Error> {
        let (step, state) = self.lock().state(id).map_err(ErrorKind::Sequence)?;
        let names: Vec<String> = match &self.work {
            Work::Model { layout, .. } => layout.names().map(str::to_owned).collect(),
            Work::Pipeline(joint) => joint.names(),
        };
        let state = state.load().map_err(|text| self.state_lost(text))?;
        let named = names.into_iter().zip(state.0.iter());
        Ok((step, named.filter_map(|(n, v)| Some((n, v.clone()?))).collect()))
    }

    /// Begins a sequence with values that were exported.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when they do not suit the model, and as [`Sequencer::fork`].
    pub(crate) fn import(
        &self,
        id: SequenceId,
        step: u64,
        values: Vec<(String, Tensor)>,
    ) -> Result<(), Error> {
        let state = match &self.work {
            Work::Model { layout, .. } => layout.state_of(values)?,
            Work::Pipeline(joint) => joint.state_of(values)?,
        };
        self.insert(id, step, Stored::Here(state))?;
        self.flush()
    }
}
