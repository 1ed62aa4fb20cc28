//! One load: what all of its senders share.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::record::Record;
use super::schedule::Schedule;
use super::signals::Signals;

/// A load that runs. Times are those of its own clock, which begins at `start`.
pub struct Trial<'a> {
    /// When each step is due.
    pub schedule: Schedule,
    /// What is sent and expected.
    pub signals: &'a Signals,
    /// The id of the first sequence; the others follow.
    pub first_id: u64,
    /// The model's name.
    pub model: &'a str,
    start: Instant,
    record: Mutex<Record>,
}

/// A step to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The id of its sequence.
    pub id: u64,
    /// Whether it is the first one.
    pub is_start: bool,
    /// Whether it is the last one.
    pub is_end: bool,
    /// The number of its inputs.
    pub frame: usize,
}

impl<'a> Trial<'a> {
    /// A load that begins at `start`.
    pub fn new(
        schedule: Schedule,
        signals: &'a Signals,
        model: &'a str,
        first_id: u64,
        start: Instant,
    ) -> Trial<'a> {
        Trial { schedule, signals, first_id, model, start, record: Mutex::default() }
    }

    /// What a sequence sends with a step.
    pub fn step(&self, sequence: usize, step: usize) -> Step {
        Step {
            id: self.first_id + sequence as u64,
            is_start: step == 0,
            is_end: step + 1 == self.schedule.steps,
            frame: Signals::frame_number(sequence, step),
        }
    }

    /// Waits until a step is due.
    pub async fn until_due(&self, sequence: usize, step: usize) {
        tokio::time::sleep_until(self.start + self.schedule.due(sequence, step)).await;
    }

    /// Notes the answer to a step; `outputs` need not be there when they are not compared.
    pub fn answered(&self, sequence: usize, step: usize, outputs: &[(String, Bytes)]) {
        let now = self.start.elapsed();
        let wrong = self.signals.difference(sequence, step, outputs);
        self.record(|r| r.answered(self.schedule.due(sequence, step), now, wrong));
    }

    /// Notes that a step failed.
    pub fn failed(&self, text: impl std::fmt::Display) {
        self.record(|r| r.failed(text.to_string()));
    }

    /// How long to wait for the last answers: answers that come later are missing.
    pub fn patience(&self) -> Duration {
        self.schedule.length() + GRACE
    }

    /// What has been noted.
    pub fn into_record(self) -> Record {
        self.record.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, note: impl FnOnce(&mut Record)) {
        note(&mut self.record.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// An overloaded server works through what it has; a client would have left long before.
const GRACE: Duration = Duration::from_secs(20);
