//! The documents of the application that is served.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, RwLock, TryLockError};

use stead_app::application::Application;
use stead_app::package::Report;
use stead_app::services::IndexMode;
use stead_expr::TensorType;
use stead_log::{Clock, DiskIo, LogError, SystemClock, SystemRng};
use stead_store::{
    DocumentType, Embedding, Expired, Operation, Outcome, PageStats, Reader, RoomOptions, Scripts,
    Selection, SnapshotStats, Store, StoreError, StoreOptions,
};

use super::texts::{EmbedderNames, Texts};
use super::upload::failed;
use crate::embedders::{Embedders, Role};
use crate::{Code, Error};

/// What views of the documents of each type are taken from.
pub(super) type Readers = BTreeMap<String, Reader>;

/// How documents are kept.
#[derive(Clone)]
pub struct DocumentOptions {
    /// What operations that are not yet done may come to.
    pub room: RoomOptions,
    /// What `now()` of selections, and the intervals of garbage collection, are told by.
    pub clock: Arc<dyn Clock>,
}

impl Default for DocumentOptions {
    fn default() -> DocumentOptions {
        DocumentOptions { room: RoomOptions::default(), clock: Arc::new(SystemClock::default()) }
    }
}

/// What becomes of an operation while too many are not yet done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenBusy {
    /// It is refused with [`Code::Overloaded`].
    Refuse,
    /// Who submits it waits.
    Wait,
}

/// Documents that are looked at in one go for those that are to be removed: a few milliseconds, and one group of the log.
pub(super) const BATCH: usize = 1024;

/// The documents below a folder or in memory, of the types of one application at a time.
pub(super) struct Documents {
    folder: Option<PathBuf>,
    options: DocumentOptions,
    /// None before the first application, and where opening it again failed.
    store: RwLock<Option<Opened>>,
    /// Operations whose texts are embedded.
    pub(super) texts: Texts,
}

/// Documents with the types of an application.
pub(super) struct Opened {
    pub(super) store: Store,
    /// What makes tensors of texts for its scripts; nothing if none asks.
    pub(super) embedders: Option<EmbedderNames>,
    /// Another one has other types.
    pub(super) number: u64,
}

/// The types of documents that an application stores, with the clusters that have them.
pub(super) fn clusters(application: &Application) -> BTreeMap<String, String> {
    let clusters = application.services.contents.iter();
    let types = clusters.flat_map(|cluster| {
        cluster.documents.iter().map(|d| (d.kind.value.clone(), cluster.id.clone()))
    });
    types.collect()
}

/// How the documents of each type are held.
pub(super) fn modes(application: &Application) -> BTreeMap<&str, IndexMode> {
    let documents = application.services.contents.iter().flat_map(|cluster| &cluster.documents);
    documents.map(|document| (document.kind.value.as_str(), document.mode)).collect()
}

/// The types of documents that an application stores, with their scripts.
fn types(application: &Application) -> Vec<Scripts> {
    let kinds = modes(application).into_iter().filter_map(|(name, mode)| {
        let schema = application.schema(name)?;
        let kind = match mode {
            IndexMode::Streaming => DocumentType::streamed(schema),
            IndexMode::Index | IndexMode::StoreOnly => DocumentType::stored(schema),
        };
        Some(Scripts::new(schema, &kind))
    });
    kinds.collect()
}

/// Which documents of an application are kept. What is wrong with selections was told when it was prepared.
fn selections(application: &Application) -> BTreeMap<String, Selection> {
    Selection::of_application(application, &mut Report::default())
}

/// Each field that no script can fill here, by the name of what its script asks for, and each that takes no tensor which its embedder
/// makes.
pub(super) fn check_scripts(
    application: &Application,
    embedders: &Arc<Embedders>,
) -> Result<(), Error> {
    let mut lines = Vec::new();
    let names = EmbedderNames::new(embedders);
    for scripts in types(application) {
        for Embedding { field, component, kinds } in scripts.embeddings() {
            // It is told below where there is none.
            let Some(id) = embedders.find(&component) else { continue };
            let fits = |kind: &TensorType| embedders.check(id, kind, Role::Document);
            let found: Result<Vec<()>, Error> = kinds.iter().map(fits).collect();
            let is_one = kinds.iter().any(|kind| fits(kind).is_ok());
            if let (Err(error), false) = (found, is_one) {
                let kind = scripts.kind().name();
                lines.push(format!("schema {kind}: field {field}: embed {id}: {error}"));
            }
        }
        for unfilled in scripts.unfilled(&names.answers()) {
            let (kind, field, step) = (scripts.kind().name(), unfilled.field, unfilled.step);
            lines.push(format!(
                "schema {kind}: field {field}: '{step}' is not supported yet when documents are fed"
            ));
        }
    }
    match lines.is_empty() {
        true => Ok(()),
        false => {
            let text = format!("Invalid application:\n{}", lines.join("\n"));
            Err(Error::new(Code::InvalidPackage, text))
        }
    }
}

