//! The file of states that do not fit the memory. It lives as long as the process: after a restart states come from
//! the log.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places are multiples of this, so that a place that was given back suits other states too.
const UNIT: u64 = 256;

/// The file.
pub(crate) struct Spill {
    file: File,
    space: Mutex<Space>,
}

/// Which parts of the file are taken.
#[derive(Default)]
struct Space {
    end: u64,
    taken: u64,
    /// Places that were given back, by their size.
    free: BTreeMap<u64, Vec<u64>>,
}

/// A state in the file. Dropping it gives the place back.
pub(crate) struct Slot {
    spill: Arc<Spill>,
    at: u64,
    len: u32,
    crc: u32,
    /// How many slots the model has.
    count: Arc<AtomicU64>,
}

impl Spill {
    /// Makes the file; one that a process before has left is emptied.
    ///
    /// # Errors
    /// What the file system answers.
    pub(super) fn new(folder: &Path) -> io::Result<Arc<Spill>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let file = options.open(folder.join("spill"))?;
        Ok(Arc::new(Spill { file, space: Mutex::default() }))
    }

    fn space(&self) -> MutexGuard<'_, Space> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts bytes into the file. `count` says how many of these there are.
    ///
    /// # Errors
    /// What the file system answers, and `FileTooLarge` for 4 GiB.
    pub(crate) fn put(self: &Arc<Self>, bytes: &[u8], count: &Arc<AtomicU64>) -> io::Result<Slot> {
        let len = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let at = self.space().take(size_of_place(len));
        count.fetch_add(1, Ordering::Relaxed);
        let crc = crc32c::crc32c(bytes);
        // From here on the place is given back whatever happens.
        let slot = Slot { spill: Arc::clone(self), at, len, crc, count: Arc::clone(count) };
        self.write(at, bytes)?;
        Ok(slot)
    }

    #[cfg(unix)]
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.file, bytes, at)
    }

    #[cfg(unix)]
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, at)
    }

    #[cfg(not(unix))]
    fn write(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        // The lock keeps two positions apart.
        let _space = self.space();
        (&self.file).seek(SeekFrom::Start(at))?;
        (&self.file).write_all(bytes)
    }

    #[cfg(not(unix))]
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let _space = self.space();
        (&self.file).seek(SeekFrom::Start(at))?;
        (&self.file).read_exact(bytes)
    }
}

impl Slot {
    /// The bytes that were put.
    ///
    /// # Errors
    /// What the file system answers, and `InvalidData` when the bytes are others.
    pub(crate) fn get(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.len as usize];
        self.spill.read(self.at, &mut bytes)?;
        if crc32c::crc32c(&bytes) != self.crc {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(bytes)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        let mut space = self.spill.space();
        space.give_back(self.at, size_of_place(self.len));
        if space.taken == 0 {
            // Nobody else writes while the lock is held and nothing is taken. A file that cannot be cut is used again.
            drop(self.spill.file.set_len(0));
            *space = Space::default();
        }
    }
}

impl Space {
    fn take(&mut self, size: u64) -> u64 {
        self.taken += size;
        if let Some(at) = self.free.get_mut(&size).and_then(Vec::pop) {
            return at;
        }
        self.end += size;
        self.end - size
    }

    fn give_back(&mut self, at: u64, size: u64) {
        self.taken -= size;
        self.free.entry(size).or_default().push(at);
    }
}

/// The size of the place of so many bytes: at most an eighth more, so that there are few sizes.
fn size_of_place(len: u32) -> u64 {
    let len = u64::from(len.max(1));
    let unit = (len.next_power_of_two() / 8).max(UNIT);
    len.div_ceil(unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Spill::new(folder.path()).unwrap();
        let count = Arc::new(AtomicU64::new(0));
        let put = |byte: u8, len: usize| spill.put(&vec![byte; len], &count).unwrap();
        let (a, b) = (put(1, 1000), put(2, 5000));
        assert_eq!((a.get().unwrap(), b.get().unwrap()), (vec![1; 1000], vec![2; 5000]));
        let place = a.at;
        drop(a);
        let c = put(3, 900);
        assert_eq!((c.at, c.get().unwrap()), (place, vec![3; 900]));
        assert_eq!(b.get().unwrap(), vec![2; 5000]);
        assert_eq!(count.load(Ordering::Relaxed), 2);
        spill.write(b.at, &[9]).unwrap();
        assert_eq!(b.get().unwrap_err().kind(), io::ErrorKind::InvalidData);
        drop((b, c));
        assert_eq!(std::fs::metadata(folder.path().join("spill")).unwrap().len(), 0);
    }

    #[test]
    fn sizes_of_places() {
        for (len, size) in
            [(0, 256), (256, 256), (257, 512), (1300, 1536), (5000, 5120), (70_000, 81_920)]
        {
            assert_eq!(size_of_place(len), size, "{len}");
        }
    }
}
