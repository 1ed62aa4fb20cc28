//! The store: where operations are submitted and views are taken.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::UNIX_EPOCH;

use stead_log::{Clock, Io, Log, LogOptions, Recovery, Rng, SystemClock, tag};

use super::record::{Record, begin, encode};
use super::resolve::{Refusal, Resolver};
use super::writer::{Durable, Ids, Pending, Seen, Writer};
use crate::error::StoreError;
use crate::indexing::{NoEmbedder, ScriptContext, Scripts};
use crate::kind::DocumentType;
use crate::live::{Collection, Reader};
use crate::operation::Operation;

/// How a store keeps its documents.
#[derive(Clone)]
pub struct StoreOptions {
    /// How the log is written. Its tag is that of the store.
    pub log: LogOptions,
    /// What `now()` of conditions is told by.
    pub clock: Arc<dyn Clock>,
    /// The scripts that run when documents of their types are put or updated. What they give is in the log, and they do not run again.
    pub scripts: Vec<Scripts>,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        let log = LogOptions {
            // The longest document as JSON is 64 MiB; its bytes are fewer.
            max_record_bytes: 64 << 20,
            segment_bytes: 256 << 20,
            queue_bytes: 64 << 20,
            ..LogOptions::default()
        };
        StoreOptions { log, clock: Arc::new(SystemClock::default()), scripts: Vec::new() }
    }
}

/// What has become of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is durable, and readers see it.
    Applied,
    /// There is no such document, and so nothing was changed.
    Absent,
    /// The document, or that there is none, is not what the condition wants; nothing was changed.
    ConditionFailed,
}

/// Called once with what has become of an operation.
pub type Done = Box<dyn FnOnce(Result<Outcome, StoreError>) + Send>;

/// Documents of several types and the log that makes them durable. Any number of threads submit operations and take views.
///
/// When writing the log has failed, every operation fails from then on; views are still there.
pub struct Store {
    types: BTreeMap<String, Stored>,
    pending: Arc<Mutex<Pending>>,
    log: Option<Log>,
    applier: Option<JoinHandle<()>>,
    recovery: Recovery,
    clock: Arc<dyn Clock>,
    /// What the chance of the next operation's scripts begins with.
    seed: AtomicU64,
}

/// What is known of a type where operations are submitted.
struct Stored {
    kind: DocumentType,
    reader: Reader,
    scripts: Option<Scripts>,
    /// Its number among the types.
    number: usize,
}

impl Store {
    /// Opens a store: its documents are those that its log leads to. Operations of types that are not given are left
    /// out.
    ///
    /// # Errors
    /// What the log answers, and records that cannot be read.
    pub fn open(
        io: Arc<dyn Io>,
        rng: Arc<dyn Rng>,
        types: Vec<DocumentType>,
        options: StoreOptions,
    ) -> Result<Store, StoreError> {
        let mut collections: Vec<Collection> = types.into_iter().map(Collection::new).collect();
        let numbers: HashMap<String, usize> = collections
            .iter()
            .enumerate()
            .map(|(at, c)| (c.kind().name().to_owned(), at))
            .collect();
        let mut ids = Ids::default();
        let log_options = LogOptions { tag: tag("stead-documents"), ..options.log };
        let visit = |lsn: u64, payload: &[u8]| {
            let fail = |error| StoreError::Record { lsn, error };
            let (name, rest) = begin(payload).map_err(fail)?;
            let Some(collection) = numbers.get(name).and_then(|at| collections.get_mut(*at)) else {
                return Ok(());
            };
            let record = rest.read(collection.kind()).map_err(fail)?;
            let outcome = super::writer::apply_record(collection, &record);
            // What there was no room for then has none now.
            ids.applied(record.operation, outcome.unwrap_or(Outcome::Applied));
            Ok::<(), StoreError>(())
        };
        let seed = rng.next_u64().map_err(|e| StoreError::Randomness(e.kind()))?;
        let (log, recovery) = Log::open(io, rng, log_options, visit)?;
        collections.iter_mut().for_each(Collection::publish);
        let of = |(number, collection): (usize, &Collection)| {
            let (kind, reader) = (collection.kind().clone(), collection.reader());
            let scripts = options.scripts.iter().find(|s| s.kind().name() == kind.name()).cloned();
            (kind.name().to_owned(), Stored { kind, reader, scripts, number })
        };
        let types = collections.iter().enumerate().map(of).collect();
        let (sender, receiver) = channel();
        let pending = Arc::new(Mutex::new(Pending::new(collections.len(), sender, ids)));
        let applier = start(Writer { collections, pending: pending.clone() }, receiver)?;
        Ok(Store {
            types,
            pending,
            log: Some(log),
            applier: Some(applier),
            recovery,
            clock: options.clock,
            seed: AtomicU64::new(seed),
        })
    }

