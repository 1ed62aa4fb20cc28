//! The log with its thread: callers append, the thread writes what has gathered with one write and one sync.

use crate::error::LogError;
use crate::io::Io;
use crate::options::LogOptions;
use crate::rng::Rng;
use crate::segments::Recovery;
use crate::writer::{LogWriter, Shelf, check_len};
use queue::{Callback, ENTRY_BYTES, Entry, Queue, Shared};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle, ThreadId};

mod queue;
mod writing;

/// A durable log of records that any number of threads append to. See the crate's text for an example.
///
/// *Order.* LSNs are dense and follow the order of the calls of `append`; records are in the log, and
/// callbacks run, in the order of LSNs.
///
/// *Acknowledged* means that the callback got `Ok`: from then on the record survives what
/// [`SyncMode`](crate::SyncMode) says. *Failed* means that nobody knows: the record was cut off again if the
/// file system allowed it, and is otherwise found by the next opening or not.
///
/// *Errors stop the log for good*: everything that waits and every later call fails. A sync that failed is not
/// tried again, since the kernel may have dropped what it could not write and would then claim success.
/// *Dropping* the log writes what waits, makes it durable and runs the callbacks before it returns.
pub struct Log {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    thread_id: ThreadId,
    options: LogOptions,
    io: Arc<dyn Io>,
    shelf: Arc<Shelf>,
}

/// Removes segments of a log that is open. Clones share.
#[derive(Clone)]
pub struct Pruner {
    io: Arc<dyn Io>,
    shelf: Arc<Shelf>,
}

impl Pruner {
    /// See [`Log::prune`].
    ///
    /// # Errors
    /// [`LogError::Io`]. The log goes on.
    pub fn prune(&self, up_to: u64) -> Result<usize, LogError> {
        self.shelf.prune(&*self.io, up_to)
    }
}

impl fmt::Debug for Pruner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pruner").finish_non_exhaustive()
    }
}

/// Counters of a log since it was opened, and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogStats {
    /// Records that were acknowledged.
    pub records: u64,
    /// Batches that were written; records / batches is what group commit saves.
    pub batches: u64,
    /// Bytes of payload that were acknowledged.
    pub payload_bytes: u64,
    /// Segments on disk.
    pub segments: u64,
    /// Bytes of all segments on disk.
    pub disk_bytes: u64,
}

