//! Answers of the last steps of sequences that have ended, for clients that missed them.

use super::Limits;
use super::entry::same_request;
use crate::{Order, SequenceError, SequenceId};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

struct Last<A> {
    /// Tells it from a later sequence of the same id.
    serial: u64,
    step: u64,
    request: String,
    answer: A,
    bytes: u64,
    /// The name of the START by which a repetition finds the id.
    auto: Option<String>,
}

/// What ended lately, oldest first.
pub(super) struct Endings<A> {
    last: HashMap<SequenceId, Last<A>>,
    order: VecDeque<(Duration, SequenceId, u64)>,
    bytes: u64,
}

impl<A> Default for Endings<A> {
    fn default() -> Self {
        Endings { last: HashMap::new(), order: VecDeque::new(), bytes: 0 }
    }
}

/// A sequence that ended with a numbered step.
pub(super) struct Ending<A> {
    pub(super) id: SequenceId,
    pub(super) step: u64,
    pub(super) request: String,
    pub(super) answer: A,
    pub(super) bytes: u64,
    pub(super) auto: Option<String>,
}

impl<A: Clone> Endings<A> {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Keeps an answer. `forget` is told the names of STARTs that need not be found any more.
    pub(super) fn keep(
        &mut self,
        ending: Ending<A>,
        serial: u64,
        limits: &Limits,
        now: Duration,
        forget: impl FnMut(String),
    ) {
        let Ending { id, step, request, answer, bytes, auto } = ending;
        self.bytes += bytes;
        self.order.push_back((now.saturating_add(limits.ended_ttl), id.clone(), serial));
        let last = Last { serial, step, request, answer, bytes, auto };
        if let Some(before) = self.last.insert(id, last) {
            self.bytes -= before.bytes;
        }
        self.purge(limits, now, forget);
    }

    /// What is kept: the sequence, when it is forgotten, step, request, answer and the name of the START.
    pub(super) fn all(&self) -> impl Iterator<Item = (&SequenceId, Duration, super::Ended<A>)> {
        self.order.iter().filter_map(|(expires, id, serial)| {
            let last = self.last.get(id).filter(|last| last.serial == *serial)?;
            let (request, start) = (last.request.clone(), last.auto.clone().unwrap_or_default());
            let ended =
                super::Ended { step: last.step, request, start, answer: last.answer.clone() };
            Some((id, *expires, ended))
        })
    }

    /// Forgets what is too old, or too much.
    pub(super) fn purge(&mut self, limits: &Limits, now: Duration, mut forget: impl FnMut(String)) {
        while let Some((expires, id, serial)) = self.order.front() {
            if *expires > now && self.bytes <= limits.ended_bytes {
                return;
            }
            let (id, serial) = (id.clone(), *serial);
            self.order.pop_front();
            if self.last.get(&id).is_some_and(|last| last.serial == serial) {
                self.remove(&id, &mut forget);
            }
        }
    }

    /// Forgets the answer of a sequence whose id has begun anew.
    pub(super) fn remove(&mut self, id: &SequenceId, forget: impl FnMut(String)) {
        if let Some(last) = self.last.remove(id) {
            self.bytes -= last.bytes;
            last.auto.into_iter().for_each(forget);
        }
    }

    /// What a numbered request for a sequence that has ended gets; nothing when it begins a new one.
    pub(super) fn replay(
        &self,
        id: &SequenceId,
        order: &Order,
    ) -> Option<Result<(u64, A), SequenceError>> {
        let (given, last) = (order.step?, self.last.get(id)?);
        let same = same_request(&last.request, &order.request);
        match given.cmp(&last.step) {
            std::cmp::Ordering::Equal if order.end && same && order.start == (last.step == 1) => {
                Some(Ok((last.step, last.answer.clone())))
            }
            std::cmp::Ordering::Less if !order.start => Some(Err(SequenceError::NotKept {
                given,
                oldest: Some(last.step),
                last: last.step,
            })),
            _ => None,
        }
    }
}
