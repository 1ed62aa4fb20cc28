//! One load: what all of its senders share.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::carry::Carry;
use super::record::Record;
use super::schedule::Schedule;
use super::signals::{RawTensor, Signals};

/// A load that runs. Times are those of its own clock, which begins at `start`.
pub struct Trial<'a> {
    /// When each step is due.
    pub schedule: Schedule,
    /// What is sent and expected.
    pub signals: &'a Signals,
    /// The id of the first sequence, the others follow; `None` for requests that belong to no sequence of the server.
    pub first_id: Option<u64>,
    /// The state that the client carries.
    pub carry: &'a [Carry],
    /// The model's name.
    pub model: &'a str,
    /// When the load begins.
    pub start: Instant,
    /// What has been noted.
    pub record: Mutex<Record>,
}

/// A step to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its place in a sequence of the server.
    pub place: Option<Place>,
    /// The number of its inputs.
    pub frame: usize,
}

/// What a server is told about a step of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The id of its sequence.
    pub id: u64,
    /// Whether it is the first one.
    pub is_start: bool,
    /// Whether it is the last one.
    pub is_end: bool,
}

impl Trial<'_> {
    /// What a sequence sends with a step.
    pub fn step(&self, sequence: usize, step: usize) -> Step {
        let place = self.first_id.map(|first| Place {
            id: first + sequence as u64,
            is_start: step == 0,
            is_end: step + 1 == self.schedule.steps,
        });
        Step { place, frame: Signals::frame_number(sequence, step) }
    }

    /// Waits for a step's turn and gives the time from which its latency counts.
    pub async fn turn(&self, sequence: usize, step: usize) -> Duration {
        let due = self.schedule.due(sequence, step);
        tokio::time::sleep_until(self.start + due).await;
        if self.schedule.interval.is_some() { due } else { self.start.elapsed() }
    }

    /// Whether anybody looks at the outputs.
    pub fn reads_answers(&self) -> bool {
        self.signals.is_checked() || !self.carry.is_empty()
    }

    /// Notes the answer to a step whose turn was at `due`; `outputs` need not be there when they are not compared.
    pub fn answered(&self, sequence: usize, step: usize, due: Duration, outputs: &[RawTensor]) {
        let now = self.start.elapsed();
        let wrong = self.signals.difference(sequence, step, outputs);
        self.record(|r| r.answered(due, now, wrong));
    }

    /// Notes that a step failed.
    pub fn failed(&self, text: impl std::fmt::Display) {
        self.record(|r| r.failed(text.to_string()));
    }

    /// How long to wait for the last answers: answers that come later are missing. Without an interval every step may
    /// take that long.
    pub fn patience(&self) -> Duration {
        match self.schedule.interval {
            Some(_) => self.schedule.length() + GRACE,
            None => GRACE.saturating_mul(u32::try_from(self.schedule.steps).unwrap_or(u32::MAX)),
        }
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
