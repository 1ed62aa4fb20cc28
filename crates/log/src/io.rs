//! The seam between the log and the file system: one folder without subfolders.
//!
//! [`DiskIo`](crate::DiskIo) is the real one, [`SimIo`](crate::SimIo) the twin that loses, tears and refuses
//! on command. What an implementation promises is what a POSIX file system with a journal promises, no more:
//!
//! * bytes that were appended survive a crash of the process, and survive a loss of power only after
//!   [`IoFile::sync_data`]; until then any part of them may be there;
//! * a new, renamed or removed name survives a loss of power only after [`Io::sync_dir`];
//! * a rename replaces the name at once: readers see the old file or the new one.

use std::io;

/// Keeps the folder for this process while it lives.
pub trait DirLock: Send + Sync {}

/// One folder of files. Names are plain file names; an implementation refuses anything with a separator.
pub trait Io: Send + Sync {
    /// The names of all files, in no order.
    ///
    /// # Errors
    /// What the file system answers.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens an existing file for reading, appending and truncating.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    fn open(&self, name: &str) -> io::Result<Box<dyn IoFile>>;
    /// Creates an empty file, replacing one of this name.
    ///
    /// # Errors
    /// What the file system answers.
    fn create(&self, name: &str) -> io::Result<Box<dyn IoFile>>;
    /// Gives a file another name, replacing the file that has it. Open handles stay valid.
    ///
    /// # Errors
    /// `NotFound` if there is no file `from`.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` if it does not exist.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes names durable: everything created, renamed or removed before.
    ///
    /// # Errors
    /// What the file system answers.
    fn sync_dir(&self) -> io::Result<()>;
    /// Takes the folder for this process.
    ///
    /// # Errors
    /// `WouldBlock` if another process (or another lock of this one) has it.
    fn lock(&self) -> io::Result<Box<dyn DirLock>>;
}

/// An open file of an [`Io`]. Any number of threads read it at once.
pub trait IoFile: Send + Sync {
    /// Its length in bytes.
    ///
    /// # Errors
    /// What the file system answers.
    fn len(&self) -> io::Result<u64>;
    /// Whether it has no bytes.
    ///
    /// # Errors
    /// What the file system answers.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Reads from `offset` until `out` is full or the file ends; the number of bytes read.
    ///
    /// # Errors
    /// What the file system answers.
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize>;
    /// Tells that some bytes are read soon: a disk fetches them meanwhile. It does not wait, and what cannot be fetched is no error
    /// before it is read.
    fn will_read(&self, _offset: u64, _len: u64) {}
    /// Writes all of `bytes` at the end.
    ///
    /// # Errors
    /// What the file system answers; a part of the bytes may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to `len` bytes.
    ///
    /// # Errors
    /// What the file system answers.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
    /// Makes contents and length durable (`fdatasync`).
    ///
    /// # Errors
    /// What the file system answers. After an error the file must not be trusted and the call must not be
    /// tried again: the kernel may have marked the lost pages as clean.
    fn sync_data(&mut self) -> io::Result<()>;
}

/// Reads a whole file into `out`, whose old contents are dropped.
///
/// # Errors
/// What the file system answers; `FileTooLarge` if the file is longer than `limit` bytes, before memory is
/// taken.
pub fn read_all(file: &dyn IoFile, out: &mut Vec<u8>, limit: u64) -> io::Result<()> {
    out.clear();
    let too_large = || io::Error::from(io::ErrorKind::FileTooLarge);
    let len = file.len()?;
    if len > limit {
        return Err(too_large());
    }
    let len = usize::try_from(len).map_err(|_| too_large())?;
    out.try_reserve_exact(len)?;
    out.resize(len, 0);
    let read = file.read_at(0, out)?;
    out.truncate(read);
    Ok(())
}
