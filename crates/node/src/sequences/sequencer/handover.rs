//! A step meets the word of the log that its record is durable, whichever comes first.

use super::{Ran, Sequencer};
use std::sync::{Arc, Mutex, PoisonError};
use stead_log::LogError;

enum Meet {
    Nobody,
    Step(Box<Ran>),
    Word(Result<(), LogError>),
}

/// Where a step waits for the log. Neither side waits for the other: who comes second goes on.
pub(super) struct Handover {
    sequencer: Arc<Sequencer>,
    meet: Mutex<Meet>,
}

/// The log's side. Dropping it without a word tells that the log was closed, so that no sequence waits for ever.
pub(super) struct Promise(Option<Arc<Handover>>);

impl Handover {
    pub(super) fn new(sequencer: &Arc<Sequencer>) -> (Arc<Handover>, Promise) {
        let meet = Mutex::new(Meet::Nobody);
        let handover = Arc::new(Handover { sequencer: Arc::clone(sequencer), meet });
        (Arc::clone(&handover), Promise(Some(handover)))
    }

    /// The step is ready to be concluded.
    pub(super) fn step(&self, ran: Ran) {
        let mut meet = self.meet.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *meet, Meet::Nobody) {
            Meet::Word(word) => {
                drop(meet);
                self.sequencer.concluded(ran, word);
            }
            _ => *meet = Meet::Step(Box::new(ran)),
        }
    }

    fn word(&self, word: Result<(), LogError>) {
        let mut meet = self.meet.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *meet, Meet::Nobody) {
            Meet::Step(ran) => {
                drop(meet);
                self.sequencer.concluded(*ran, word);
            }
            _ => *meet = Meet::Word(word),
        }
    }
}

impl Promise {
    /// The log has spoken.
    pub(super) fn keep(mut self, word: Result<u64, LogError>) {
        if let Some(handover) = self.0.take() {
            handover.word(word.map(drop));
        }
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        if let Some(handover) = self.0.take() {
            handover.word(Err(LogError::Closed));
        }
    }
}
