//! The twin of the disk that loses, tears and refuses on command.
//!
//! It is as unkind as the contract of [`Io`] allows. On [`SimIo::crash`], for each file on its own: what was
//! synced stays; of what was appended since, any prefix survives, and within it any sectors may be zeros, as
//! after an extended length whose data never came. A cut that was not synced happened or did not. Each name
//! that was made, renamed or removed since the last [`Io::sync_dir`] is in its old or its new state. After a
//! failed sync the bytes concerned are read back until the crash and are lost by it, whatever later syncs say.

use crate::io::{DirLock, Io, IoFile};
use disk::{Disk, Inode};
use file::SimFile;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod disk;
mod file;

/// The calls that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// [`Io::list`].
    List,
    /// [`Io::open`].
    Open,
    /// [`Io::create`].
    Create,
    /// [`Io::rename`].
    Rename,
    /// [`Io::remove`].
    Remove,
    /// [`Io::sync_dir`].
    SyncDir,
    /// [`IoFile::read_at`].
    Read,
    /// [`IoFile::append`]; a part of the bytes is written.
    Append,
    /// [`IoFile::truncate`].
    Truncate,
    /// [`IoFile::sync_data`].
    Sync,
}

/// A folder in memory, with faults. Clones are the same folder.
#[derive(Debug, Clone)]
pub struct SimIo {
    disk: Arc<Mutex<Disk>>,
}

impl SimIo {
    /// An empty folder; `seed` decides what survives crashes.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { disk: Arc::new(Mutex::new(Disk::new(seed))) }
    }

    /// Every call after the next `calls` fails, until [`SimIo::crash`].
    pub fn power_off_after(&self, calls: u64) {
        let mut disk = self.disk();
        disk.power_off_at = Some(disk.calls + calls);
    }

    /// After `successes` more calls of this kind one fails with `kind`.
    pub fn fail(&self, call: Call, successes: u64, kind: ErrorKind) {
        self.disk().faults.push((call, successes, kind));
    }

    /// Bytes that all files together may have, or no limit. Appends beyond it write what fits and fail with
    /// `StorageFull`.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.disk().capacity = bytes;
    }

    /// Loss of power and a new start: handles and locks are dead, what was not synced is torn, faults that wait
    /// are forgotten.
    pub fn crash(&self) {
        self.disk().crash();
    }

    /// The death of the process alone: handles and locks are dead, every byte that was written is there.
    pub fn kill(&self) {
        self.disk().restart();
    }

    /// How many calls were made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.disk().calls
    }

    /// The bytes of a file, as they are read now.
    #[must_use]
    pub fn contents(&self, name: &str) -> Option<Vec<u8>> {
        let disk = self.disk();
        let inode = *disk.names.get(name)?;
        disk.inodes.get(inode).map(|inode| inode.live.clone())
    }

    /// Replaces the bytes of a file behind everyone's back, durably; makes it if need be.
    pub fn set_contents(&self, name: &str, bytes: &[u8]) {
        let mut disk = self.disk();
        let inode = disk.add(Inode { live: bytes.to_vec(), durable: bytes.to_vec(), lost_to: 0 });
        disk.names.insert(name.to_owned(), inode);
        disk.durable_names.insert(name.to_owned(), inode);
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, disk: &Disk, inode: usize) -> Box<dyn IoFile> {
        Box::new(SimFile { disk: Arc::clone(&self.disk), boot: disk.boot, inode })
    }
}

impl Io for SimIo {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut disk = self.disk();
        disk.call(Call::List)?;
        Ok(disk.names.keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        let mut disk = self.disk();
        disk.call(Call::Open)?;
        let inode = disk.named(name)?;
        Ok(self.handle(&disk, inode))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        let mut disk = self.disk();
        disk.call(Call::Create)?;
        let inode = disk.add(Inode::default());
        disk.names.insert(name.to_owned(), inode);
        Ok(self.handle(&disk, inode))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(Call::Rename)?;
        let inode = disk.named(from)?;
        disk.names.remove(from);
        disk.names.insert(to.to_owned(), inode);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(Call::Remove)?;
        disk.named(name)?;
        disk.names.remove(name);
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.call(Call::SyncDir)?;
        disk.durable_names = disk.names.clone();
        Ok(())
    }

    fn lock(&self) -> io::Result<Box<dyn DirLock>> {
        let mut disk = self.disk();
        if disk.locked {
            return Err(ErrorKind::WouldBlock.into());
        }
        disk.locked = true;
        Ok(Box::new(SimLock { disk: Arc::clone(&self.disk), boot: disk.boot }))
    }
}

struct SimLock {
    disk: Arc<Mutex<Disk>>,
    boot: u64,
}

impl DirLock for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        if disk.boot == self.boot {
            disk.locked = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::read_all;

    fn read(io: &SimIo, name: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        read_all(&*io.open(name).ok()?, &mut out, 1 << 20).unwrap();
        Some(out)
    }

    #[test]
    fn what_is_not_synced_may_survive_or_not() {
        let (mut lengths, mut holes, mut lost_names) = (std::collections::BTreeSet::new(), 0, 0);
        for seed in 0..300 {
            let io = SimIo::new(seed);
            let mut file = io.create("a").unwrap();
            file.append(b"durable").unwrap();
            file.sync_data().unwrap();
            io.sync_dir().unwrap();
            file.append(&[7; 20]).unwrap();
            io.create("b").unwrap();
            io.crash();
            let left = read(&io, "a").unwrap();
            assert!(left.starts_with(b"durable"), "seed {seed}");
            lengths.insert(left.len());
            holes += u32::from(left.ends_with(&[0]));
            lost_names += u32::from(read(&io, "b").is_none());
            assert!(file.append(b"x").is_err(), "the handle is dead");
        }
        assert!(lengths.len() > 15 && lengths.contains(&7) && lengths.contains(&27));
        assert!(holes > 5 && (50..250).contains(&lost_names));
    }

    #[test]
    fn a_failed_sync_loses_what_it_should_have_kept() {
        for seed in 0..50 {
            let io = SimIo::new(seed);
            let mut file = io.create("a").unwrap();
            io.sync_dir().unwrap();
            file.append(b"lost").unwrap();
            io.fail(Call::Sync, 0, ErrorKind::Other);
            assert!(file.sync_data().is_err());
            file.sync_data().unwrap();
            assert_eq!(read(&io, "a").unwrap(), b"lost", "the page cache still has it");
            io.crash();
            assert_ne!(read(&io, "a").unwrap(), b"lost", "seed {seed}");
        }
    }

    #[test]
    fn faults_come_when_they_are_due() {
        let io = SimIo::new(1);
        io.fail(Call::Create, 1, ErrorKind::PermissionDenied);
        let mut file = io.create("a").unwrap();
        assert_eq!(io.create("b").err().unwrap().kind(), ErrorKind::PermissionDenied);
        io.create("b").unwrap();
        io.set_capacity(Some(5));
        assert_eq!(file.append(b"1234567").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(read(&io, "a").unwrap(), b"12345");
        io.power_off_after(0);
        assert!(io.sync_dir().is_err());
        io.kill();
        io.sync_dir().unwrap();
    }
}
