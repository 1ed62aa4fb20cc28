//! Writing pieces.

use std::sync::Arc;

use stead_log::{Io, IoFile, LogError};

use super::{Pack, Place, file_name, header};
use crate::error::StoreError;

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// Bytes after which they are made durable: few enough that the log, which waits for the same disk, does not wait long.
const SYNC_BYTES: u64 = 8 << 20;

/// Writes packs one after the other.
pub(crate) struct PackWriter<'i> {
    io: &'i dyn Io,
    /// The number of the next pack.
    next: u64,
    /// A pack that has reached this many bytes is followed by another.
    pack_bytes: u64,
    open: Option<Open>,
    done: Vec<(Arc<Pack>, u64)>,
}

struct Open {
    number: u64,
    file: Box<dyn IoFile>,
    /// What is not yet written.
    staged: Vec<u8>,
    written: u64,
    synced: u64,
}

impl<'i> PackWriter<'i> {
    /// `first` is the number of the first pack, which no file has.
    pub(crate) fn new(io: &'i dyn Io, first: u64, pack_bytes: u64) -> PackWriter<'i> {
        PackWriter { io, next: first, pack_bytes, open: None, done: Vec::new() }
    }

    /// Adds a piece; the number of its pack, and where it lies there.
    ///
    /// # Errors
    /// What the disk answers. Nothing that was added is to be used then.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<(u64, Place), StoreError> {
        let len = u32::try_from(piece.len()).map_err(|_| {
            let (action, what) = ("write", "a piece of more than 4 GiB of a snapshot".to_owned());
            LogError::Io { action, what, kind: std::io::ErrorKind::FileTooLarge }
        })?;
        let full = |open: &Open| open.written + open.staged.len() as u64 >= self.pack_bytes;
        if self.open.as_ref().is_some_and(full) {
            self.seal()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let number = self.next;
                let file = self.io.create(&file_name(number)).map_err(failed("create", number))?;
                self.next += 1;
                let staged = header(number).to_vec();
                self.open.insert(Open { number, file, staged, written: 0, synced: 0 })
            }
        };
        let offset = open.written + open.staged.len() as u64;
        open.staged.extend_from_slice(piece);
        if open.staged.len() >= WRITE_BYTES {
            open.write()?;
        }
        Ok((open.number, Place { offset, len, crc: crc32c::crc32c(piece) }))
    }

    fn seal(&mut self) -> Result<(), StoreError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.write()?;
        open.sync()?;
        self.done.push((Pack::new(open.number, open.file), open.written));
        Ok(())
    }

    /// Makes all pieces durable. The packs that were written, and how long they are.
    ///
    /// # Errors
    /// What the disk answers.
    pub(crate) fn finish(mut self) -> Result<Vec<(Arc<Pack>, u64)>, StoreError> {
        self.seal()?;
        Ok(self.done)
    }
}

impl Open {
    fn write(&mut self) -> Result<(), StoreError> {
        self.file.append(&self.staged).map_err(failed("append to", self.number))?;
        self.written += self.staged.len() as u64;
        self.staged.clear();
        if self.written - self.synced >= SYNC_BYTES {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), StoreError> {
        // Not tried again when it fails: the kernel may have dropped what it could not write. The pack is given up.
        self.file.sync_data().map_err(failed("sync", self.number))?;
        self.synced = self.written;
        Ok(())
    }
}

fn failed(action: &'static str, number: u64) -> impl Fn(std::io::Error) -> StoreError {
    move |error| {
        let (what, kind) = (file_name(number), error.kind());
        StoreError::Log(LogError::Io { action, what, kind })
    }
}

#[cfg(test)]
mod tests {
    use stead_log::SimIo;

    use super::*;

    #[test]
    fn pieces_are_read_as_they_were_written_or_not_at_all() {
        let io = SimIo::new(1);
        let mut writer = PackWriter::new(&io, 7, 100);
        let pieces: Vec<Vec<u8>> = (0..9).map(|n| vec![n; usize::from(n) * 9]).collect();
        let places: Vec<(u64, Place)> = pieces.iter().map(|p| writer.add(p).unwrap()).collect();
        let packs = writer.finish().unwrap();
        let numbers: Vec<u64> = packs.iter().map(|(pack, _)| pack.number()).collect();
        assert_eq!(numbers, [7, 8, 9]);
        for (pack, bytes) in &packs {
            let opened = Pack::open(&io, pack.number(), *bytes).unwrap();
            let here = |(at, _): &(u64, Place)| *at == pack.number();
            for ((_, place), piece) in places.iter().zip(&pieces).filter(|(at, _)| here(at)) {
                assert_eq!(opened.piece(*place).as_ref(), Ok(piece));
            }
            let (name, whole) = (file_name(pack.number()), io.contents(&file_name(pack.number())));
            let whole = whole.unwrap();
            assert_eq!(whole.len() as u64, *bytes);
            for bit in 0..whole.len() * 8 {
                let mut changed = whole.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                io.set_contents(&name, &changed);
                let all = || {
                    let opened = Pack::open(&io, pack.number(), *bytes)?;
                    places
                        .iter()
                        .filter(|at| here(at))
                        .try_for_each(|(_, p)| opened.piece(*p).map(drop))
                };
                assert!(matches!(all(), Err(StoreError::Damaged { .. })), "{name} bit {bit}");
            }
            io.set_contents(&name, &whole[..whole.len() - 1]);
            assert!(Pack::open(&io, pack.number(), *bytes).is_err());
        }
        let error = Pack::open(&io, 99, 1).unwrap_err();
        assert_eq!(error.to_string(), "0000000000000099.pack is corrupt at byte 0: it is missing");
    }
}
