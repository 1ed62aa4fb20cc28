//! From files to documents.

use std::collections::HashMap;
use std::sync::Arc;

use stead_log::{DirLock, Io, Log, LogError, LogOptions, Recovery, Rng, tag};

use super::ids::Ids;
use super::record::begin;
use super::snapshot::{Catalog, load};
use super::store::Outcome;
use super::writer::apply_record;
use crate::error::StoreError;
use crate::kind::DocumentType;
use crate::live::Collection;
use crate::paged::PageCache;

/// The name of the folder in errors.
const FOLDER: &str = "the folder of the documents";

/// What the files of a store have led to.
pub(super) struct Opened {
    pub(super) log: Log,
    pub(super) recovery: Recovery,
    /// By the numbers of the types.
    pub(super) collections: Vec<Collection>,
    pub(super) ids: Ids,
    pub(super) catalog: Catalog,
    /// What is wrong with the snapshots that were left out.
    pub(super) damaged: Vec<StoreError>,
}

/// Takes the folder for this process.
pub(super) fn lock(io: &dyn Io) -> Result<Box<dyn DirLock>, StoreError> {
    io.lock().map_err(|error| match error.kind() {
        std::io::ErrorKind::WouldBlock => StoreError::Log(LogError::Locked),
        kind => LogError::Io { action: "lock", what: FOLDER.to_owned(), kind }.into(),
    })
}

/// Loads the newest snapshot that can be read as far as the log behind it needs it, and replays the log.
pub(super) fn open(
    io: &Arc<dyn Io>,
    rng: &Arc<dyn Rng>,
    types: &[DocumentType],
    pages: &Arc<PageCache>,
    options: LogOptions,
) -> Result<Opened, StoreError> {
    // Whoever else holds the folder should be told of, not what is found while he writes.
    drop(lock(&**io)?);
    let (mut damaged, mut below) = (Vec::new(), u64::MAX);
    loop {
        let mut loaded = load(&**io, types, pages, below)?;
        damaged.append(&mut loaded.damaged);
        // In a copy without a log nothing tells what an older snapshot lacks.
        if !damaged.is_empty() && !loaded.has_log {
            return Err(damaged.swap_remove(0));
        }
        let newest = loaded.catalog.newest();
        let (lsn, mut collections) = (loaded.lsn, loaded.collections);
        let mut ids = Ids::default();
        for (id, outcome) in loaded.operations {
            ids.applied(id, outcome);
        }
        let options =
            LogOptions { tag: tag("stead-documents"), replay_from: lsn + 1, ..options.clone() };
        match replay(io, rng, options, &mut collections, &mut ids) {
            Ok((log, recovery)) => {
                if recovery.first_lsn > lsn + 1 {
                    let gap = StoreError::Gap { from: lsn + 1, to: recovery.first_lsn - 1 };
                    return Err(damaged.into_iter().next().unwrap_or(gap));
                }
                let catalog = loaded.catalog;
                return Ok(Opened { log, recovery, collections, ids, catalog, damaged });
            }
            // A change of a document needs the rest of it, which lies in the snapshot.
            Err(error) if error.is_damage() => match newest {
                Some(number) => {
                    damaged.push(error);
                    below = number;
                }
                None => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
}

fn replay(
    io: &Arc<dyn Io>,
    rng: &Arc<dyn Rng>,
    options: LogOptions,
    collections: &mut [Collection],
    ids: &mut Ids,
) -> Result<(Log, Recovery), StoreError> {
    let numbers: HashMap<String, usize> =
        collections.iter().enumerate().map(|(at, c)| (c.kind().name().to_owned(), at)).collect();
    let visit = |lsn: u64, payload: &[u8]| {
        let fail = |error| StoreError::Record { lsn, error };
        let (name, rest) = begin(payload).map_err(fail)?;
        let Some(collection) = numbers.get(name).and_then(|at| collections.get_mut(*at)) else {
            return Ok(());
        };
        let record = rest.read(collection.kind()).map_err(fail)?;
        let outcome = match apply_record(collection, &record) {
            // What there was no room for then has none now.
            Err(StoreError::Full { .. }) => Outcome::Applied,
            outcome => outcome?,
        };
        ids.applied(record.operation, outcome);
        Ok::<(), StoreError>(())
    };
    let opened = Log::open(io.clone(), rng.clone(), options, visit)?;
    collections.iter_mut().for_each(Collection::publish);
    Ok(opened)
}
