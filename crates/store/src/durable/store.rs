//! The store: where operations are submitted and views are taken.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::UNIX_EPOCH;

use stead_log::{Clock, Io, Recovery, Rng};

use super::expiry::Keeps;
use super::ids::Ids;
use super::journal::Journal;
use super::open::{Opened, open};
use super::options::StoreOptions;
use super::room::Room;
use super::snapshot::{Keeper, Shared, SnapshotStats};
use super::writer::{Message, Pending, Snapshots, Writer};
use crate::error::StoreError;
use crate::indexing::Scripts;
use crate::kind::DocumentType;
use crate::live::{Collection, Reader, TextMerge};
use crate::paged::{PageCache, PageStats};

/// What has become of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is durable, and readers see it.
    Applied,
    /// There is no such document, and so nothing was changed.
    Absent,
    /// The document, or that there is none, is not what the condition wants; nothing was changed.
    ConditionFailed,
    /// The document is none of those that the store [keeps](Store::keep); nothing was changed.
    Ignored,
}

/// Called once with what has become of an operation.
pub type Done = Box<dyn FnOnce(Result<Outcome, StoreError>) + Send>;

/// Documents of several types and the log that makes them durable. Any number of threads submit operations and take views.
///
/// When writing the log has failed, every operation fails from then on; views are still there.
pub struct Store {
    pub(super) types: BTreeMap<String, Stored>,
    pub(super) pending: Arc<Mutex<Pending>>,
    pub(super) journal: Option<Journal>,
    applier: Option<JoinHandle<()>>,
    keeper: Option<JoinHandle<()>>,
    snapshots: Arc<Shared>,
    recovery: Recovery,
    damaged: Vec<StoreError>,
    pages: Arc<PageCache>,
    clock: Arc<dyn Clock>,
    pub(super) room: Arc<Room>,
    /// What the chance of the next operation's scripts begins with.
    pub(super) seed: AtomicU64,
}

/// What is known of a type where operations are submitted.
pub(super) struct Stored {
    pub(super) kind: DocumentType,
    pub(super) reader: Reader,
    pub(super) scripts: Option<Scripts>,
    /// Which documents are kept; all where nothing says.
    pub(super) keeps: Option<Arc<Keeps>>,
    /// Its number among the types.
    pub(super) number: usize,
}

impl Store {
    /// Opens a store: its documents are those that the newest snapshot and the log behind it lead to. Documents of types that are
    /// not given are left out.
    ///
    /// # Errors
    /// What the log answers, and records that cannot be read. [`StoreError::Damaged`] or [`StoreError::Gap`] when neither the newest
    /// snapshot nor the one before it can be read.
    pub fn open(
        io: Arc<dyn Io>,
        rng: Arc<dyn Rng>,
        types: Vec<DocumentType>,
        options: StoreOptions,
    ) -> Result<Store, StoreError> {
        let pages = PageCache::new(options.page_bytes);
        let Opened { log, recovery, collections, ids, catalog, damaged } =
            open(&io, &rng, &types, &pages, options.log.clone())?;
        let (mut keeper, shared) =
            Keeper::new(io, catalog, log.pruner(), options.snapshots.pack_bytes);
        if damaged.is_empty() {
            keeper.tidy()?;
        }
        let (job_sender, jobs) = channel();
        let snapshots = Snapshots::new(&options, Some(job_sender), shared, recovery);
        let mut store = Store::assemble(&*rng, options, (collections, ids), snapshots)?;
        (store.journal, store.recovery, store.damaged) =
            (Some(Journal::Log(log)), recovery, damaged);
        store.pages = pages;
        let to_applier = store.applier()?;
        store.keeper = Some(start("stead-snapshots", move || keeper.run(&jobs, &to_applier))?);
        Ok(store)
    }

    /// A store without files: its documents live as long as the process, in memory, whatever is said of `paged`.
    ///
    /// # Errors
    /// When there are no threads or random numbers to be had.
    pub fn in_memory(
        rng: &dyn Rng,
        types: Vec<DocumentType>,
        options: StoreOptions,
    ) -> Result<Store, StoreError> {
        let collections = types.into_iter().map(Collection::new).collect();
        let (shared, recovery) = (Arc::default(), Recovery { next_lsn: 1, ..Recovery::default() });
        let snapshots = Snapshots::new(&options, None, shared, recovery);
        let mut store = Store::assemble(rng, options, (collections, Ids::default()), snapshots)?;
        store.journal = Some(Journal::Memory(AtomicU64::new(0)));
        Ok(store)
    }

