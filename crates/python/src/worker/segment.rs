//! The bytes of the tensors of one message: in the frame while they are few, else in a file without a name that is
//! sealed, so that nobody can change or shorten it under a reader.
#![allow(unsafe_code)] // files without names and maps of them

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use stead_tensor::{ALIGNMENT, AlignedBuf, SharedBytes};

use super::shared::SharedFile;
use crate::memory::{SEALS, file_of};

/// Segments up to this many bytes go in the frame.
pub(super) const INLINE: u64 = 64 << 10;

const ZEROS: [u8; ALIGNMENT] = [0; ALIGNMENT];

/// The tensors of a message to be sent, each aligned.
#[derive(Default)]
pub(super) struct Builder<'a> {
    /// A file that holds the first tensor already, and is the beginning of the segment.
    base: Option<Arc<SharedFile>>,
    parts: Vec<&'a [u8]>,
    len: u64,
}

impl<'a> Builder<'a> {
    /// Adds bytes and gives their offset.
    pub(super) fn add(&mut self, bytes: &'a [u8]) -> u64 {
        if self.len == 0
            && let Some(file) = SharedFile::of(bytes)
            && file.len() > INLINE
        {
            self.len = file.len();
            self.base = Some(file);
        }
        if let Some(offset) = self.base.as_ref().and_then(|base| base.offset_of(bytes)) {
            return offset;
        }
        let offset = self.len.next_multiple_of(ALIGNMENT as u64);
        self.parts.push(ZEROS.get(..(offset - self.len) as usize).unwrap_or_default());
        self.parts.push(bytes);
        self.len = offset + bytes.len() as u64;
        offset
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &[u8]> + '_ {
        let base = self.base.iter().map(|base| base.bytes());
        base.chain(self.parts.iter().copied())
    }

    /// The bytes in a sealed file: the one that holds them already, if it holds nothing else.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn file(&self) -> io::Result<OwnedFd> {
        match &self.base {
            Some(base) if self.parts.is_empty() => base.descriptor(),
            _ => Ok(file_of(c"stead-tensors", self.parts(), Some(SEALS))?.into()),
        }
    }
}

/// The tensors of a message that was received.
pub(super) struct Segment(Option<(Arc<dyn AsRef<[u8]> + Send + Sync>, usize)>);

impl Segment {
    /// Of bytes that came in the frame.
    ///
    /// # Errors
    /// That there is no memory.
    pub(super) fn inline(bytes: &[u8]) -> Result<Segment, String> {
        let copy = AlignedBuf::copy_of(bytes).map_err(|e| e.to_string())?;
        Ok(Segment(Some((Arc::new(copy), bytes.len()))))
    }

    /// Of a file of `len` bytes that a worker sent.
    ///
    /// # Errors
    /// A file that is not sealed, or shorter; what the system refuses.
    pub(super) fn of_file(file: OwnedFd, len: u64) -> Result<Segment, String> {
        // SAFETY: a descriptor that is open.
        let seals = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 || seals & SEALS != SEALS {
            return Err("a segment is not sealed".to_owned());
        }
        let file = File::from(file);
        let size = file.metadata().map_err(|e| e.to_string())?.len();
        let len = usize::try_from(len).map_err(|_| "a segment is too large".to_owned())?;
        if len == 0 || size != len as u64 {
            return Err("a segment is not as long as its frame says".to_owned());
        }
        let map = Map::of(&file, len).map_err(|e| e.to_string())?;
        Ok(Segment(Some((Arc::new(map), len))))
    }

    /// Nothing.
    pub(super) const fn empty() -> Segment {
        Segment(None)
    }

    /// A range of the bytes; none where it lies outside.
    pub(super) fn range(&self, range: Range<usize>) -> Option<SharedBytes> {
        match &self.0 {
            Some((bytes, len)) => {
                // A tensor without elements may stand behind the last one.
                let range = if range.is_empty() { 0..0 } else { range };
                (range.end <= *len).then(|| SharedBytes::new(bytes.clone(), range)).flatten()
            }
            None if range.is_empty() => {
                SharedBytes::new(Arc::new(AlignedBuf::zeroed(0).ok()?), 0..0)
            }
            None => None,
        }
    }
}

/// A map of a sealed file.
pub(super) struct Map {
    start: NonNull<u8>,
    len: usize,
}

impl Map {
    /// Of a sealed file of `len` bytes, at least 1.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn of(file: &File, len: usize) -> io::Result<Map> {
        // SAFETY: a new read-only map of a file of at least `len` bytes.
        let start = unsafe {
            let (read, shared) = (libc::PROT_READ, libc::MAP_SHARED);
            libc::mmap(std::ptr::null_mut(), len, read, shared, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(io::Error::last_os_error)?;
        Ok(Map { start, len })
    }
}

// SAFETY: the memory is only read, and the seals keep everybody from changing it.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `len` bytes are mapped while `self` is there, of a file that can neither shrink nor change.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: mapped with this length by `of_file`; nobody borrows from `self` any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sealed_files_of_the_right_length_are_mapped() {
        let mut builder = Builder::default();
        assert_eq!([builder.add(b"ab"), builder.add(b""), builder.add(b"c")], [0, 64, 64]);
        let segment = Segment::of_file(builder.file().unwrap(), 65).unwrap();
        assert_eq!(&*segment.range(64..65).unwrap(), b"c");
        assert!(segment.range(64..66).is_none());
        let error = |file: OwnedFd, len| Segment::of_file(file, len).err().unwrap();
        assert!(error(builder.file().unwrap(), 64).contains("as long as"));
        assert!(error(tempfile().into(), 1).contains("not sealed"));
    }

    fn tempfile() -> File {
        file_of(c"t", [&b"x"[..]], None).unwrap()
    }
}
