//! Requests of one model version that wait.

use super::Job;
use super::batch::Batching;
use std::collections::VecDeque;
use std::time::Instant;

/// How many waiting requests are looked at for one batch; it bounds the time under the lock.
const LOOK: usize = 256;

#[derive(Default)]
pub(super) struct Queue {
    waiting: VecDeque<Job>,
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
        self.waiting.push_back(job);
    }

    /// Takes out requests that nobody waits for.
    pub(super) fn sweep(&mut self) {
        self.waiting.retain(|job| !job.is_abandoned());
    }

    pub(super) fn clear(&mut self) -> Vec<Job> {
        self.waiting.drain(..).collect()
    }

    /// When the first request has waited long enough; `None` when nothing waits. A full batch need not wait.
    pub(super) fn due(&self, batching: Option<&Batching>) -> Option<Instant> {
        let first = self.waiting.front()?;
        let Some(batching) = batching else { return Some(first.queued) };
        if batching.delay.is_zero() || self.is_full(first, batching) {
            return Some(first.queued);
        }
        let due = first.queued + batching.delay;
        // Waiting beyond its deadline would help nobody.
        Some(first.deadline.map_or(due, |d| due.min(d)))
    }

    fn is_full(&self, first: &Job, batching: &Batching) -> bool {
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
        batch
    }
}
