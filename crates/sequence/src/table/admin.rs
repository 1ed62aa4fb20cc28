//! Looking at a table and changing it from outside the flow of requests.

use super::entry::Entry;
use super::{Counters, Job, Limits, Next, Table, Weight};
use crate::{SequenceError, SequenceId};
use std::ops::Bound;
use std::time::Duration;

/// A place in the order of the last steps. The default is before all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Age((Duration, u64));

/// What is known of one sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its id.
    pub id: SequenceId,
    /// Steps done.
    pub step: u64,
    /// Bytes of its state and of the answers that it keeps.
    pub bytes: u64,
    /// Since it began.
    pub age: Duration,
    /// Since its last successful step.
    pub idle: Duration,
    /// Whether a step runs.
    pub busy: bool,
    /// Requests that wait for their turn.
    pub waiting: usize,
    /// Whether its state lies on disk.
    pub on_disk: bool,
}

impl<J: Job, S: Clone + Weight, A: Clone + Weight> Table<J, S, A> {
    /// The limits that hold.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Changes the limits. Sequences beyond a lower number live on; only new ones are refused.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// How many sequences live.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no sequence lives.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether a sequence lives.
    pub fn contains(&self, id: &SequenceId) -> bool {
        self.entries.contains_key(id)
    }

    /// Whether a numbered request for this sequence has its answer here: the sequence lives, or has ended lately.
    pub fn knows(&self, order: &crate::Order) -> bool {
        match &order.id {
            Some(id) => self.contains(id) || self.ended.replay(id, order).is_some(),
            None => order.step.is_some() && self.requests.contains_key(&order.request),
        }
    }

    /// Why a START on this id is refused where one of its sequences lives; none where none does.
    pub fn refusal_of_start(&self, id: &SequenceId) -> Option<SequenceError> {
        let entry = self.entries.get(id)?;
        let ends = entry.running.as_ref().is_some_and(|r| r.order.end);
        Some(if ends { SequenceError::Terminated } else { SequenceError::AlreadyExists })
    }

    /// A sequence of this id has begun in another table of the model: this one has nothing to do with it any more.
    /// What is to be done with requests that wait is appended to `next`. Returns whether one lived here.
    pub fn cede(&mut self, id: &SequenceId, now: Duration, next: &mut Vec<Next<J, S, A>>) -> bool {
        let requests = &mut self.requests;
        self.ended.remove(id, |name| drop(requests.remove(&name)));
        self.contains(id) && self.remove(id, now, next).is_ok()
    }

    /// Ids that are counted go on behind those of another table of the model.
    pub fn count_on(&mut self, before: &Table<J, S, A>) {
        self.counter = self.counter.max(before.counter);
    }

    /// Requests that wait for their turn.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Bytes of all states and of the answers that are kept.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.ended.bytes()
    }

    /// What has happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Up to `limit` sequences behind `after` in the order of their ids.
    pub fn list(&self, after: Option<&SequenceId>, limit: usize, now: Duration) -> Vec<Summary> {
        let mut ids: Vec<&SequenceId> =
            self.entries.keys().filter(|id| after.is_none_or(|after| *id > after)).collect();
        // Requests wait for this, so what is behind the page is not sorted.
        if limit < ids.len() {
            ids.select_nth_unstable(limit);
            ids.truncate(limit);
        }
        ids.sort_unstable();
        ids.into_iter().filter_map(|id| self.summary(id, now)).collect()
    }

    /// What is known of one sequence.
    pub fn summary(&self, id: &SequenceId, now: Duration) -> Option<Summary> {
        let entry = self.entries.get(id)?;
        Some(Summary {
            id: id.clone(),
            step: entry.step,
            bytes: entry.bytes,
            age: now.saturating_sub(entry.began),
            idle: now.saturating_sub(entry.touched),
            busy: entry.running.is_some(),
            waiting: entry.waiting.len(),
            on_disk: entry.state.as_ref().is_some_and(Weight::is_on_disk),
        })
    }

    /// The steps done and the state that the last one left.
    ///
    /// # Errors
    /// [`SequenceError::Missing`], also while the START still runs.
    pub fn state(&self, id: &SequenceId) -> Result<(u64, S), SequenceError> {
        let entry = self.entries.get(id).ok_or(SequenceError::Missing)?;
        let state = entry.state.clone().ok_or(SequenceError::Missing)?;
        Ok((entry.step, state))
    }

    /// Puts another form of the same state in the place of an idle sequence's. `false` when a step runs.
    pub fn replace_state(&mut self, id: &SequenceId, state: S) -> bool {
        let Some(entry) = self.entries.get_mut(id) else { return false };
        let (None, Some(before)) = (&entry.running, &entry.state) else { return false };
        let bytes = entry.bytes - before.bytes() + state.bytes();
        self.bytes = self.bytes - entry.bytes + bytes;
        (entry.bytes, entry.state) = (bytes, Some(state));
        true
    }

    /// Idle sequences behind `after`, the one longest without a step first, each with its place in this order.
    pub fn coldest(&mut self, after: Age) -> impl Iterator<Item = (Age, &SequenceId, &S)> {
        self.order();
        let behind = (Bound::Excluded(after.0), Bound::Unbounded);
        self.ages.range(behind).filter_map(|(age, id)| {
            let entry = self.entries.get(id).filter(|e| e.running.is_none())?;
            Some((Age(*age), id, entry.state.as_ref()?))
        })
    }

    /// Adds a sequence with a state that was made elsewhere: a copy of another one, or one read from a file.
    ///
    /// # Errors
    /// [`SequenceError::TooMany`], [`SequenceError::AlreadyExists`].
    pub fn insert(
        &mut self,
        id: SequenceId,
        step: u64,
        state: S,
        now: Duration,
    ) -> Result<(), SequenceError> {
        if self.is_full() {
            return Err(SequenceError::TooMany);
        }
        if self.contains(&id) {
            return Err(SequenceError::AlreadyExists);
        }
        let requests = &mut self.requests;
        self.ended.remove(&id, |name| drop(requests.remove(&name)));
        self.serial += 1;
        let mut entry = Entry::new(now, self.serial);
        (entry.step, entry.bytes, entry.state) = (step, state.bytes(), Some(state));
        self.bytes += entry.bytes;
        self.ages.insert(entry.age, id.clone());
        self.entries.insert(id, entry);
        self.counters.started += 1;
        Ok(())
    }

    /// Ends a sequence at once. A step that runs has no effect; requests that wait find the sequence gone, and
    /// what is to be done with them is appended to `next`.
    ///
    /// # Errors
    /// [`SequenceError::Missing`].
    pub fn remove(
        &mut self,
        id: &SequenceId,
        now: Duration,
        next: &mut Vec<Next<J, S, A>>,
    ) -> Result<(), SequenceError> {
        let entry = self.forget(id).ok_or(SequenceError::Missing)?;
        self.counters.removed += 1;
        self.pump(id, entry.waiting, now, next);
        Ok(())
    }
}
