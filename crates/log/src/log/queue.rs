//! What the callers of the log and its thread share.

use crate::error::LogError;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A batch is not made longer than this, so that the first record in it does not wait for a queue of any
/// length; beyond a few MiB a larger write is no faster.
const BATCH_BYTES: usize = 4 << 20;

/// What a queued record costs beside its payload, so that empty records fill the queue too.
pub(super) const ENTRY_BYTES: usize = 128;

pub(super) type Callback = Box<dyn FnOnce(Result<u64, LogError>) + Send>;

pub(super) struct Shared {
    pub queue: Mutex<Queue>,
    /// Something to write, or closed.
    pub work: Condvar,
    /// Room in the queue, or stopped.
    pub room: Condvar,
    pub records: AtomicU64,
    pub batches: AtomicU64,
    pub payload_bytes: AtomicU64,
    pub segment_len: AtomicU64,
}

pub(super) struct Queue {
    pub entries: VecDeque<Entry>,
    /// Bytes of everything that is not yet acknowledged, the batch that is being written included.
    pub bytes: usize,
    pub next_lsn: u64,
    pub closed: bool,
    pub stopped: Option<Arc<LogError>>,
}

pub(super) enum Entry {
    Record { payload: Vec<u8>, crc: u32, lsn: u64, done: Callback },
    Flush { up_to: u64, done: Callback },
}

impl Entry {
    pub fn bytes(&self) -> usize {
        match self {
            Entry::Record { payload, .. } => payload.len() + ENTRY_BYTES,
            Entry::Flush { .. } => ENTRY_BYTES,
        }
    }
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn running(&self) -> Result<MutexGuard<'_, Queue>, LogError> {
        let queue = self.lock();
        queue.check_running()?;
        Ok(queue)
    }

    pub fn push(&self, queue: &mut Queue, entry: Entry) {
        queue.bytes += entry.bytes();
        queue.entries.push_back(entry);
        if queue.entries.len() == 1 {
            self.work.notify_one();
        }
    }
}

impl Queue {
    pub fn check_running(&self) -> Result<(), LogError> {
        match &self.stopped {
            Some(cause) => Err(LogError::Stopped(Arc::clone(cause))),
            None => Ok(()),
        }
    }

    /// The next batch: at least one entry, at most [`BATCH_BYTES`] if it is more than one.
    pub fn take_batch(&mut self, batch: &mut Vec<Entry>) -> usize {
        let mut bytes = 0;
        while let Some(entry) = self.entries.front() {
            if bytes > 0 && bytes + entry.bytes() > BATCH_BYTES {
                break;
            }
            bytes += entry.bytes();
            batch.extend(self.entries.pop_front());
        }
        bytes
    }
}
