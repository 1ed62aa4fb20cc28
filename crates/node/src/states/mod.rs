//! The folder of states: a log of what became of sequences, which outlives the process.
//!
//! All models of a node share one log, and so its syncs. A model finds its sequences in it when it is loaded. The
//! log is written anew when it has grown: every live sequence is recorded once more, and what lies before goes.

mod keeper;
mod rewrite;
mod spill;

pub(crate) use spill::Slot;

use crate::sequences::Sequencer;
use spill::Spill;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use stead_log::{
    Clock, DiskIo, Io, Log, LogError, LogOptions, LogStats, SystemClock, SystemRng, tag,
};
use stead_sequence::durable::{Image, Sequences, decode};

/// A segment is removed as a whole, so it is small against the log that is worth writing anew; and it holds the
/// largest record.
const SEGMENT_BYTES: u64 = 64 << 20;

/// The folder of states, held by this process.
pub(crate) struct States {
    /// None once it is closed.
    log: RwLock<Option<Log>>,
    /// Sequences that no model has asked for yet.
    image: Mutex<Image>,
    watched: Mutex<Vec<Weak<Sequencer>>>,
    /// Bytes of the records that the last rewriting wrote, or what was found at the start.
    live_bytes: AtomicU64,
    spill: Arc<Spill>,
    signal: Mutex<Signal>,
    changed: Condvar,
    clock: Arc<dyn Clock>,
}

/// What the thread is told.
#[derive(Default)]
struct Signal {
    stopped: bool,
    /// States take too much memory.
    full: bool,
}

impl States {
    /// Opens the folder, which is made if there is none, and reads what is in it.
    ///
    /// # Errors
    /// In words, when another process holds it or it is damaged.
    pub(crate) fn open(folder: &Path) -> Result<Arc<States>, String> {
        let io = DiskIo::new(folder.join("log")).map_err(|e| e.kind().to_string())?;
        States::open_on(Arc::new(io), folder, Arc::new(SystemClock::default()))
    }

    /// [`States::open`] with the log somewhere else, and snapshots by another clock.
    pub(crate) fn open_on(
        io: Arc<dyn Io>,
        folder: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<States>, String> {
        let options = LogOptions {
            tag: tag("stead-states"),
            segment_bytes: SEGMENT_BYTES,
            max_record_bytes: (SEGMENT_BYTES - 1024) as usize,
            queue_bytes: SEGMENT_BYTES as usize,
            ..LogOptions::default()
        };
        let mut image = Image::default();
        let (log, recovery) = Log::open(io, Arc::new(SystemRng), options, |lsn, bytes| {
            let record = decode(bytes).map_err(|e| Unreadable(format!("record {lsn}: {e}")))?;
            record.into_iter().for_each(|record| image.apply(record));
            Ok::<(), Unreadable>(())
        })
        .map_err(|Unreadable(text)| text)?;
        // Only now that the folder is this process's.
        let spill = Spill::new(folder).map_err(|e| e.kind().to_string())?;
        if recovery.cut_bytes > 0 {
            tracing::info!(
                bytes = recovery.cut_bytes,
                "an unfinished write was cut off the log of states"
            );
        }
        let states = Arc::new(States {
            log: RwLock::new(Some(log)),
            image: Mutex::new(image),
            watched: Mutex::default(),
            live_bytes: AtomicU64::new(0),
            spill,
            signal: Mutex::default(),
            changed: Condvar::new(),
            clock,
        });
        states.begin().map_err(|e| format!("no thread: {}", e.kind()))?;
        Ok(states)
    }

    /// Takes the sequences of a model version out of what was found: those of this fingerprint, and the others.
    pub(crate) fn claim(
        &self,
        model: &str,
        version: u64,
        fingerprint: u64,
    ) -> (Sequences, Sequences) {
        self.image().take(model, version, fingerprint)
    }

    /// Drops what was found of models that `keep` does not want.
    pub(crate) fn drop_unclaimed(&self, keep: impl Fn(&str, u64) -> bool) {
        let mut image = self.image();
        for (model, version) in image.versions() {
            if keep(&model, version) {
                continue;
            }
            let lost = image.take_all(&model, version).len();
            tracing::warn!(
                model,
                version,
                lost,
                "sequences of a model that is not served were dropped"
            );
        }
    }

    fn image(&self) -> MutexGuard<'_, Image> {
        self.image.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a record without waiting; `on_durable` is told on the thread of the log.
    ///
    /// # Errors
    /// Those of [`Log::try_append`].
    pub(crate) fn append(
        &self,
        bytes: Vec<u8>,
        on_durable: impl FnOnce(Result<u64, LogError>) + Send + 'static,
    ) -> Result<u64, LogError> {
        self.with(|log| log.try_append(bytes, on_durable))
    }

    /// Waits until everything that was appended is durable.
    ///
    /// # Errors
    /// Those of [`Log::flush`].
    pub(crate) fn flush(&self) -> Result<u64, LogError> {
        self.with(Log::flush)
    }

    /// The size and the counters of the log.
    pub(crate) fn stats(&self) -> Option<LogStats> {
        self.with(|log| Ok(log.stats())).ok()
    }

    fn with<T>(&self, act: impl FnOnce(&Log) -> Result<T, LogError>) -> Result<T, LogError> {
        let log = self.log.read().unwrap_or_else(PoisonError::into_inner);
        act(log.as_ref().ok_or(LogError::Closed)?)
    }

    /// The file for states that do not fit the memory.
    pub(crate) fn spill(&self) -> &Arc<Spill> {
        &self.spill
    }

    fn signal(&self) -> MutexGuard<'_, Signal> {
        self.signal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread look for states that can go to disk.
    pub(crate) fn wake(&self) {
        if !std::mem::replace(&mut self.signal().full, true) {
            self.changed.notify_all();
        }
    }

    /// Looks after the sequences of a model until it is gone.
    pub(crate) fn watch(&self, model: &Arc<Sequencer>) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|m| m.strong_count() > 0);
        watched.push(Arc::downgrade(model));
    }

    fn models(&self) -> Vec<Arc<Sequencer>> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().filter_map(Weak::upgrade).collect()
    }

    /// Records what lives where only snapshots do, and closes the log: every step after this fails.
    pub(crate) fn close(&self) {
        self.signal().stopped = true;
        self.changed.notify_all();
        self.snapshot();
        let log = self.log.write().unwrap_or_else(PoisonError::into_inner).take();
        // What waits becomes durable and is answered here, without the lock that its callbacks take.
        drop(log);
    }
}

/// Why the log cannot be read.
struct Unreadable(String);

impl From<LogError> for Unreadable {
    fn from(error: LogError) -> Unreadable {
        Unreadable(error.to_string())
    }
}
