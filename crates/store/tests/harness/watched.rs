//! A disk on which somebody watches the files of snapshots.

use std::io;
use std::sync::Arc;

use stead_log::{DirLock, Io, IoFile, SimIo};

/// Called before each write of a pack.
pub type Watch = Arc<dyn Fn() + Send + Sync>;

/// Bytes of packs, by the number of the pack and the offset, which are wanted now, or soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Now((u64, u64)),
    Soon((u64, u64)),
}

/// Called before each read of a pack, and when one is told of.
pub type ReadWatch = Arc<dyn Fn(Read) + Send + Sync>;

/// A disk that tells of reads and writes of packs.
#[derive(Clone)]
pub struct WatchedIo {
    pub io: SimIo,
    pub reads: ReadWatch,
    pub writes: Watch,
}

struct WatchedFile {
    number: u64,
    file: Box<dyn IoFile>,
    reads: ReadWatch,
    writes: Watch,
}

impl WatchedIo {
    fn watched(&self, name: &str, file: Box<dyn IoFile>) -> Box<dyn IoFile> {
        let (reads, writes) = (self.reads.clone(), self.writes.clone());
        match name.strip_suffix(".pack").map(|number| number.parse().unwrap()) {
            Some(number) => Box::new(WatchedFile { number, file, reads, writes }),
            None => file,
        }
    }
}

impl Io for WatchedIo {
    fn list(&self) -> io::Result<Vec<String>> {
        self.io.list()
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        Ok(self.watched(name, self.io.open(name)?))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        Ok(self.watched(name, self.io.create(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.io.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.io.remove(name)
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.io.sync_dir()
    }

    fn lock(&self) -> io::Result<Box<dyn DirLock>> {
        self.io.lock()
    }
}

impl IoFile for WatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        (self.reads)(Read::Now((self.number, offset)));
        self.file.read_at(offset, out)
    }

    fn will_read(&self, offset: u64, _len: u64) {
        (self.reads)(Read::Soon((self.number, offset)));
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (self.writes)();
        self.file.append(bytes)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}
