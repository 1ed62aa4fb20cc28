//! The real [`Io`]: a folder of the file system.

use crate::io::{DirLock, Io, IoFile};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::Advice;

/// The file whose `flock` stands for the folder. It is never removed: two processes could then lock two
/// different files of the same name.
const LOCK_NAME: &str = "lock";

/// A folder on disk.
#[derive(Debug)]
pub struct DiskIo {
    folder: PathBuf,
}

impl DiskIo {
    /// Opens `folder`, which is made if it does not exist (and made durable in its parent).
    ///
    /// # Errors
    /// What the file system answers.
    pub fn new(folder: impl Into<PathBuf>) -> io::Result<Self> {
        let folder = folder.into();
        let mut missing: Vec<&Path> = Vec::new();
        for ancestor in folder.ancestors() {
            if ancestor.as_os_str().is_empty() || ancestor.is_dir() {
                break;
            }
            missing.push(ancestor);
        }
        fs::create_dir_all(&folder)?;
        for made in missing.iter().rev() {
            match made.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent)?,
                _ => sync_folder(Path::new("."))?,
            }
        }
        Ok(Self { folder })
    }

    fn path(&self, name: &str) -> io::Result<PathBuf> {
        let plain = !name.is_empty()
            && !name.starts_with('.')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        if !plain {
            return Err(io::Error::new(io::ErrorKind::InvalidFilename, "not a plain file name"));
        }
        Ok(self.folder.join(name))
    }
}

impl Io for DiskIo {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        let file = OpenOptions::new().read(true).append(true).open(self.path(name)?)?;
        Ok(Box::new(DiskFile(file)))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn IoFile>> {
        let path = self.path(name)?;
        // Not truncated in place: an old file of this name may be open elsewhere or linked into a backup.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().read(true).append(true).create_new(true).open(path)?;
        Ok(Box::new(DiskFile(file)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from)?, self.path(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name)?)
    }

    fn sync_dir(&self) -> io::Result<()> {
        sync_folder(&self.folder)
    }

    fn lock(&self) -> io::Result<Box<dyn DirLock>> {
        let path = self.path(LOCK_NAME)?;
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Box::new(DiskLock { _file: file })),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    // Other systems cannot open a folder as a file; their journals order names themselves.
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

struct DiskLock {
    _file: File,
}

impl DirLock for DiskLock {}

struct DiskFile(File);

#[cfg(unix)]
fn read_part(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, out, offset)
}

#[cfg(windows)]
fn read_part(file: &File, offset: u64, out: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, out, offset)
}

/// Has the kernel read a part of a file ahead.
#[cfg(target_os = "linux")]
fn fetch(file: &File, offset: u64, len: u64) {
    // The same bytes are read later: what is wrong is told then.
    let _ = rustix::fs::fadvise(file, offset, NonZeroU64::new(len), Advice::WillNeed);
}

/// Other systems read ahead as they think best.
#[cfg(not(target_os = "linux"))]
fn fetch(_file: &File, _offset: u64, _len: u64) {}

impl IoFile for DiskFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while let Some(rest) = out.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match read_part(&self.0, offset + read as u64, rest) {
                Ok(0) => break,
                Ok(n) => read += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn will_read(&self, offset: u64, len: u64) {
        fetch(&self.0, offset, len);
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::read_all;

    #[test]
    fn a_folder_keeps_files_and_names() {
        let temporary = tempfile::tempdir().unwrap();
        let io = DiskIo::new(temporary.path().join("a/b")).unwrap();
        let mut file = io.create("x.new").unwrap();
        file.append(b"hello ").unwrap();
        file.append(b"world").unwrap();
        file.sync_data().unwrap();
        io.rename("x.new", "x").unwrap();
        io.sync_dir().unwrap();
        file.truncate(5).unwrap();
        file.append(b"!").unwrap();
        let mut out = Vec::new();
        read_all(&*file, &mut out, 6).unwrap();
        assert_eq!(out, b"hello!");
        // Whatever part is told of, within the file and behind its end.
        for (offset, len) in [(0, 3), (3, 0), (5, 100), (1 << 40, 1), (u64::MAX, u64::MAX)] {
            file.will_read(offset, len);
        }
        let mut tail = [0; 8];
        assert_eq!(io.open("x").unwrap().read_at(3, &mut tail).unwrap(), 3);
        assert_eq!(&tail[..3], b"lo!");
        let limit = read_all(&*io.open("x").unwrap(), &mut out, 5).unwrap_err();
        assert_eq!(limit.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(io.list().unwrap(), ["x"]);
        io.remove("x").unwrap();
        assert_eq!(io.open("x").err().unwrap().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn names_stay_in_the_folder() {
        let temporary = tempfile::tempdir().unwrap();
        let io = DiskIo::new(temporary.path()).unwrap();
        for name in ["", ".", "..", "../x", "a/b", "/etc/passwd", "a\\b", "a\0b", ".hidden"] {
            let error = io.create(name).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::InvalidFilename, "{name:?}");
        }
    }

    #[test]
    fn one_lock_at_a_time() {
        let temporary = tempfile::tempdir().unwrap();
        let io = DiskIo::new(temporary.path()).unwrap();
        let lock = io.lock().unwrap();
        assert_eq!(io.lock().err().unwrap().kind(), io::ErrorKind::WouldBlock);
        drop(lock);
        io.lock().unwrap();
    }
}
