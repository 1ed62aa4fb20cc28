//! The log with its thread: callers append, the thread writes what has gathered with one write and one sync.

use crate::error::LogError;
use crate::io::Io;
use crate::options::LogOptions;
use crate::rng::Rng;
use crate::segments::Recovery;
use crate::writer::{LogWriter, Shelf, check_len};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle, ThreadId};

/// A batch is not made longer than this, so that the first record in it does not wait for a queue of any
/// length; beyond a few MiB a larger write is no faster.
const BATCH_BYTES: usize = 4 << 20;

/// What a queued record costs beside its payload, so that empty records fill the queue too.
const ENTRY_BYTES: usize = 128;

type Callback = Box<dyn FnOnce(Result<u64, LogError>) + Send>;

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

struct Shared {
    queue: Mutex<Queue>,
    /// Something to write, or closed.
    work: Condvar,
    /// Room in the queue, or stopped.
    room: Condvar,
    records: AtomicU64,
    batches: AtomicU64,
    payload_bytes: AtomicU64,
    segment_len: AtomicU64,
}

struct Queue {
    entries: VecDeque<Entry>,
    /// Bytes of everything that is not yet acknowledged, the batch that is being written included.
    bytes: usize,
    next_lsn: u64,
    closed: bool,
    stopped: Option<Arc<LogError>>,
}

enum Entry {
    Record { payload: Vec<u8>, crc: u32, lsn: u64, done: Callback },
    Flush { up_to: u64, done: Callback },
}

impl Entry {
    fn bytes(&self) -> usize {
        match self {
            Entry::Record { payload, .. } => payload.len() + ENTRY_BYTES,
            Entry::Flush { .. } => ENTRY_BYTES,
        }
    }
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
                move || run(&shared, writer)
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
        self.shelf.prune(&*self.io, up_to)
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> Result<MutexGuard<'_, Queue>, LogError> {
        let queue = self.lock();
        queue.check_running()?;
        Ok(queue)
    }

    fn push(&self, queue: &mut Queue, entry: Entry) {
        queue.bytes += entry.bytes();
        queue.entries.push_back(entry);
        if queue.entries.len() == 1 {
            self.work.notify_one();
        }
    }
}

impl Queue {
    fn check_running(&self) -> Result<(), LogError> {
        match &self.stopped {
            Some(cause) => Err(LogError::Stopped(Arc::clone(cause))),
            None => Ok(()),
        }
    }

    /// The next batch: at least one entry, at most [`BATCH_BYTES`] if it is more than one.
    fn take_batch(&mut self, batch: &mut Vec<Entry>) -> usize {
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

/// The log's thread: ends when the log is closed and the queue empty.
fn run(shared: &Shared, mut writer: LogWriter) {
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
