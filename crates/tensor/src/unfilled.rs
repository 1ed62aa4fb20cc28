//! Memory that is written for the first time.
#![allow(unsafe_code)] // bytes that were not written are no bytes yet

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;

/// Half of a small second-level cache.
const PIECE: usize = 128 << 10;

/// The room of a new buffer, which is filled from the first byte to the last.
pub struct Unfilled<'a> {
    room: &'a mut [MaybeUninit<u8>],
    /// Bytes that are written.
    done: usize,
}

impl<'a> Unfilled<'a> {
    pub(crate) fn new(room: &'a mut [MaybeUninit<u8>]) -> Unfilled<'a> {
        Unfilled { room, done: 0 }
    }

    /// Bytes that are still to be written.
    pub fn left(&self) -> usize {
        self.room.len() - self.done
    }

    /// The next `len` bytes from a reader, or all that are left where these are fewer. Each piece is zeroed just before, while a cache
    /// holds it: a reader is given bytes, not room.
    ///
    /// # Errors
    /// Those of the reader, among them that it ended.
    pub fn read(&mut self, len: usize, mut reader: impl Read) -> io::Result<()> {
        let end = self.done + len.min(self.left());
        while self.done < end {
            let size = PIECE.min(end - self.done);
            let piece = zeroed(&mut self.room[self.done..][..size]);
            reader.read_exact(piece)?;
            self.done += size;
        }
        Ok(())
    }

    /// All bytes that are left from a file, from where it stands. On Linux the system writes them, and nothing is written before.
    ///
    /// # Errors
    /// Those of the file, and that it ended.
    pub fn read_file(&mut self, file: &File) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        while self.left() > 0 {
            match rustix::io::read(file, &mut self.room[self.done..]) {
                Ok(([], _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((read, _)) => self.done += read.len(),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        self.read(self.left(), file)
    }

    /// Zeroes what is left.
    pub(crate) fn zero(&mut self) {
        zeroed(&mut self.room[self.done..]);
        self.done = self.room.len();
    }
}

/// The room as bytes, all of them 0.
fn zeroed(room: &mut [MaybeUninit<u8>]) -> &mut [u8] {
    room.fill(MaybeUninit::new(0));
    // SAFETY: all of it was written in the line before.
    unsafe { room.assume_init_mut() }
}

#[cfg(test)]
mod tests {
    use crate::AlignedBuf;
    use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};

    #[test]
    fn a_buffer_is_read_in_parts_and_its_rest_is_zeroed() {
        let bytes: Vec<u8> = (0..400_000u32).map(|i| (i * 7 % 251) as u8 + 1).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        // Of a buffer of so many bytes so many come from memory and the others from the file.
        for (len, first) in
            [(0, 0), (1, 1), (1, 0), (100, 40), (399_000, 150_000), (400_000, 0), (400_000, 9)]
        {
            file.seek(SeekFrom::Start(first as u64)).unwrap();
            let read = AlignedBuf::filled(len, |room| {
                room.read(first, &bytes[..])?;
                assert_eq!(room.left(), len - first);
                room.read_file(&file)
            });
            assert!(read.unwrap().unwrap()[..] == bytes[..len], "{len} from {first}");
            let part = AlignedBuf::filled(len, |room| room.read(first, &bytes[..])).unwrap();
            let part = part.unwrap();
            assert!(part[..first] == bytes[..first] && part[first..].iter().all(|b| *b == 0));
        }
    }

    #[test]
    fn what_ends_too_early_is_an_error() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 100]).unwrap();
        file.seek(SeekFrom::Start(1)).unwrap();
        let short = AlignedBuf::filled(100, |room| room.read_file(&file)).unwrap();
        assert_eq!(short.err().map(|e| e.kind()), Some(ErrorKind::UnexpectedEof));
        let short = AlignedBuf::filled(100, |room| room.read(100, (&[1; 99][..]).by_ref()));
        assert_eq!(short.unwrap().err().map(|e| e.kind()), Some(ErrorKind::UnexpectedEof));
    }
}
