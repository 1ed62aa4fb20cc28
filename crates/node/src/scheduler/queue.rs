//! Requests of one model version that wait.

use super::Job;
use super::arrivals::Arrivals;
use super::batch::Batching;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How many waiting requests are looked at for one batch; it bounds the time under the lock.
const LOOK: usize = 256;

#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Job>,
    /// The rows of all that wait.
    rows: usize,
    arrivals: Arrivals,
    /// Runs that go on or are on their way to a thread.
    pub(super) active: usize,
    /// When the timer will ring.
    pub(super) armed: Option<Instant>,
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn push(&mut self, job: Job) {
        self.rows += job.rows;
        self.waiting.push_back(job);
    }

    /// Notes that a request came, before it is decided whether it waits. Tells whether others can be expected within
    /// the delay of a batch.
    pub(super) fn arrived(&mut self, source: Option<u64>, now: Instant, delay: Duration) -> bool {
        self.arrivals.note(source, now, delay);
        self.arrivals.are_close(delay)
    }

    /// Takes out requests that nobody waits for.
    pub(super) fn sweep(&mut self) {
        self.waiting.retain(|job| !job.is_abandoned());
        self.rows = self.waiting.iter().map(|job| job.rows).sum();
    }

    pub(super) fn clear(&mut self) -> Vec<Job> {
        self.rows = 0;
        self.waiting.drain(..).collect()
    }

    /// When the first request has waited long enough; `None` when nothing waits. A full batch need not wait, and nobody
    /// waits for others that cannot be expected: when they come too rarely, or have stopped coming.
    pub(super) fn due(&self, batching: Option<&Batching>) -> Option<Instant> {
        let first = self.waiting.front()?;
        let Some(batching) = batching else { return Some(first.queued) };
        let delay = batching.delay;
        if delay.is_zero() || !self.arrivals.are_close(delay) || self.is_full(first, batching) {
            return Some(first.queued);
        }
        let due = first.queued + delay;
        let due = self.arrivals.pause_ends(delay).map_or(due, |end| due.min(end));
        // Waiting beyond its deadline would help nobody.
        Some(first.deadline.map_or(due, |d| due.min(d)))
    }

    fn is_full(&self, first: &Job, batching: &Batching) -> bool {
        if self.rows < batching.max {
            return false;
        }
        let mut rows = 0usize;
        self.waiting.iter().take(LOOK).any(|job| {
            if batching.joins(&first.inputs, &job.inputs) {
                rows += job.rows;
            }
            rows >= batching.max
        })
    }

    /// The next batch: the first request and those behind it that fit, in order; empty when nothing waits.
    pub(super) fn take(&mut self, batching: Option<&Batching>) -> Vec<Job> {
        let Some(first) = self.waiting.pop_front() else { return Vec::new() };
        self.rows -= first.rows;
        let mut batch = vec![first];
        let Some(batching) = batching else { return batch };
        let mut rows = batch[0].rows;
        let mut i = 0;
        for _ in 0..LOOK {
            let Some(job) = self.waiting.get(i) else { break };
            if rows >= batching.max {
                break;
            }
            if rows + job.rows <= batching.max && batching.joins(&batch[0].inputs, &job.inputs) {
                rows += job.rows;
                batch.extend(self.waiting.remove(i));
            } else {
                i += 1;
            }
        }
        self.rows -= rows - batch[0].rows;
        batch
    }
}
