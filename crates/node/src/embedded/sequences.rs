//! Looking after the sequences of stateful models.

use stead_sequence::{SequenceError, SequenceId, Summary as SequenceSummary};
use stead_tensor::Tensor;

use super::Embedded;
use crate::{Error, ErrorKind, VersionRef};

impl Embedded {
    /// Up to `limit` live sequences of a stateful model, in the order of their ids, behind `after`; also those that
    /// a version replaced by another one still finishes.
    ///
    /// # Errors
    /// The errors of lookup, and [`ErrorKind::NotStateful`].
    pub fn sequences(
        &self,
        model: &str,
        version: &VersionRef,
        after: Option<&SequenceId>,
        limit: usize,
    ) -> Result<Vec<SequenceSummary>, Error> {
        let mut all = Vec::new();
        for instance in self.repository.find_holders(model, version)? {
            all.extend(instance.sequences()?.list(after, limit));
        }
        all.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        all.truncate(limit);
        Ok(all)
    }

    /// What is known of one sequence.
    ///
    /// # Errors
    /// As [`Embedded::sequences`], and [`ErrorKind::Sequence`] when it does not live.
    pub fn sequence(
        &self,
        model: &str,
        version: &VersionRef,
        id: &SequenceId,
    ) -> Result<SequenceSummary, Error> {
        let instance = self.repository.find_holder(model, version, id)?;
        let summary = instance.sequences()?.summary(id);
        summary.ok_or_else(|| ErrorKind::Sequence(SequenceError::Missing).into())
    }

    /// Ends a sequence at once. A step of it that runs has no effect.
    ///
    /// # Errors
    /// As [`Embedded::sequence`].
    pub fn end_sequence(
        &self,
        model: &str,
        version: &VersionRef,
        id: &SequenceId,
    ) -> Result<(), Error> {
        self.repository.find_holder(model, version, id)?.sequences()?.end(id)
    }

    /// Begins a sequence with a copy of another one's state. Gives the number of its last step.
    ///
    /// # Errors
    /// As [`Embedded::sequence`]; also when `to` lives already or the table is full.
    pub fn fork_sequence(
        &self,
        model: &str,
        version: &VersionRef,
        from: &SequenceId,
        to: SequenceId,
    ) -> Result<u64, Error> {
        self.repository.find_holder(model, version, from)?.sequences()?.fork(from, to)
    }

    /// The number of the last step of a sequence, and the values that it left, by name.
    ///
    /// # Errors
    /// As [`Embedded::sequence`].
    pub fn export_sequence(
        &self,
        model: &str,
        version: &VersionRef,
        id: &SequenceId,
    ) -> Result<(u64, Vec<(String, Tensor)>), Error> {
        self.repository.find_holder(model, version, id)?.sequences()?.export(id)
    }

    /// Begins a sequence after step `step` with values that [`Embedded::export_sequence`] gave.
    ///
    /// # Errors
    /// As [`Embedded::fork_sequence`]; also when the values do not suit the model.
    pub fn import_sequence(
        &self,
        model: &str,
        version: &VersionRef,
        id: SequenceId,
        step: u64,
        values: Vec<(String, Tensor)>,
    ) -> Result<(), Error> {
        self.repository.find(model, version)?.sequences()?.import(id, step, values)
    }

    /// One scan for idle sequences, beside those that come by themselves.
    pub fn scan_sequences(&self) {
        self.cleaner.scan();
    }
}
