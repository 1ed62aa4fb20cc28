//! Sequences as they are written down, and brought back after a restart.

use super::ended::Ending;
use super::entry::Entry;
use super::{Ids, Job, Table, Ticket, Weight};
use crate::SequenceId;
use std::time::Duration;

/// A live sequence as it is written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Image<S, A> {
    /// Steps done.
    pub step: u64,
    /// What the last one left.
    pub state: S,
    /// Answers of the last numbered steps, oldest first.
    pub answers: Vec<(u64, A)>,
    /// The client's name of the START.
    pub request: String,
    /// Whether the table chose the id.
    pub auto: bool,
    /// When it began.
    pub began: Duration,
    /// When its last step succeeded.
    pub touched: Duration,
}

/// The last answer of a sequence that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended<A> {
    /// The number of the step.
    pub step: u64,
    /// The client's name of the END.
    pub request: String,
    /// The client's name of the START by which a repetition finds the id; may be empty.
    pub start: String,
    /// The answer.
    pub answer: A,
}

impl<J: Job, S: Clone + Weight, A: Clone + Weight> Table<J, S, A> {
    /// Whether the run of this ticket still counts: its sequence was not ended meanwhile.
    pub fn runs(&self, ticket: &Ticket) -> bool {
        let running = self.entries.get(&ticket.id).and_then(|e| e.running.as_ref());
        running.is_some_and(|r| r.serial == ticket.serial)
    }

    /// The ids of all live sequences, in no order.
    pub fn ids(&self) -> impl Iterator<Item = &SequenceId> {
        self.entries.keys()
    }

    /// A live sequence as its last step left it; none while its START runs.
    pub fn image(&self, id: &SequenceId) -> Option<Image<S, A>> {
        let entry = self.entries.get(id)?;
        Some(Image {
            step: entry.step,
            state: entry.state.clone()?,
            answers: entry.answers.iter().cloned().collect(),
            request: entry.request.clone(),
            auto: entry.auto,
            began: entry.began,
            touched: entry.touched,
        })
    }

    /// The steps done and the beginning of a live sequence in which nothing runs: while both stay as they are, so
    /// does its state.
    pub fn at_rest(&self, id: &SequenceId) -> Option<(u64, Duration)> {
        let entry = self.entries.get(id).filter(|e| e.running.is_none())?;
        Some((entry.step, entry.began))
    }

    /// The ids of live sequences whose last step was not before `since`.
    pub fn touched(&mut self, since: Duration) -> impl Iterator<Item = &SequenceId> {
        self.order();
        self.ages.range((since, 0)..).map(|(_, id)| id)
    }

    /// Sequences that have ended and whose last answer is kept, with the time at which it is forgotten.
    pub fn endings(&self) -> impl Iterator<Item = (&SequenceId, Duration, Ended<A>)> {
        self.ended.all()
    }

    /// Brings a sequence back, whatever the limits say. One of this id that lives is left alone.
    pub fn restore(&mut self, id: SequenceId, image: Image<S, A>, now: Duration) {
        if self.contains(&id) {
            return;
        }
        self.serial += 1;
        let mut entry = Entry::new(image.touched.min(now), self.serial);
        let over = image.answers.len().saturating_sub(self.limits.replay_depth);
        entry.answers = image.answers.into_iter().skip(over).collect();
        let answers: u64 = entry.answers.iter().map(|(_, a)| a.bytes()).sum();
        entry.bytes = image.state.bytes() + answers;
        (entry.step, entry.state) = (image.step, Some(image.state));
        entry.began = image.began.min(now);
        (entry.auto, entry.request) = (image.auto, image.request);
        if entry.auto && !entry.request.is_empty() {
            self.requests.insert(entry.request.clone(), id.clone());
        }
        self.pass(&id, entry.auto);
        self.bytes += entry.bytes;
        self.ages.insert(entry.age, id.clone());
        self.entries.insert(id, entry);
    }

    /// Brings the last answer of a sequence back that ended at `at`.
    pub fn restore_ended(&mut self, id: SequenceId, ended: Ended<A>, at: Duration, now: Duration) {
        let expires = at.saturating_add(self.limits.ended_ttl);
        if self.contains(&id) || expires <= now || self.limits.replay_depth == 0 {
            return;
        }
        self.serial += 1;
        let Ended { step, request, start, answer } = ended;
        let auto = (!start.is_empty()).then_some(start);
        if let Some(start) = &auto {
            self.requests.insert(start.clone(), id.clone());
        }
        self.pass(&id, auto.is_some());
        let bytes = answer.bytes();
        let ending = Ending { id, step, request, answer, bytes, auto };
        let requests = &mut self.requests;
        let forget = |name: String| drop(requests.remove(&name));
        self.ended.keep(ending, self.serial, &self.limits, at.min(now), forget);
    }

    /// A counter goes on behind the ids that it has given.
    fn pass(&mut self, id: &SequenceId, auto: bool) {
        if let (true, Ids::Counter, SequenceId::Number(n)) = (auto, &self.ids, id) {
            self.counter = self.counter.max(*n);
        }
    }
}