impl Documents {
    /// Those below a folder.
    pub(super) fn new(folder: &Path, options: DocumentOptions) -> Documents {
        let folder = Some(folder.to_owned());
        let texts = Texts::new(options.room.operations);
        Documents { folder, options, store: RwLock::new(None), texts }
    }

    /// Those of an application that stays, in memory.
    pub(super) fn in_memory(options: DocumentOptions) -> Documents {
        let texts = Texts::new(options.room.operations);
        Documents { folder: None, options, store: RwLock::new(None), texts }
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.options.clock
    }

    fn open(&self, application: &Application) -> Result<Store, Error> {
        let scripts = types(application);
        let kinds = scripts.iter().map(|scripts| scripts.kind().clone()).collect();
        let DocumentOptions { room, clock } = self.options.clone();
        let options = StoreOptions { scripts, room, clock, ..StoreOptions::default() };
        let store = match &self.folder {
            None => Store::in_memory(&SystemRng, kinds, options),
            Some(folder) => {
                let io = DiskIo::new(folder);
                let io = io.map_err(|e| failed("make the folder of documents", &e))?;
                Store::open(Arc::new(io), Arc::new(SystemRng), kinds, options)
            }
        };
        let mut store =
            store.map_err(|error| Error::new(Code::Internal, format!("the documents: {error}")))?;
        store.keep(selections(application));
        for error in store.damaged() {
            tracing::warn!("documents were read from an older snapshot and the log: {error}");
        }
        Ok(store)
    }

