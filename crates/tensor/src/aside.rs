//! Bytes that wait on a disk until somebody reads them.
//!
//! Of a table of embeddings a run reads a few rows. In memory the whole table would be there for ever; in a file that is mapped the system
//! has what is read, and takes it back when memory is short. The file that a table came from belongs to others, who may cut it off or write
//! into it, which a mapping would not survive: the bytes are copied into a file without a name, that nobody else can open.

use crate::AlignedBuf;
use std::fs::File;
use std::io::{self, Read};

/// A file without a name, filled from the first byte to the last.
pub struct Aside {
    file: File,
    len: u64,
    done: u64,
}

impl Aside {
    /// Room for `len` bytes in the folder of temporary files that `TMPDIR` names, or else in `/var/tmp`: `None` where that is no
    /// disk of this machine, or has no such room.
    pub(crate) fn new(len: usize) -> Option<Aside> {
        let folder = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
        let file = tempfile::tempfile_in(folder.unwrap_or_else(|| "/var/tmp".into())).ok()?;
        let len = len as u64;
        reserve(&file, len).then_some(Aside { file, len, done: 0 })
    }

    /// The next `len` bytes from a reader, or all that are left where these are fewer. From a file to the other the system copies them.
    ///
    /// # Errors
    /// Those of the reader, among them that it ended, and of the disk.
    pub fn read(&mut self, len: usize, reader: impl Read) -> io::Result<()> {
        let wanted = (len as u64).min(self.len - self.done);
        let copied = io::copy(&mut reader.take(wanted), &mut self.file)?;
        self.done += copied;
        if copied == wanted { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    pub(crate) const fn file(&self) -> &File {
        &self.file
    }
}

/// File systems that keep bytes on disks of the machine, by their numbers in Linux' `magic.h`: ext2 to ext4, XFS, Btrfs, F2FS, and layers of
/// containers. Others have them in memory, or somewhere in a network that can go away.
#[cfg(target_os = "linux")]
const DISKS: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x794c_7630];

/// The part of what is free on a disk that may be taken: others write there too.
#[cfg(target_os = "linux")]
const PART: u64 = 4;

/// Reserves so many bytes, so that to write them cannot fail for want of room.
#[cfg(target_os = "linux")]
fn reserve(file: &File, len: u64) -> bool {
    use rustix::fs::{FallocateFlags, fallocate, fstatfs};
    let Ok(disk) = fstatfs(file) else { return false };
    let number = |of: i64| u64::try_from(of).unwrap_or(0);
    let free = disk.f_bavail.saturating_mul(number(disk.f_bsize));
    DISKS.contains(&number(disk.f_type))
        && len <= free / PART
        && fallocate(file, FallocateFlags::empty(), 0, len).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn reserve(_: &File, _: u64) -> bool {
    false
}

impl AlignedBuf {
    /// A buffer of `len` bytes above 0 which `fill` writes to [a disk](Aside): for what is large and of which little is read. `None` where there is
    /// no such disk; nothing was read then.
    pub fn aside(
        len: usize,
        fill: impl FnOnce(&mut Aside) -> io::Result<()>,
    ) -> Option<io::Result<AlignedBuf>> {
        let mut aside = Aside::new(len)?;
        Some(fill(&mut aside).and_then(|()| AlignedBuf::of_file(&aside, len)))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::ALIGNMENT;
    use std::io::Write;

    #[test]
    fn bytes_from_memory_and_from_a_file_lie_one_after_the_other() {
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i * 7 % 251) as u8 + 1).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        for (len, first) in [(1, 0), (1, 1), (4096, 100), (70_001, 4096), (100_000, 0)] {
            std::io::Seek::seek(&mut file, io::SeekFrom::Start(first as u64)).unwrap();
            let aside = AlignedBuf::aside(len, |room| {
                room.read(first, &bytes[..])?;
                room.read(usize::MAX, &file)
            });
            let Some(aside) = aside else { panic!("/var/tmp, or TMPDIR, is on no disk") };
            let mut buf = aside.unwrap();
            assert_eq!(buf.as_ptr() as usize % ALIGNMENT, 0);
            assert!(buf[..] == bytes[..len], "{len} from {first}");
            // What is changed is changed in memory.
            buf.fill(0);
            assert!(buf.iter().all(|b| *b == 0));
        }
    }

    #[test]
    fn what_ends_too_early_is_an_error() {
        let short = AlignedBuf::aside(100, |room| room.read(100, &[1; 99][..])).unwrap();
        assert_eq!(short.err().map(|e| e.kind()), Some(io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn memory_is_no_disk_and_a_full_one_has_no_room() {
        let on_disk = tempfile::tempfile_in("/var/tmp").unwrap();
        assert!(reserve(&on_disk, 1 << 20));
        assert!(!reserve(&on_disk, 1 << 60));
        assert!(!reserve(&tempfile::tempfile_in("/dev/shm").unwrap(), 1));
    }
}