impl Log {
    /// Opens the log as [`LogWriter::open`] does and starts its thread, `stead-log`.
    ///
    /// # Errors
    /// Those of [`LogWriter::open`]; [`LogError::Io`] if there is no thread to be had.
    pub fn open<E: From<LogError>>(
        io: Arc<dyn Io>,
        rng: Arc<dyn Rng>,
        options: LogOptions,
        visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(Self, Recovery), E> {
        let (writer, recovery) = LogWriter::open(Arc::clone(&io), rng, options.clone(), visit)?;
        let queue = Queue {
            entries: VecDeque::new(),
            bytes: 0,
            next_lsn: writer.next_lsn(),
            closed: false,
            stopped: None,
        };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            work: Condvar::new(),
            room: Condvar::new(),
            records: AtomicU64::new(0),
            batches: AtomicU64::new(0),
            payload_bytes: AtomicU64::new(0),
            segment_len: AtomicU64::new(writer.segment_len()),
        });
        let shelf = writer.shelf();
        let thread = thread::Builder::new()
            .name("stead-log".into())
            .spawn({
                let shared = Arc::clone(&shared);
                move || writing::run(&shared, writer)
            })
            .map_err(|error| LogError::io("start", "the thread of the log", &error))?;
        let thread_id = thread.thread().id();
        Ok((Self { shared, thread: Some(thread), thread_id, options, io, shelf }, recovery))
    }

    /// Queues a record and returns its LSN. `on_durable` is called once, on the log's thread: with the LSN when the
    /// record is durable, or with the error. It must be quick, since the next batch waits for it; a panic in it
    /// is caught. If this returns an error, `on_durable` is dropped without a call.
    ///
    /// Waits while the queue is full. Called from an `on_durable` it cannot wait, and is [`Log::try_append`].
    ///
    /// # Errors
    /// [`LogError::TooLarge`], [`LogError::Stopped`].
    pub fn append(
        &self,
        payload: Vec<u8>,
        on_durable: impl FnOnce(Result<u64, LogError>) + Send + 'static,
    ) -> Result<u64, LogError> {
        let wait = thread::current().id() != self.thread_id;
        self.enqueue_record(payload, Box::new(on_durable), wait)
    }

    /// [`Log::append`] that never waits.
    ///
    /// # Errors
    /// [`LogError::QueueFull`] beside those of [`Log::append`].
    pub fn try_append(
        &self,
        payload: Vec<u8>,
        on_durable: impl FnOnce(Result<u64, LogError>) + Send + 'static,
    ) -> Result<u64, LogError> {
        self.enqueue_record(payload, Box::new(on_durable), false)
    }

    /// Appends and waits until the record is durable.
    ///
    /// # Errors
    /// Those of [`Log::append`], what `on_durable` would have got, and [`LogError::OnLogThread`].
    pub fn append_wait(&self, payload: Vec<u8>) -> Result<u64, LogError> {
        self.wait(|done| self.enqueue_record(payload, done, true).map(drop))
    }

    /// Waits until every record that was appended before is durable, also with
    /// [`SyncMode::Never`](crate::SyncMode::Never). Returns the LSN after the last of them.
    ///
    /// # Errors
    /// [`LogError::Stopped`], [`LogError::Io`], [`LogError::OnLogThread`].
    pub fn flush(&self) -> Result<u64, LogError> {
        self.wait(|done| {
            let mut queue = self.shared.running()?;
            let up_to = queue.next_lsn;
            self.shared.push(&mut queue, Entry::Flush { up_to, done });
            Ok(())
        })
    }

    /// The LSN that the next record gets.
    #[must_use]
    pub fn next_lsn(&self) -> u64 {
        self.shared.lock().next_lsn
    }

    /// Removes segments whose records all have an LSN below `up_to`, on the calling thread; appends go on
    /// meanwhile. The newest segment stays. Returns how many were removed.
    ///
    /// # Errors
    /// [`LogError::Io`]. The log goes on.
    pub fn prune(&self, up_to: u64) -> Result<usize, LogError> {
        self.pruner().prune(up_to)
    }

    /// What [`Log::prune`] does, for somebody whom the log need not wait for.
    #[must_use]
    pub fn pruner(&self) -> Pruner {
        Pruner { io: Arc::clone(&self.io), shelf: Arc::clone(&self.shelf) }
    }

    /// Why the log has stopped, if it has.
    #[must_use]
    pub fn stopped(&self) -> Option<LogError> {
        self.shared.lock().stopped.as_deref().cloned()
    }

    /// Counters and size.
    #[must_use]
    pub fn stats(&self) -> LogStats {
        let (sealed, bytes) = self.shelf.size();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        LogStats {
            records: count(&self.shared.records),
            batches: count(&self.shared.batches),
            payload_bytes: count(&self.shared.payload_bytes),
            segments: sealed as u64 + 1,
            disk_bytes: bytes + count(&self.shared.segment_len),
        }
    }

    fn enqueue_record(
        &self,
        payload: Vec<u8>,
        done: Callback,
        wait: bool,
    ) -> Result<u64, LogError> {
        check_len(payload.len(), &self.options)?;
        // Here and not on the log's thread, which all callers share.
        let crc = crc32c::crc32c(&payload);
        let bytes = payload.len() + ENTRY_BYTES;
        let mut queue = self.shared.running()?;
        while queue.bytes > 0 && queue.bytes + bytes > self.options.queue_bytes {
            if !wait {
                return Err(LogError::QueueFull);
            }
            queue = self.shared.room.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.check_running()?;
        }
        let lsn = queue.next_lsn;
        queue.next_lsn += 1;
        self.shared.push(&mut queue, Entry::Record { payload, crc, lsn, done });
        Ok(lsn)
    }

    fn wait(
        &self,
        enqueue: impl FnOnce(Callback) -> Result<(), LogError>,
    ) -> Result<u64, LogError> {
        if thread::current().id() == self.thread_id {
            return Err(LogError::OnLogThread);
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        enqueue(Box::new(move |result| {
            let _ = sender.send(result);
        }))?;
        receiver.recv().unwrap_or(Err(LogError::Closed))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_all();
        // The last owner may be a callback: the thread then ends by itself.
        if let Some(thread) = self.thread.take()
            && thread::current().id() != self.thread_id
        {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("options", &self.options).finish_non_exhaustive()
    }
}
