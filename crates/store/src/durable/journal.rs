//! Where the records of a store go.

use std::sync::atomic::{AtomicU64, Ordering};

use stead_log::{Log, LogError};

/// Where records go, one after the other.
pub(super) enum Journal {
    /// To disk.
    Log(Log),
    /// Nowhere: the documents are as good as the process lives. It has the number of the last record.
    Memory(AtomicU64),
}

impl Journal {
    /// See [`Log::append`]. In memory a record is as durable as it will be at once, and `done` is called before this returns.
    pub(super) fn append(
        &self,
        payload: Vec<u8>,
        done: impl FnOnce(Result<u64, LogError>) + Send + 'static,
    ) -> Result<u64, LogError> {
        match self {
            Journal::Log(log) => log.append(payload, done),
            Journal::Memory(last) => {
                let lsn = last.fetch_add(1, Ordering::Relaxed) + 1;
                done(Ok(lsn));
                Ok(lsn)
            }
        }
    }

    /// Whether everything that was appended can be read again.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self, Journal::Log(log) if log.flush().is_ok())
    }
}
