//! A disk on which somebody watches the files of snapshots.

use std::io;
use std::sync::Arc;

use stead_log::{DirLock, Io, IoFile, SimIo};

/// Called before each call of a kind that concerns a pack.
pub type Watch = Arc<dyn Fn() + Send + Sync>;

/// A disk that tells of reads and writes of packs.
#[derive(Clone)]
pub struct WatchedIo {
    pub io: SimIo,
    pub reads: Watch,
    pub writes: Watch,
}

struct WatchedFile {
    file: Box<dyn IoFile>,
    reads: Watch,
    writes: Watch,
}

impl WatchedIo {
    fn watched(&self, name: &str, file: Box<dyn IoFile>) -> Box<dyn IoFile> {
        let (reads, writes) = (self.reads.clone(), self.writes.clone());
        match name.ends_with(".pack") {
            true => Box::new(WatchedFile { file, reads, writes }),
            false => file,
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
        (self.reads)();
        self.file.read_at(offset, out)
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
