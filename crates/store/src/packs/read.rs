//! Reading pieces.

use std::fmt;
use std::sync::Arc;

use stead_log::{Io, IoFile, LogError};

use super::{HEADER_BYTES, MAGIC, Place, VERSION, file_name, header};
use crate::error::StoreError;

/// A pack that is open. It can be read as long as anything holds it, even when its file has been removed.
pub(crate) struct Pack {
    number: u64,
    file: Box<dyn IoFile>,
}

/// What is wrong with a file of a snapshot.
pub(crate) fn damage(file: &str, offset: u64, reason: impl Into<String>) -> StoreError {
    StoreError::Damaged { file: file.to_owned(), offset, reason: reason.into() }
}

fn unreadable(number: u64, error: &std::io::Error) -> StoreError {
    let (action, what, kind) = ("read", file_name(number), error.kind());
    StoreError::Log(LogError::Io { action, what, kind })
}

impl Pack {
    pub(super) fn new(number: u64, file: Box<dyn IoFile>) -> Arc<Pack> {
        Arc::new(Pack { number, file })
    }

    /// Opens a pack that should have so many bytes.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not there, cut off, or no pack of this number and version.
    pub(crate) fn open(io: &dyn Io, number: u64, bytes: u64) -> Result<Arc<Pack>, StoreError> {
        let name = file_name(number);
        let damaged = |offset: u64, reason: &str| Err(damage(&name, offset, reason));
        let file = match io.open(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return damaged(0, "it is missing");
            }
            Err(error) => return Err(unreadable(number, &error)),
        };
        let found = file.len().map_err(|e| unreadable(number, &e))?;
        if found < bytes {
            return damaged(found, "it is cut short");
        }
        let mut head = [0; HEADER_BYTES];
        if file.read_at(0, &mut head).map_err(|e| unreadable(number, &e))? < HEADER_BYTES {
            return damaged(0, "it is cut short");
        }
        if head[..8] != *MAGIC {
            return damaged(0, "it does not begin like a pack");
        }
        // Before the checksum: another version may have another header.
        if head[8..12] != VERSION.to_le_bytes() {
            return damaged(8, "it has another format version");
        }
        if head != header(number) {
            return damaged(0, "its header is not that of this pack");
        }
        Ok(Pack::new(number, file))
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reads a piece, of as many bytes as `out` has.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when its bytes are not those that were written.
    pub(crate) fn read(&self, place: Place, out: &mut [u8]) -> Result<(), StoreError> {
        debug_assert_eq!(out.len(), place.len as usize);
        self.read_some(place.offset, out)?;
        match crc32c::crc32c(out) == place.crc {
            true => Ok(()),
            false => Err(damage(&file_name(self.number), place.offset, "the checksum differs")),
        }
    }

    /// Tells that a piece is read soon.
    fn will_read(&self, place: Place) {
        self.file.will_read(place.offset, place.len.into());
    }

    /// Reads some bytes from an offset on, which the caller knows when they are those that were written.
    fn read_some(&self, offset: u64, out: &mut [u8]) -> Result<(), StoreError> {
        let read = self.file.read_at(offset, out).map_err(|e| unreadable(self.number, &e))?;
        match read < out.len() {
            true => Err(damage(&file_name(self.number), offset, "it is cut short")),
            false => Ok(()),
        }
    }

    /// A piece as bytes of their own. A pack is as long as its table says, so that no more memory is taken than there are bytes.
    ///
    /// # Errors
    /// As [`Pack::read`].
    pub(crate) fn piece(&self, place: Place) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; place.len as usize];
        self.read(place, &mut bytes)?;
        Ok(bytes)
    }
}

impl fmt::Debug for Pack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pack").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A piece that stays on disk.
#[derive(Debug, Clone)]
pub(crate) struct Blob {
    pub(crate) pack: Arc<Pack>,
    pub(crate) place: Place,
}

impl Blob {
    /// Its bytes.
    ///
    /// # Errors
    /// As [`Pack::read`].
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, StoreError> {
        self.pack.piece(self.place)
    }

    /// Tells that it is read soon: the disk fetches it meanwhile.
    pub(crate) fn will_read(&self) {
        self.pack.will_read(self.place);
    }

    /// Reads a part of it, from one of its bytes on, which `is_it` tells to be what was written.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when it is not, and what the disk answers.
    pub(crate) fn read_part(
        &self,
        begin: usize,
        out: &mut [u8],
        is_it: impl FnOnce(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        if begin.saturating_add(out.len()) > self.place.len as usize {
            return Err(self.damage("it has no such part"));
        }
        let offset = self.place.offset + begin as u64;
        self.pack.read_some(offset, out)?;
        match is_it(out) {
            true => Ok(()),
            false => Err(damage(&file_name(self.pack.number), offset, "the checksum differs")),
        }
    }

    /// Tells that a part of it is read soon.
    pub(crate) fn will_read_part(&self, begin: usize, len: usize) {
        self.pack.file.will_read(self.place.offset + begin as u64, len as u64);
    }

    /// Whether both are the same piece in the same place.
    pub(crate) fn is(&self, other: &Blob) -> bool {
        Arc::ptr_eq(&self.pack, &other.pack) && self.place == other.place
    }

    /// What is wrong with its bytes.
    pub(crate) fn damage(&self, reason: impl Into<String>) -> StoreError {
        damage(&file_name(self.pack.number), self.place.offset, reason)
    }
}