    /// Where backups are written: beside the documents. There are none of what is in memory.
    pub(super) fn backups(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.with_file_name("backups"))
    }

    /// Writes a snapshot of all documents.
    pub(super) fn snapshot(&self) -> Result<SnapshotStats, Error> {
        self.with_store(|store| {
            store.snapshot().map_err(refused)?;
            Ok(store.snapshot_stats())
        })
    }

    /// Copies all documents to a folder, which is made.
    pub(super) fn backup(&self, to: &Path) -> Result<(), Error> {
        let io = DiskIo::new(to).map_err(|e| failed("make the folder of the backup", &e))?;
        self.with_store(|store| store.backup(Arc::new(io)).map_err(refused))
    }

    /// What views are taken from.
    #[cfg(test)]
    pub(super) fn readers(&self) -> Result<Readers, Error> {
        self.with_store(|store| Ok(readers(store)))
    }

    /// What there is to tell of snapshots and of columns on disk, and how many operations are not yet done; nothing while an application
    /// is being activated.
    pub(super) fn stats(&self) -> (SnapshotStats, PageStats, usize) {
        let store = match self.store.try_read() {
            Ok(store) => store,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Default::default(),
        };
        let stats = |Opened { store, .. }: &Opened| {
            (store.snapshot_stats(), store.page_stats(), store.operations_in_flight())
        };
        store.as_ref().map(stats).unwrap_or_default()
    }

    /// Does something that an activation waits for.
    fn with_store<T>(&self, work: impl FnOnce(&Store) -> Result<T, Error>) -> Result<T, Error> {
        // No code under the lock panics.
        let store = self.store.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let none = || Error::new(Code::FailedPrecondition, "no application is active");
        work(&store.as_ref().ok_or_else(none)?.store)
    }

    /// Opens the documents with the types of an application, unless those of `before` are the same: what was fed is read again from
    /// a snapshot. Operations that are sent meanwhile are refused with [`Code::Unavailable`]; readers of before go on. When it
    /// fails, `before` stays.
    pub(super) fn change(
        &self,
        before: Option<&Application>,
        application: &Application,
        embedders: &Arc<Embedders>,
    ) -> Result<Readers, Error> {
        // No code under the lock panics.
        let mut store = self.store.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_same = |before: &Application| {
            before.schemas == application.schemas
                && clusters(before) == clusters(application)
                && modes(before) == modes(application)
        };
        let names = EmbedderNames::new(embedders);
        if let Some(opened) = store.as_mut().filter(|_| before.is_some_and(is_same)) {
            opened.store.keep(selections(application));
            opened.embedders = opened.store.embeds().then_some(names);
            return Ok(readers(&opened.store));
        }
        // The folder is held until everything that was submitted is done.
        let (number, of_before) = match store.take() {
            Some(Opened { embedders, number, .. }) => (number + 1, embedders),
            None => (0, None),
        };
        match self.open(application) {
            Ok(opened) => {
                let embedders = opened.embeds().then_some(names);
                let found = readers(&opened);
                *store = Some(Opened { store: opened, embedders, number });
                Ok(found)
            }
            Err(error) => {
                let opened = before.and_then(|application| self.open(application).ok());
                *store = opened.map(|store| Opened { store, embedders: of_before, number });
                Err(error)
            }
        }
    }

    /// See [`Store::submit`] and [`Store::feed`]. Texts that scripts want embedded are embedded first.
    pub(super) fn submit(
        self: &Arc<Self>,
        name: &str,
        operation: Operation,
        when_busy: WhenBusy,
        done: impl FnOnce(Result<Outcome, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let embeds = self.try_store(|opened| Ok(opened.embedders.is_some()))?;
        if embeds {
            return self.texts.submit(self, name, operation, when_busy, Box::new(done));
        }
        let done = move |outcome: Result<_, _>| done(outcome.map_err(refused));
        self.try_store(|opened| {
            let submitted = match when_busy {
                WhenBusy::Refuse => opened.store.submit(name, operation, done),
                WhenBusy::Wait => opened.store.feed(name, operation, done),
            };
            submitted.map_err(refused)
        })
    }

    /// What is not kept of the documents of a type, among the next ones from a number on. An activation does not wait for it.
    pub(super) fn expired(&self, name: &str, from: u32) -> Result<Expired, Error> {
        let scan = self.with_store(|store| store.expiry_scan(name).map_err(refused))?;
        Ok(scan.find(from, BATCH))
    }

    /// Removes documents of a type that are not kept now either, and waits until that is durable. An activation waits for one of them
    /// at most, and before each `is_wanted` says whether it still is. Returns how many were removed.
    pub(super) fn expire(
        &self,
        name: &str,
        ids: &[String],
        is_wanted: impl Fn() -> bool,
    ) -> Result<usize, Error> {
        let (sender, outcomes) = channel();
        let submit = |id: &String| {
            self.with_store(|store| {
                let is_wanted = is_wanted();
                if is_wanted {
                    let sender = sender.clone();
                    let done = move |outcome| drop(sender.send(outcome));
                    store.expire(name, id.clone(), done).map_err(refused)?;
                }
                Ok(is_wanted)
            })
        };
        let mut submitted = Ok(true);
        let mut ids = ids.iter();
        while let (Ok(true), Some(id)) = (&submitted, ids.next()) {
            submitted = submit(id);
        }
        drop(sender);
        let mut removed = 0;
        for outcome in outcomes {
            removed += usize::from(outcome.map_err(refused)? == Outcome::Applied);
        }
        submitted.map(|_| removed)
    }

    /// Does something that does not wait for an activation.
    pub(super) fn try_store<T>(
        &self,
        act: impl FnOnce(&Opened) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let busy =
            || Error::new(Code::Unavailable, "an application is being activated; send this again");
        let store = match self.store.try_read() {
            Ok(store) => store,
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        act(store.as_ref().ok_or_else(busy)?)
    }
}

fn readers(store: &Store) -> Readers {
    let reader = |name: &str| Some((name.to_owned(), store.reader(name).ok()?));
    store.types().filter_map(reader).collect()
}

pub(super) fn refused(error: StoreError) -> Error {
    let code = match &error {
        StoreError::Type(_) | StoreError::Input { .. } => Code::InvalidArgument,
        StoreError::Busy { .. } => Code::Overloaded,
        StoreError::Full { .. } => Code::ResourceExhausted,
        StoreError::Log(LogError::TooLarge { .. }) => Code::PayloadTooLarge,
        _ => Code::Internal,
    };
    Error::new(code, error.to_string())
}
