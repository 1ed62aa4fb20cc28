//! The documents of the application that is served.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock, TryLockError};

use stead_app::application::Application;
use stead_log::{DiskIo, LogError, SystemRng};
use stead_store::{
    DocumentType, NoEmbedder, Operation, Outcome, Reader, RoomOptions, Scripts, SnapshotStats,
    Store, StoreError, StoreOptions,
};

use super::upload::failed;
use crate::{Code, Error};

/// What views of the documents of each type are taken from.
pub(super) type Readers = BTreeMap<String, Reader>;

/// The documents below a folder or in memory, of the types of one application at a time.
pub(super) struct Documents {
    folder: Option<PathBuf>,
    room: RoomOptions,
    /// None before the first application, and where opening it again failed.
    store: RwLock<Option<Store>>,
}

/// The types of documents that an application stores, with the clusters that have them.
pub(super) fn clusters(application: &Application) -> BTreeMap<String, String> {
    let clusters = application.services.contents.iter();
    let types = clusters.flat_map(|cluster| {
        cluster.documents.iter().map(|d| (d.kind.value.clone(), cluster.id.clone()))
    });
    types.collect()
}

/// The types of documents that an application stores, with their scripts.
fn types(application: &Application) -> Vec<Scripts> {
    let names = clusters(application).into_keys();
    let schemas = names.filter_map(|name| application.schema(&name));
    schemas.map(|schema| Scripts::new(schema, &DocumentType::stored(schema))).collect()
}

/// Each field that no script can fill here, by the name of what its script asks for.
pub(super) fn check_scripts(application: &Application) -> Result<(), Error> {
    let mut lines = Vec::new();
    for scripts in types(application) {
        for unfilled in scripts.unfilled(&NoEmbedder) {
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
    pub(super) fn new(folder: &Path, room: RoomOptions) -> Documents {
        Documents { folder: Some(folder.to_owned()), room, store: RwLock::new(None) }
    }

    /// Those of an application that stays, in memory.
    pub(super) fn in_memory() -> Documents {
        Documents { folder: None, room: RoomOptions::default(), store: RwLock::new(None) }
    }

    fn open(&self, application: &Application) -> Result<Store, Error> {
        let scripts = types(application);
        let kinds = scripts.iter().map(|scripts| scripts.kind().clone()).collect();
        let options = StoreOptions { scripts, room: self.room, ..StoreOptions::default() };
        let store = match &self.folder {
            None => Store::in_memory(&SystemRng, kinds, options),
            Some(folder) => {
                let io = DiskIo::new(folder);
                let io = io.map_err(|e| failed("make the folder of documents", &e))?;
                Store::open(Arc::new(io), Arc::new(SystemRng), kinds, options)
            }
        };
        let store =
            store.map_err(|error| Error::new(Code::Internal, format!("the documents: {error}")))?;
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

    /// Does something that an activation waits for.
    fn with_store<T>(&self, work: impl FnOnce(&Store) -> Result<T, Error>) -> Result<T, Error> {
        // No code under the lock panics.
        let store = self.store.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let none = || Error::new(Code::FailedPrecondition, "no application is active");
        work(store.as_ref().ok_or_else(none)?)
    }

    /// Opens the documents with the types of an application, unless those of `before` are the same: what was fed is read again from
    /// a snapshot. Operations that are sent meanwhile are refused with [`Code::Unavailable`]; readers of before go on. When it
    /// fails, `before` stays.
    pub(super) fn change(
        &self,
        before: Option<&Application>,
        application: &Application,
    ) -> Result<Readers, Error> {
        // No code under the lock panics.
        let mut store = self.store.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_same = |before: &Application| {
            before.schemas == application.schemas && clusters(before) == clusters(application)
        };
        if let Some(store) = store.as_ref().filter(|_| before.is_some_and(is_same)) {
            return Ok(readers(store));
        }
        // The folder is held until everything that was submitted is done.
        drop(store.take());
        match self.open(application) {
            Ok(opened) => Ok(readers(store.insert(opened))),
            Err(error) => {
                *store = before.and_then(|application| self.open(application).ok());
                Err(error)
            }
        }
    }

    /// See [`Store::submit`].
    pub(super) fn submit(
        &self,
        name: &str,
        operation: Operation,
        done: impl FnOnce(Result<Outcome, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let done = move |outcome: Result<_, _>| done(outcome.map_err(refused));
        self.try_store(|store| store.submit(name, operation, done))
    }

    /// See [`Store::feed`].
    pub(super) fn feed(
        &self,
        name: &str,
        operation: Operation,
        done: impl FnOnce(Result<Outcome, Error>) + Send + 'static,
    ) -> Result<(), Error> {
        let done = move |outcome: Result<_, _>| done(outcome.map_err(refused));
        self.try_store(|store| store.feed(name, operation, done))
    }

    fn try_store(&self, act: impl FnOnce(&Store) -> Result<(), StoreError>) -> Result<(), Error> {
        let busy =
            || Error::new(Code::Unavailable, "an application is being activated; send this again");
        let store = match self.store.try_read() {
            Ok(store) => store,
            Err(TryLockError::WouldBlock) => return Err(busy()),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        act(store.as_ref().ok_or_else(busy)?).map_err(refused)
    }
}

fn readers(store: &Store) -> Readers {
    let reader = |name: &str| Some((name.to_owned(), store.reader(name).ok()?));
    store.types().filter_map(reader).collect()
}

fn refused(error: StoreError) -> Error {
    let code = match &error {
        StoreError::Type(_) | StoreError::Input { .. } => Code::InvalidArgument,
        StoreError::Busy { .. } => Code::Overloaded,
        StoreError::Full { .. } => Code::ResourceExhausted,
        StoreError::Log(LogError::TooLarge { .. }) => Code::PayloadTooLarge,
        _ => Code::Internal,
    };
    Error::new(code, error.to_string())
}
