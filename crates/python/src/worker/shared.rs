//! Memory that many interpreters read and that is there once: a sealed file that this process has mapped. Arrays of
//! interpreters in process lie in that map, and workers are passed the file instead of a copy of what is in it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use stead_tensor::{ALIGNMENT, SharedBytes};

use super::segment::Map;
use crate::memory::{SEALS, file_of};

/// A sealed file and the map of it.
pub(super) struct SharedFile {
    file: File,
    map: Map,
}

/// Those that are there. They are few: one for each object that moves between interpreters.
static FILES: Mutex<Vec<Weak<SharedFile>>> = Mutex::new(Vec::new());

/// How many, so that most messages need not look.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn files() -> MutexGuard<'static, Vec<Weak<SharedFile>>> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies parts to shared memory, each aligned. It is given back when the last of them is dropped.
///
/// # Errors
/// Those of the system.
pub(crate) fn share(parts: &[&[u8]]) -> io::Result<Vec<SharedBytes>> {
    const ZEROS: [u8; ALIGNMENT] = [0; ALIGNMENT];
    let (mut ranges, mut pieces, mut len) = (Vec::new(), Vec::new(), 0usize);
    for part in parts {
        let start = len.next_multiple_of(ALIGNMENT);
        pieces.push(ZEROS.get(..start - len).unwrap_or_default());
        pieces.push(part);
        len = start + part.len();
        ranges.push(start..len);
    }
    // A map has at least one byte.
    if len == 0 {
        pieces.push(&[0]);
        len = 1;
    }
    let file = file_of(c"stead-tensors", pieces, Some(SEALS))?;
    let map = Map::of(&file, len)?;
    let shared = Arc::new(SharedFile { file, map });
    let mut all = files();
    all.push(Arc::downgrade(&shared));
    COUNT.store(all.len(), Ordering::Relaxed);
    drop(all);
    let part = |range| SharedBytes::new(shared.clone(), range);
    ranges.into_iter().map(|range| part(range).ok_or_else(|| io::Error::other("a range"))).collect()
}

impl SharedFile {
    /// The one in which bytes lie.
    pub(super) fn of(bytes: &[u8]) -> Option<Arc<SharedFile>> {
        if COUNT.load(Ordering::Relaxed) == 0 {
            return None;
        }
        // Dropped, the last of one takes the lock.
        let all: Vec<Arc<SharedFile>> = files().iter().filter_map(Weak::upgrade).collect();
        all.into_iter().find(|file| file.offset_of(bytes).is_some())
    }

    /// Where in the file bytes lie, if they do.
    pub(super) fn offset_of(&self, bytes: &[u8]) -> Option<u64> {
        let all = self.bytes().as_ptr_range();
        let part = bytes.as_ptr_range();
        let inside = !bytes.is_empty() && all.start <= part.start && part.end <= all.end;
        inside.then(|| (part.start.addr() - all.start.addr()) as u64)
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes().len() as u64
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.map.as_ref()
    }

    /// The file again.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(self.file.try_clone()?.into())
    }
}

impl AsRef<[u8]> for SharedFile {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        let mut all = files();
        all.retain(|file| file.strong_count() > 0);
        COUNT.store(all.len(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::segment::{Builder, INLINE, Segment};
    use super::*;

    #[test]
    fn what_is_shared_is_passed_on_and_not_copied() {
        let large = vec![7u8; INLINE as usize + 1];
        let shared = share(&[&[1, 2, 3], &[], &large]).unwrap();
        assert_eq!(
            (&shared[0][..], &shared[1][..], &shared[2][..]),
            (&[1, 2, 3][..], &[][..], &large[..])
        );
        let inode = |file: OwnedFd| {
            use std::os::unix::fs::MetadataExt;
            File::from(file).metadata().unwrap().ino()
        };
        let own = inode(SharedFile::of(&shared[2]).unwrap().descriptor().unwrap());

        let mut whole = Builder::default();
        assert_eq!([whole.add(&shared[2]), whole.add(&shared[0])], [64, 0]);
        assert_eq!(inode(whole.file().unwrap()), own);

        // Beside others it is copied with them.
        let mut mixed = Builder::default();
        let offsets = [mixed.add(&shared[0]), mixed.add(&[9]), mixed.add(&shared[2])];
        let end = 64 + large.len() as u64;
        assert_eq!(offsets, [0, end.next_multiple_of(64), 64]);
        assert_ne!(inode(mixed.file().unwrap()), own);
        let segment = Segment::of_file(mixed.file().unwrap(), mixed.len()).unwrap();
        let at =
            |start: u64, len: usize| segment.range(start as usize..start as usize + len).unwrap();
        assert_eq!((&at(offsets[0], 3)[..], &at(offsets[1], 1)[..]), (&[1, 2, 3][..], &[9][..]));
        assert_eq!(&at(offsets[2], large.len())[..], &large[..]);

        // What is small goes in the frame.
        let small = share(&[&[5; 100]]).unwrap();
        let mut builder = Builder::default();
        assert_eq!((builder.add(&small[0]), builder.len()), (0, 100));
        let known = Arc::downgrade(&SharedFile::of(&small[0]).unwrap());
        let is_listed = || files().iter().any(|file| file.ptr_eq(&known));
        assert!(is_listed());
        drop(builder);
        drop(small);
        assert!(!is_listed());
    }
}