    /// The store but for where its records go.
    fn assemble(
        rng: &dyn Rng,
        options: StoreOptions,
        (collections, ids): (Vec<Collection>, Ids),
        snapshots: Snapshots,
    ) -> Result<Store, StoreError> {
        let seed = rng.next_u64().map_err(|e| StoreError::Randomness(e.kind()))?;
        let of = |(number, collection): (usize, &Collection)| {
            let (kind, reader) = (collection.kind().clone(), collection.reader());
            let scripts = options.scripts.iter().find(|s| s.kind().name() == kind.name()).cloned();
            (kind.name().to_owned(), Stored { kind, reader, scripts, keeps: None, number })
        };
        let types = collections.iter().enumerate().map(of).collect();
        let (sender, receiver) = channel();
        let pending = Arc::new(Mutex::new(Pending::new(collections.len(), sender, ids)));
        let shared = Arc::clone(&snapshots.shared);
        let (merges, jobs) = channel();
        let to_applier = lock(&pending).sender();
        let mut writer = Writer {
            collections,
            pending: pending.clone(),
            snapshots,
            merges,
            rest_after: options.rest_after,
            is_changed: true,
        };
        // Ends with the writer.
        start("stead-texts", move || join_segments(&jobs, to_applier))?;
        let applier = start("stead-store", move || writer.run(&receiver))?;
        Ok(Store {
            types,
            pending,
            journal: None,
            applier: Some(applier),
            keeper: None,
            snapshots: shared,
            recovery: Recovery::default(),
            damaged: Vec::new(),
            pages: PageCache::new(0),
            clock: options.clock,
            room: Room::new(options.room),
            seed: AtomicU64::new(seed),
        })
    }

    /// What was found when the store was opened.
    #[must_use]
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// What is wrong with snapshots that were left out when the store was opened: an older one and the log have led to the same
    /// documents.
    #[must_use]
    pub fn damaged(&self) -> &[StoreError] {
        &self.damaged
    }

    /// Writes a snapshot of everything that is applied, and waits for it. Operations and views go on meanwhile.
    ///
    /// # Errors
    /// What the disk answers. The snapshots before are still there, and the store goes on.
    pub fn snapshot(&self) -> Result<(), StoreError> {
        let (told, result) = channel();
        self.tell(Message::Snapshot(told))?;
        result.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Copies everything that is applied to another folder, of which a store can be opened, and waits for it. Operations and views
    /// go on meanwhile.
    ///
    /// # Errors
    /// As [`Store::snapshot`]; when the folder has documents; what the disk answers.
    pub fn backup(&self, to: Arc<dyn Io>) -> Result<(), StoreError> {
        self.snapshot()?;
        let (told, result) = channel();
        self.tell(Message::Backup(to, told))?;
        result.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// What there is to tell of snapshots.
    #[must_use]
    pub fn snapshot_stats(&self) -> SnapshotStats {
        self.snapshots.stats().clone()
    }

    /// What there is to tell of columns that lie on disk.
    #[must_use]
    pub fn page_stats(&self) -> PageStats {
        self.pages.stats()
    }

    fn applier(&self) -> Result<Sender<Message>, StoreError> {
        lock(&self.pending).sender().ok_or(StoreError::Closed)
    }

    fn tell(&self, message: Message) -> Result<(), StoreError> {
        self.applier()?.send(message).map_err(|_| StoreError::Closed)
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

    /// Seconds since 1970, as `now()` of selections has them.
    pub(super) fn now(&self) -> i64 {
        self.clock.wall().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs() as i64)
    }

    pub(super) fn stored(&self, name: &str) -> Result<&Stored, StoreError> {
        self.types.get(name).ok_or_else(|| StoreError::Type(name.to_owned()))
    }

    /// Operations that were submitted and are not yet done.
    #[must_use]
    pub fn operations_in_flight(&self) -> usize {
        self.room.operations()
    }
}

impl Drop for Store {
    /// Waits until everything that was submitted is done and a snapshot has it. Where the log has failed there is none: the next
    /// opening tells what is durable.
    fn drop(&mut self) {
        if self.journal.as_ref().is_some_and(Journal::is_whole) {
            // The log has everything; a snapshot that fails costs nothing but time.
            let _ = self.snapshot();
        }
        self.snapshots.closing.store(true, Ordering::Relaxed);
        let _ = self.tell(Message::NoSnapshots);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
        drop(self.journal.take());
        let _ = self.tell(Message::End);
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

/// Joins segments of indexes of texts until nobody has any.
fn join_segments(jobs: &Receiver<(usize, TextMerge)>, to_applier: Option<Sender<Message>>) {
    for (number, merge) in jobs {
        if let Some(to_applier) = &to_applier {
            // One that has ended needs none.
            let _ = to_applier.send(Message::Merged(number, merge.run()));
        }
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(|e| StoreError::Thread(e.kind()))
}
