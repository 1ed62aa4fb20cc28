//! One sequence of a table.

use super::limits::Rules;
use crate::{Order, SequenceError};
use std::collections::VecDeque;
use std::time::Duration;

/// A request that waits for its turn.
pub(super) struct Waiting<J> {
    pub(super) order: Order,
    /// Whether the table chose the id.
    pub(super) auto: bool,
    pub(super) job: J,
}

/// The step that runs now.
pub(super) struct Running {
    /// Tells this run from all others.
    pub(super) serial: u64,
    pub(super) order: Order,
    pub(super) auto: bool,
}

/// One sequence. Requests wait only while a step runs.
pub(super) struct Entry<J, S, A> {
    /// What the last step left; none before the first one is done.
    pub(super) state: Option<S>,
    /// Steps done.
    pub(super) step: u64,
    pub(super) running: Option<Running>,
    pub(super) waiting: VecDeque<Waiting<J>>,
    /// Answers of the last numbered steps, oldest first.
    pub(super) answers: VecDeque<(u64, A)>,
    /// The client's name of the START.
    pub(super) request: String,
    /// Whether a repeated START without an id is to find this sequence.
    pub(super) auto: bool,
    /// When the last step succeeded.
    pub(super) touched: Duration,
    /// Place in the order of age: when a step succeeded, the last one unless the table has it among the moved, and a
    /// number that makes it unique.
    pub(super) age: (Duration, u64),
    pub(super) began: Duration,
    /// Whether the cleaner has seen it since the last step.
    pub(super) idle: bool,
    /// Bytes of the state and of the answers kept.
    pub(super) bytes: u64,
}

impl<J, S, A> Entry<J, S, A> {
    pub(super) fn new(now: Duration, serial: u64) -> Entry<J, S, A> {
        Entry {
            state: None,
            step: 0,
            running: None,
            waiting: VecDeque::new(),
            answers: VecDeque::new(),
            request: String::new(),
            auto: false,
            touched: now,
            age: (now, serial),
            began: now,
            idle: false,
            bytes: 0,
        }
    }

    /// Why a request cannot even wait: an END runs, after which there is no such sequence. A repetition of a
    /// numbered step waits all the same, for the answer.
    pub(super) fn refuse_at_end(&self, order: &Order, rules: Rules) -> Option<SequenceError> {
        let running = self.running.as_ref().filter(|r| r.order.end)?;
        if order.step.is_some_and(|n| n <= self.step + 1) && running.order.step.is_some() {
            return None;
        }
        match (order.start, rules) {
            (_, Rules::Triton) => None,
            (true, Rules::Ovms) => Some(SequenceError::Terminated),
            (false, Rules::Ovms) => Some(SequenceError::Missing),
        }
    }
}

impl<J, S, A: Clone> Entry<J, S, A> {
    /// The answer of a step that was done before.
    pub(super) fn replay(&self, given: u64) -> Result<A, SequenceError> {
        match self.answers.iter().find(|(n, _)| *n == given) {
            Some((_, answer)) => Ok(answer.clone()),
            None => Err(SequenceError::NotKept {
                given,
                oldest: self.answers.front().map(|(n, _)| *n),
                last: self.step,
            }),
        }
    }
}

/// Whether two requests may be one that was sent twice: clients that name their requests give both one name.
pub(super) fn same_request(a: &str, b: &str) -> bool {
    a.is_empty() || b.is_empty() || a == b
}
