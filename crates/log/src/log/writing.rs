//! The thread of the log: writes batches, makes them durable, runs the callbacks.

use super::queue::{Entry, Shared};
use crate::error::LogError;
use crate::writer::LogWriter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// The log's thread: ends when the log is closed and the queue empty.
pub(super) fn run(shared: &Shared, mut writer: LogWriter) {
    let _guard = EndGuard(shared);
    let mut batch = Vec::new();
    loop {
        let bytes = {
            let mut queue = shared.lock();
            while queue.entries.is_empty() && !queue.closed {
                queue = shared.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            queue.take_batch(&mut batch)
        };
        if batch.is_empty() {
            return;
        }
        let error = write_batch(&mut writer, &mut batch).err();
        shared.segment_len.store(writer.segment_len(), Ordering::Relaxed);
        shared.batches.fetch_add(1, Ordering::Relaxed);
        {
            let mut queue = shared.lock();
            queue.bytes -= bytes;
            if let Some(error) = &error {
                let cause = match error {
                    LogError::Stopped(cause) => Arc::clone(cause),
                    cause => Arc::new(cause.clone()),
                };
                queue.stopped = Some(cause);
                // No one can append any more: what waits is answered with this batch.
                batch.extend(queue.entries.drain(..));
                queue.bytes = 0;
            }
        }
        shared.room.notify_all();
        acknowledge(shared, &mut batch, writer.committed(), error.as_ref());
    }
}

fn write_batch(writer: &mut LogWriter, batch: &mut [Entry]) -> Result<(), LogError> {
    let mut flush = false;
    for entry in batch {
        match entry {
            Entry::Record { payload, crc, lsn, .. } => {
                let written = writer.append_with_crc(payload, *crc)?;
                debug_assert_eq!(written, *lsn, "the queue and the writer count alike");
            }
            Entry::Flush { .. } => flush = true,
        }
    }
    if flush { writer.flush() } else { writer.commit() }
}

/// Runs the callbacks: what lies below `committed` is in the log even if something after it failed.
fn acknowledge(shared: &Shared, batch: &mut Vec<Entry>, committed: u64, error: Option<&LogError>) {
    for entry in batch.drain(..) {
        let (done, result) = match (entry, error) {
            (Entry::Record { lsn, done, payload, .. }, error) => {
                if lsn < committed {
                    shared.records.fetch_add(1, Ordering::Relaxed);
                    shared.payload_bytes.fetch_add(payload.len() as u64, Ordering::Relaxed);
                }
                match error {
                    Some(error) if lsn >= committed => (done, Err(error.clone())),
                    _ => (done, Ok(lsn)),
                }
            }
            // A flush promises durability, which a record that was committed with `SyncMode::Never` lacks.
            (Entry::Flush { done, .. }, Some(error)) => (done, Err(error.clone())),
            (Entry::Flush { up_to, done }, None) => (done, Ok(up_to)),
        };
        // The log must outlive a caller's mistake; the panic hook has told of it.
        let _ = catch_unwind(AssertUnwindSafe(|| done(result)));
    }
}

/// However the thread ends, nobody waits for it for ever.
struct EndGuard<'a>(&'a Shared);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.stopped.get_or_insert_with(|| Arc::new(LogError::Closed));
        let waiting = std::mem::take(&mut queue.entries);
        drop(queue);
        self.0.room.notify_all();
        drop(waiting);
    }
}
