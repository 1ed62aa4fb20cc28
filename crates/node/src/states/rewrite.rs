//! Writing the log anew, so that it does not grow without end.

use super::States;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stead_log::LogError;
use stead_sequence::durable::encode;

/// A log below this is not worth the writing.
const SMALL: u64 = 128 << 20;

/// How often a full queue is tried again.
const AGAIN: Duration = Duration::from_millis(2);

impl States {
    /// Whether more than half of the log is history.
    pub(super) fn has_grown(&self) -> bool {
        let live = self.live_bytes.load(Ordering::Relaxed);
        self.stats()
            .is_some_and(|stats| stats.disk_bytes > SMALL.max(2 * live).saturating_add(live))
    }

    /// Records every sequence once more and removes what lies before.
    ///
    /// # Errors
    /// [`LogError`].
    pub(crate) fn rewrite(&self) -> Result<(), LogError> {
        let started = Instant::now();
        let begin = self.with(|log| Ok(log.next_lsn()))?;
        let mut written = 0;
        for model in self.models() {
            written += model.rewrite()?;
        }
        let unclaimed: Vec<Vec<u8>> = self.image().records().map(|r| encode(&r)).collect();
        for bytes in unclaimed {
            written += self.append_patiently(&bytes)?;
        }
        self.flush()?;
        let removed = self.with(|log| log.prune(begin))?;
        self.live_bytes.store(written, Ordering::Relaxed);
        let took = started.elapsed();
        tracing::debug!(removed, bytes = written, ?took, "the log of states was written anew");
        Ok(())
    }

    /// Appends a record, waiting while the queue is full. Gives its length.
    fn append_patiently(&self, bytes: &[u8]) -> Result<u64, LogError> {
        loop {
            match self.append(bytes.to_vec(), |_| {}) {
                Err(LogError::QueueFull) => std::thread::sleep(AGAIN),
                done => return done.map(|_| bytes.len() as u64),
            }
        }
    }
}
