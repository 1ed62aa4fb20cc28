//! The twin of the disk that loses, tears and refuses on command.
//!
//! It is as unkind as the contract of [`Io`] allows. On [`SimIo::crash`], for each file on its own: what was
//! synced stays; of what was appended since, any prefix survives, and within it any sectors may be zeros, as
//! after an extended length whose data never came. A cut that was not synced happened or did not. Each name
//! that was made, renamed or removed since the last [`Io::sync_dir`] is in its old or its new state. After a
//! failed sync the bytes concerned are read back until the crash and are lost by it, whatever later syncs say.

use crate::io::{DirLock, Io, IoFile};
use crate::rng::SeededRng;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What survives a torn write is decided for pieces of this size.
const SECTOR: usize = 512;

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

#[derive(Debug)]
struct Disk {
    rng: SeededRng,
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Handles and locks of an earlier boot are dead.
    boot: u64,
    locked: bool,
    calls: u64,
    power_off_at: Option<u64>,
    /// Which call fails, after how many that succeed, and how.
    faults: Vec<(Call, u64, ErrorKind)>,
    capacity: Option<u64>,
}

#[derive(Debug, Default)]
struct Inode {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// `live` up to here was in a sync that failed: lost, and nobody will be told again.
    lost_to: usize,
}

impl SimIo {
    /// An empty folder; `seed` decides what survives crashes.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let disk = Disk {
            rng: SeededRng::new(seed),
            inodes: Vec::new(),
            names: BTreeMap::new(),
            durable_names: BTreeMap::new(),
            boot: 0,
            locked: false,
            calls: 0,
            power_off_at: None,
            faults: Vec::new(),
            capacity: None,
        };
        Self { disk: Arc::new(Mutex::new(disk)) }
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
        let mut disk = self.disk();
        let Disk { rng, inodes, names, durable_names, .. } = &mut *disk;
        for inode in inodes.iter_mut() {
            inode.crash(rng);
        }
        let mut all: Vec<String> = names.keys().chain(durable_names.keys()).cloned().collect();
        all.dedup();
        for name in all {
            let (old, new) = (durable_names.get(&name).copied(), names.get(&name).copied());
            if old == new {
                continue;
            }
            let survivor = if rng.below(2) == 0 { old } else { new };
            for map in [&mut *names, &mut *durable_names] {
                match survivor {
                    Some(inode) => map.insert(name.clone(), inode),
                    None => map.remove(&name),
                };
            }
        }
        disk.restart();
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

impl Disk {
    /// Counts a call and lets it fail if it is its turn.
    fn call(&mut self, call: Call) -> io::Result<()> {
        if self.power_off_at.is_some_and(|at| self.calls >= at) {
            return Err(io::Error::other("the power is off"));
        }
        self.calls += 1;
        let mut due = None;
        self.faults.retain_mut(|(of, successes, kind)| {
            if *of != call {
                return true;
            }
            let now = *successes == 0 && due.is_none();
            if now {
                due = Some(*kind);
            }
            *successes = successes.saturating_sub(1);
            !now
        });
        due.map_or(Ok(()), |kind| Err(kind.into()))
    }

    fn restart(&mut self) {
        self.boot += 1;
        self.locked = false;
        self.power_off_at = None;
        self.faults.clear();
    }

    fn add(&mut self, inode: Inode) -> usize {
        self.inodes.push(inode);
        self.inodes.len() - 1
    }

    fn named(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn used(&self) -> u64 {
        self.names
            .values()
            .filter_map(|&inode| self.inodes.get(inode))
            .map(|i| i.live.len() as u64)
            .sum()
    }
}

impl Inode {
    fn sync(&mut self) {
        let kept = common_prefix(&self.durable, &self.live);
        self.durable.truncate(kept);
        let lost = self.lost_to.clamp(kept, self.live.len());
        self.durable.resize(lost, 0);
        self.durable.extend_from_slice(&self.live[lost..]);
    }

    fn crash(&mut self, rng: &SeededRng) {
        let kept = common_prefix(&self.durable, &self.live);
        let cut_is_durable = kept == self.durable.len() || rng.below(2) == 0;
        if cut_is_durable {
            let fresh = self.live.len() - kept;
            // Whole, nothing and anything in between, all of them often.
            let survives = match rng.below(4) {
                0 => 0,
                1 => fresh,
                _ => rng.below(fresh as u64 + 1) as usize,
            };
            self.live.truncate(kept + survives);
            if rng.below(2) == 0 {
                for sector in self.live[kept..].chunks_mut(SECTOR) {
                    if rng.below(4) == 0 {
                        sector.fill(0);
                    }
                }
            }
            let lost = self.lost_to.clamp(kept, self.live.len());
            self.live[kept..lost].fill(0);
        } else {
            self.live.clone_from(&self.durable);
        }
        self.durable.clone_from(&self.live);
        self.lost_to = 0;
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
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

struct SimFile {
    disk: Arc<Mutex<Disk>>,
    boot: u64,
    inode: usize,
}

impl SimFile {
    /// Runs `act` on the file if the call may succeed; `torn` on it if not, with the error.
    fn with<T>(
        &self,
        call: Call,
        act: impl FnOnce(&mut Inode, Option<u64>) -> io::Result<T>,
        torn: impl FnOnce(&mut Inode, &SeededRng),
    ) -> io::Result<T> {
        let mut disk = self.disk.lock().unwrap_or_else(PoisonError::into_inner);
        if disk.boot != self.boot {
            return Err(io::Error::other("the file was opened before a crash"));
        }
        let powered = disk.power_off_at.is_none_or(|at| disk.calls < at);
        let result = disk.call(call);
        let room = disk.capacity.map(|capacity| capacity.saturating_sub(disk.used()));
        let Disk { inodes, rng, .. } = &mut *disk;
        let Some(inode) = inodes.get_mut(self.inode) else {
            return Err(ErrorKind::NotFound.into());
        };
        match result {
            Ok(()) => act(inode, room),
            Err(error) => {
                if powered {
                    torn(inode, rng);
                }
                Err(error)
            }
        }
    }
}

impl IoFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        self.with(Call::Read, |inode, _| Ok(inode.live.len() as u64), |_, _| {})
    }

    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        self.with(
            Call::Read,
            |inode, _| {
                let from =
                    usize::try_from(offset).map_or(inode.live.len(), |at| at.min(inode.live.len()));
                let len = out.len().min(inode.live.len() - from);
                out[..len].copy_from_slice(&inode.live[from..from + len]);
                Ok(len)
            },
            |_, _| {},
        )
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with(
            Call::Append,
            |inode, room| {
                let fits = room.map_or(bytes.len(), |room| {
                    usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()))
                });
                inode.live.extend_from_slice(&bytes[..fits]);
                if fits < bytes.len() { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
            },
            |inode, rng| {
                let part = rng.below(bytes.len() as u64 + 1) as usize;
                inode.live.extend_from_slice(&bytes[..part]);
            },
        )
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.with(
            Call::Truncate,
            |inode, _| {
                inode.live.truncate(usize::try_from(len).unwrap_or(usize::MAX));
                inode.lost_to = inode.lost_to.min(inode.live.len());
                Ok(())
            },
            |_, _| {},
        )
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.with(
            Call::Sync,
            |inode, _| {
                inode.sync();
                Ok(())
            },
            |inode, _| inode.lost_to = inode.live.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::read_all;

    fn read(io: &SimIo, name: &str) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        read_all(&mut *io.open(name).ok()?, &mut out, 1 << 20).unwrap();
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
