//! The thread that writes snapshots, one at a time, while documents are fed and read.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stead_log::{Io, Pruner};

use super::backup;
use super::write::{Catalog, Cut};
use crate::durable::writer::{Message, Told};
use crate::error::StoreError;

/// By how much the thread yields to those that take operations and answer queries: while these want all cores it gets a tenth of
/// what one of them gets, enough to write what a store can take, and nobody waits for it.
const NICE: i32 = 10;

/// What there is to tell of snapshots since the store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SnapshotStats {
    /// The number of the last record of the log that the newest snapshot has; 0 if there is none.
    pub lsn: u64,
    /// Snapshots that were written.
    pub written: u64,
    /// Snapshots that could not be written.
    pub failed: u64,
    /// Why the last one could not be written, if it could not.
    pub error: Option<StoreError>,
    /// Bytes of columns and bodies that were written for them.
    pub written_bytes: u64,
    /// Bytes of all files of columns and bodies.
    pub disk_bytes: u64,
}

/// What the thread does.
pub(in crate::durable) enum Job {
    /// Writes a snapshot.
    Snapshot(Cut, Vec<Told>),
    /// Copies the newest snapshot to another folder.
    Backup(Arc<dyn Io>, Told),
}

/// What the store and the thread share.
#[derive(Debug, Default)]
pub(in crate::durable) struct Shared {
    stats: Mutex<SnapshotStats>,
    /// Ends the snapshot that is being written.
    pub(in crate::durable) closing: AtomicBool,
}

impl Shared {
    pub(in crate::durable) fn stats(&self) -> MutexGuard<'_, SnapshotStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes snapshots.
pub(in crate::durable) struct Keeper {
    io: Arc<dyn Io>,
    catalog: Catalog,
    pruner: Pruner,
    pack_bytes: u64,
    shared: Arc<Shared>,
}

impl Keeper {
    pub(in crate::durable) fn new(
        io: Arc<dyn Io>,
        catalog: Catalog,
        pruner: Pruner,
        pack_bytes: u64,
    ) -> (Keeper, Arc<Shared>) {
        let shared = Arc::new(Shared::default());
        let keeper = Keeper { io, catalog, pruner, pack_bytes, shared: shared.clone() };
        keeper.measure();
        (keeper, shared)
    }

    /// Removes what a process before has left unfinished.
    ///
    /// # Errors
    /// What the folder answers.
    pub(in crate::durable) fn tidy(&mut self) -> Result<(), StoreError> {
        self.catalog.tidy(&*self.io)
    }

    /// Until nobody asks for snapshots any more. `applier` is told of each, and tells `told`.
    pub(in crate::durable) fn run(mut self, jobs: &Receiver<Job>, applier: &Sender<Message>) {
        // Of this thread only, as Linux has it. Where it is refused, snapshots are written as fast as all else.
        let _ = rustix::process::nice(NICE);
        while let Ok(job) = jobs.recv() {
            let (cut, told) = match job {
                Job::Snapshot(cut, told) => (cut, told),
                Job::Backup(to, told) => {
                    // Here, so that nothing of the newest snapshot is removed meanwhile.
                    let newest = self.catalog.kept.first();
                    let _ = told
                        .send(newest.map_or(Ok(()), |kept| backup::copy(&*self.io, kept, &*to)));
                    continue;
                }
            };
            let result = self.catalog.write(&*self.io, &cut, self.pack_bytes, &self.shared.closing);
            {
                let mut stats = self.shared.stats();
                match &result {
                    Ok(stored) => {
                        stats.written += 1;
                        stats.written_bytes += stored.bytes;
                        stats.error = None;
                    }
                    Err(error) => {
                        stats.failed += 1;
                        stats.error = Some(error.clone());
                    }
                }
            }
            // Where it failed, what was begun is removed, so that a disk that is full gets its room back. What cannot be removed now is
            // tried again after the next snapshot; the snapshots are good as they are.
            if let Err(error) = self.clean() {
                self.shared.stats().error.get_or_insert(error);
            }
            self.measure();
            drop(cut);
            // The applier is gone where the store is being closed.
            let _ = applier.send(Message::Stored(result, told));
        }
    }

    fn clean(&mut self) -> Result<(), StoreError> {
        self.catalog.tidy(&*self.io)?;
        // The log stays from the older snapshot on.
        if let [_, older] = &self.catalog.kept[..] {
            self.pruner.prune(older.lsn + 1)?;
        }
        Ok(())
    }

    fn measure(&self) {
        let mut stats = self.shared.stats();
        stats.lsn = self.catalog.kept.first().map_or(0, |kept| kept.lsn);
        stats.disk_bytes = self.catalog.packs.values().map(|(_, bytes)| bytes).sum();
    }
}
