//! Answers for several texts, for one who waits for all of them.

use std::sync::{Arc, Mutex, PoisonError};

use super::embedding::Embedding;
use crate::{Code, Error};

/// What is known of a text.
pub(super) type Found = Result<Arc<Embedding>, Error>;

/// Who is told when all is known.
type Done = Box<dyn FnOnce(Vec<Found>) + Send>;

/// The answers so far. Who waits is told when the last slot is gone, filled or not: nothing that goes wrong leaves it waiting.
pub(super) struct Gather(Mutex<(Vec<Option<Found>>, Option<Done>)>);

/// The place of one answer.
pub(super) struct Slot {
    of: Arc<Gather>,
    at: usize,
}

/// Slots for so many texts.
pub(super) fn slots(count: usize, done: impl FnOnce(Vec<Found>) + Send + 'static) -> Vec<Slot> {
    let of = Arc::new(Gather(Mutex::new((vec![None; count], Some(Box::new(done))))));
    (0..count).map(|at| Slot { of: Arc::clone(&of), at }).collect()
}

impl Slot {
    /// Answers.
    pub(super) fn fill(self, found: Found) {
        let mut answers = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = answers.0.get_mut(self.at) {
            *slot = Some(found);
        }
    }
}

impl Drop for Gather {
    fn drop(&mut self) {
        let (answers, done) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let lost = || Err(Error::new(Code::Internal, "embedding ended in an internal error"));
        let answers = std::mem::take(answers).into_iter().map(|one| one.unwrap_or_else(lost));
        if let Some(done) = done.take() {
            done(answers.collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::embedders::embedding::Vectors;

    #[test]
    fn who_waits_is_told_once_of_all() {
        let (sender, answers) = channel();
        let mut slots = slots(3, move |found| sender.send(found).unwrap());
        let one = Arc::new(Embedding { tokens: 7, vectors: Vectors::Ids(Vec::new()) });
        slots.pop().unwrap().fill(Ok(one));
        drop(slots.pop());
        assert!(answers.try_recv().is_err());
        slots.pop().unwrap().fill(Err(Error::new(Code::InvalidArgument, "first")));
        let found = answers.recv().unwrap();
        let texts: Vec<String> = found
            .into_iter()
            .map(|one| one.map_or_else(|e| e.to_string(), |found| found.tokens.to_string()))
            .collect();
        assert_eq!(texts, ["first", "embedding ended in an internal error", "7"]);
        assert!(answers.recv().is_err());
    }
}
