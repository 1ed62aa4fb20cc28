//! The ids of operations, so that each is done once.

use std::collections::{HashMap, VecDeque};

use super::store::{Done, Outcome};

/// The operations whose ids are remembered.
const REMEMBERED: usize = 1 << 16;

/// The ids of the last operations.
#[derive(Default)]
pub(super) struct Ids {
    known: HashMap<u128, State>,
    order: VecDeque<u128>,
}

enum State {
    /// It is not yet done; these want to know.
    Waits(Vec<Done>),
    Done(Outcome),
}

/// Whether an operation was submitted before.
pub(super) enum Seen {
    New(Done),
    /// Who asks will be told together with the first.
    Waits,
    Done(Done, Outcome),
}

impl Ids {
    pub(super) fn seen(&mut self, operation: u128, done: Done) -> Seen {
        match self.known.get_mut(&operation) {
            None => Seen::New(done),
            Some(State::Waits(others)) => {
                others.push(done);
                Seen::Waits
            }
            Some(State::Done(outcome)) => Seen::Done(done, outcome.clone()),
        }
    }

    pub(super) fn waits(&mut self, operation: u128) {
        if operation != 0 {
            self.known.insert(operation, State::Waits(Vec::new()));
        }
    }

    /// An operation is done; who else wants to know.
    pub(super) fn applied(&mut self, operation: u128, outcome: Outcome) -> Vec<Done> {
        if operation == 0 {
            return Vec::new();
        }
        let before = self.known.insert(operation, State::Done(outcome));
        self.order.push_back(operation);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        match before {
            Some(State::Waits(others)) => others,
            _ => Vec::new(),
        }
    }

    /// What is remembered, the oldest first.
    pub(super) fn remembered(&self) -> Vec<(u128, Outcome)> {
        let outcome = |id: &u128| match self.known.get(id) {
            Some(State::Done(outcome)) => Some((*id, outcome.clone())),
            _ => None,
        };
        self.order.iter().filter_map(outcome).collect()
    }

    /// An operation has failed, and may be tried again.
    pub(super) fn failed(&mut self, operation: u128) -> Vec<Done> {
        match self.known.remove(&operation) {
            Some(State::Waits(others)) => others,
            _ => Vec::new(),
        }
    }
}
