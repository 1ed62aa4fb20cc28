//! What a model writes into the log of states.

use super::Layout;
use super::state::{Kept, State, Stored};
use crate::states::States;
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use stead_app::Durability;
use stead_log::LogError;
use stead_sequence::durable::{Alive, Ending, Event, Record, Sequences, encode, fingerprint};
use stead_sequence::{Ended, Image, Origin, SequenceId};

/// A model's part of the log of states.
pub(crate) struct Durable {
    states: Arc<States>,
    pub(super) mode: Durability,
    model: Arc<str>,
    version: u64,
    pub(super) fingerprint: u64,
    /// Sequences whose next record is to hold all their answers, since the log is being written anew.
    whole: Mutex<HashSet<SequenceId>>,
}

impl Durable {
    pub(crate) fn new(
        states: Arc<States>,
        mode: Durability,
        model: &str,
        version: u64,
        fingerprint: u64,
    ) -> Durable {
        let whole = Mutex::default();
        Durable { states, mode, model: model.into(), version, fingerprint, whole }
    }

    /// The sequences that the log tells of: those that fit the model, and the others.
    pub(super) fn claim(&self) -> (Sequences, Sequences) {
        self.states.claim(&self.model, self.version, self.fingerprint)
    }

    pub(super) fn every_step(&self) -> bool {
        self.mode == Durability::EveryStep
    }

    pub(super) fn whole(&self) -> MutexGuard<'_, HashSet<SequenceId>> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of a record.
    pub(super) fn record(&self, id: &SequenceId, at: Duration, event: Event) -> Vec<u8> {
        encode(&Record {
            model: Arc::clone(&self.model),
            version: self.version,
            fingerprint: self.fingerprint,
            id: id.clone(),
            at: millis(at),
            event,
        })
    }

    /// Appends a record that is answered by `on_durable`.
    ///
    /// # Errors
    /// [`LogError`].
    pub(super) fn append(
        &self,
        bytes: Vec<u8>,
        on_durable: impl FnOnce(Result<u64, LogError>) + Send + 'static,
    ) -> Result<(), LogError> {
        self.states.append(bytes, on_durable).map(drop)
    }

    /// Appends the end of a sequence, for which nobody waits. If it is lost, the sequence comes back and ends again.
    pub(super) fn gone(&self, id: &SequenceId, at: Duration) {
        drop(self.append(self.record(id, at, Event::Gone), |_| {}));
    }

    /// Waits until everything that was appended is durable, if the model promises that.
    ///
    /// # Errors
    /// [`LogError`].
    pub(super) fn flush(&self) -> Result<(), LogError> {
        if self.every_step() { self.states.flush().map(drop) } else { Ok(()) }
    }
}

/// What a step that ends its sequence leaves; `kept` says whether answers are kept at all.
pub(super) fn ending(step: u64, origin: &Origin, answer: &Kept, kept: bool) -> Event {
    Event::Ended((origin.numbered && kept).then(|| Ending {
        step,
        request: origin.request.clone(),
        start: if origin.auto { origin.start.clone() } else { String::new() },
        answer: Arc::clone(&answer.0),
    }))
}

/// The kept answer of a sequence that has ended.
pub(super) fn ended(ended: Ended<Kept>) -> Event {
    let Ended { step, request, start, answer } = ended;
    Event::Ended(Some(Ending { step, request, start, answer: answer.0 }))
}

/// What a step leaves that does not end its sequence. `all` are the answers of earlier steps, for a record that
/// needs none before it.
pub(super) fn alive(
    step: u64,
    origin: &Origin,
    now: Duration,
    state: &State,
    answer: &Kept,
    all: Option<Vec<(u64, Kept)>>,
    keep: usize,
) -> Event {
    let fresh = origin.began.is_none() || all.is_some();
    let earlier = all.filter(|_| origin.began.is_some()).unwrap_or_default();
    let own = origin.numbered.then(|| (step, answer.clone()));
    Event::Alive(Alive {
        step,
        began: millis(origin.began.unwrap_or(now)),
        request: origin.start.clone(),
        auto: origin.auto,
        fresh,
        keep: u32::try_from(keep).unwrap_or(u32::MAX),
        answers: earlier.into_iter().chain(own).map(|(n, a)| (n, a.0)).collect(),
        state: Arc::clone(&state.0),
    })
}

/// A live sequence as a whole.
pub(super) fn whole(image: Image<Stored, Kept>, state: State, keep: usize) -> Event {
    Event::Alive(Alive {
        step: image.step,
        began: millis(image.began),
        request: image.request,
        auto: image.auto,
        fresh: true,
        keep: u32::try_from(keep).unwrap_or(u32::MAX),
        answers: image.answers.into_iter().map(|(n, a)| (n, a.0)).collect(),
        state: state.0,
    })
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What makes a model the one that it is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    /// The bytes of its file, and of the one beside it that has its constants.
    File(&'a Path),
    /// What it says of itself.
    Known(&'a str),
}

/// The number that tells models apart whose states cannot be exchanged: by the form of the states, and by the content of the model.
///
/// # Errors
/// In words, when the file cannot be read.
pub(crate) fn fingerprint_of(layout: &Layout, content: Content<'_>) -> Result<u64, String> {
    let own = match content {
        Content::File(file) => {
            let mut all = Vec::new();
            for file in stead_formats::files(file) {
                let bytes =
                    std::fs::read(file).map_err(|e| format!("the model's file: {}", e.kind()))?;
                all.push(format!("{} {:08x}", bytes.len(), crc32c::crc32c(&bytes)));
            }
            all.join(" ")
        }
        Content::Known(content) => content.to_owned(),
    };
    Ok(fingerprint(layout.identity().into_iter().chain([own])))
}