    /// What was found when the store was opened.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// The names of the types.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.types.keys().map(String::as_str)
    }

    /// A type by its name.
    ///
    /// # Errors
    /// [`StoreError::Type`] if there is none.
    pub fn kind(&self, name: &str) -> Result<&DocumentType, StoreError> {
        self.stored(name).map(|stored| &stored.kind)
    }

    /// What views of the documents of a type are taken from.
    ///
    /// # Errors
    /// [`StoreError::Type`] if there is no such type.
    pub fn reader(&self, name: &str) -> Result<Reader, StoreError> {
        self.stored(name).map(|stored| stored.reader.clone())
    }

    fn stored(&self, name: &str) -> Result<&Stored, StoreError> {
        self.types.get(name).ok_or_else(|| StoreError::Type(name.to_owned()))
    }

    /// Does an operation with a document of a type. `done` is called once with what became of it: when it is durable and every view that
    /// is taken from then on has it, or at once where nothing is to be done. Operations of one caller are done in their order. `done` must be quick, since all
    /// others wait for it.
    ///
    /// An operation with an id that was done before, among the last so many, is not done again; its outcome is the one
    /// that it had.
    ///
    /// # Errors
    /// [`StoreError::Type`], [`StoreError::Input`], and what the log answers; `done` is not called then.
    pub fn submit(
        &self,
        name: &str,
        mut operation: Operation,
        done: impl FnOnce(Result<Outcome, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError> {
        let now = self.clock.wall().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs() as i64);
        let (stored, mut done): (_, Done) = (self.stored(name)?, Box::new(done));
        let log = self.log.as_ref().ok_or(StoreError::Closed)?;
        let seed = self.seed.fetch_add(1, Ordering::Relaxed);
        let cx = ScriptContext { now, seed, embedder: &NoEmbedder };
        let resolver = Resolver { kind: &stored.kind, scripts: stored.scripts.as_ref(), cx };
        resolver.prepare(&mut operation)?;
        let mut pending = lock(&self.pending);
        match pending.ids.seen(operation.operation, done) {
            Seen::New(given) => done = given,
            Seen::Waits => return Ok(()),
            Seen::Done(done, outcome) => {
                drop(pending);
                done(Ok(outcome));
                return Ok(());
            }
        }
        let (id, number_of_operation) = (operation.document.clone(), operation.operation);
        // A view that is taken behind this has what no longer waits.
        let known = || match pending.document(stored.number, &id) {
            Some(waiting) => waiting.clone(),
            None => {
                let view = stored.reader.view();
                view.find(&id).and_then(|lid| view.fields(lid)).map(Arc::new)
            }
        };
        let (write, fields) = match resolver.resolve(operation, known) {
            Ok(resolved) => resolved,
            Err(Refusal::Fails(error)) => return Err(error),
            Err(Refusal::Ends(outcome)) => {
                drop(pending);
                done(Ok(outcome));
                return Ok(());
            }
        };
        let record = Record { operation: number_of_operation, id: id.clone(), write };
        let payload = encode(&stored.kind, &record);
        let (number, sender) = (stored.number, pending.sender().ok_or(StoreError::Closed)?);
        let lsn = log.append(payload, move |durable| {
            // The applier lives as long as the log has callbacks to call.
            let _ = sender.send(Durable { number, record, durable, done });
        })?;
        pending.add(number, id, lsn, fields, number_of_operation);
        Ok(())
    }

    /// [`Store::submit`] that waits.
    ///
    /// # Errors
    /// As [`Store::submit`], and what `done` would have got.
    pub fn submit_wait(&self, name: &str, operation: Operation) -> Result<Outcome, StoreError> {
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        self.submit(name, operation, move |outcome| {
            let _ = sender.send(outcome);
        })?;
        receiver.recv().unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for Store {
    /// Waits until everything that was submitted is done.
    fn drop(&mut self) {
        drop(self.log.take());
        lock(&self.pending).close();
        if let Some(applier) = self.applier.take() {
            let _ = applier.join();
        }
    }
}

/// No code under the lock panics half way, so that what a poisoned lock guards is whole.
pub(super) fn lock(pending: &Mutex<Pending>) -> MutexGuard<'_, Pending> {
    pending.lock().unwrap_or_else(PoisonError::into_inner)
}

fn start(mut writer: Writer, receiver: Receiver<Durable>) -> Result<JoinHandle<()>, StoreError> {
    let thread = std::thread::Builder::new().name("stead-store".to_owned());
    thread.spawn(move || writer.run(&receiver)).map_err(|e| StoreError::Thread(e.kind()))
}
