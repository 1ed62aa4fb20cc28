//! Bodies that lie together: in memory, compressed on disk once a snapshot has them, or on disk with what has changed since in memory.
//!
//! A group on disk is a piece: the number of bytes that it unpacks to, `u32` little-endian, and an LZ4 block (the block format, without
//! a frame) of: the number of bodies, a byte; the end of each among their bytes, `u32`; their bytes.

mod changes;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

pub(crate) use changes::Changes;

use crate::body::{self, BodyError};
use crate::columns::Pieces;
use crate::error::StoreError;
use crate::packs::Blob;

/// Bodies that lie together: few enough that a write copies little, enough that their allocation costs each of them little and that
/// they compress well.
pub(crate) const GROUP: usize = 16;

/// The most that a byte of LZ4 unpacks to is 255; a group is not taken to have more than this for each.
const MAX_RATIO: usize = 256;

/// Bodies that lie together.
#[derive(Debug, Clone)]
pub(crate) enum Group {
    Memory(Pieces),
    Disk(Blob),
    /// What lies on disk, and what has changed since. Nobody who writes reads the disk.
    Changed(Blob, Box<Changes>),
}

impl Default for Group {
    fn default() -> Group {
        Group::Memory(Pieces::default())
    }
}

impl Group {
    /// The group as it lies on disk.
    pub(crate) fn pack(bodies: &Pieces) -> Vec<u8> {
        let mut raw = vec![bodies.len() as u8];
        bodies.write(&mut raw);
        let mut piece = (raw.len() as u32).to_le_bytes().to_vec();
        piece.extend_from_slice(&lz4_flex::block::compress(&raw));
        piece
    }

    /// The bodies of a group on disk.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub(crate) fn unpack(blob: &Blob) -> Result<Pieces, StoreError> {
        Group::unpacked(&blob.bytes()?).ok_or_else(|| blob.damage("it is no group of bodies"))
    }

    /// The bodies of a piece; nothing if it is none.
    pub(crate) fn unpacked(piece: &[u8]) -> Option<Pieces> {
        let (size, packed) = piece.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size) as usize;
        if size > packed.len().saturating_mul(MAX_RATIO) {
            return None;
        }
        let raw = lz4_flex::block::decompress(packed, size).ok()?;
        let (count, rest) = raw.split_first()?;
        Pieces::read(usize::from(*count), rest).filter(|pieces| pieces.len() <= GROUP)
    }

    /// Where it lies on disk.
    pub(crate) fn blob(&self) -> Option<&Blob> {
        match self {
            Group::Memory(_) => None,
            Group::Disk(blob) | Group::Changed(blob, _) => Some(blob),
        }
    }

    /// All bodies as they are now.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], and what the disk answers.
    pub(crate) fn bodies(&self) -> Result<Cow<'_, Pieces>, StoreError> {
        Ok(match self {
            Group::Memory(bodies) => Cow::Borrowed(bodies),
            Group::Disk(blob) => Cow::Owned(Group::unpack(blob)?),
            Group::Changed(blob, changes) => {
                let mut bodies = Group::unpack(blob)?;
                changes.put_into(&mut bodies).map_err(|error| blob.damage(error.to_string()))?;
                Cow::Owned(bodies)
            }
        })
    }

    /// The body of a row, with the bodies that lie on disk where these are known; nothing where they are needed and not known.
    pub(super) fn at_hand<'g>(
        &'g self,
        at: usize,
        on_disk: impl FnOnce(&Blob) -> Option<&'g Pieces>,
    ) -> Option<Cow<'g, [u8]>> {
        let (blob, now) = match self {
            Group::Memory(bodies) => return Some(bodies.get(at).unwrap_or_default().into()),
            Group::Disk(blob) => (blob, None),
            Group::Changed(blob, changes) => (blob, changes.get(at)),
        };
        if let Some(now) = now.filter(|now| !body::is_change(now)) {
            return Some(now.into());
        }
        let body = on_disk(blob)?.get(at).unwrap_or_default();
        match now {
            None => Some(body.into()),
            Some(change) => body::changed(body, change).ok().map(Cow::Owned),
        }
    }

    /// The body of a row, which has no bytes where there is no document.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], and what the disk answers.
    pub(super) fn body(&self, at: usize) -> Result<Cow<'_, [u8]>, StoreError> {
        if let Some(found) = self.at_hand(at, |_| None) {
            return Ok(found);
        }
        let Some(blob) = self.blob() else { return Ok(Cow::default()) };
        let bodies = Group::unpack(blob)?;
        let found = self.at_hand(at, |_| Some(&bodies)).map(Cow::into_owned);
        found.map(Cow::Owned).ok_or_else(|| blob.damage("what has changed fits no body of it"))
    }

    /// Puts a body in a row, which is at most the one behind the last. The disk is not read.
    pub(super) fn set(&mut self, at: usize, body: &[u8]) {
        match self {
            Group::Memory(bodies) => {
                bodies.set(at, body);
                if at + 1 == GROUP {
                    bodies.shrink();
                }
            }
            Group::Disk(blob) => {
                let mut changes = Changes::default();
                changes.set(at, body);
                *self = Group::Changed(blob.clone(), Box::new(changes));
            }
            Group::Changed(_, changes) => {
                changes.set(at, body);
                if let Some(bodies) = changes.whole() {
                    *self = Group::Memory(bodies);
                }
            }
        }
    }

    /// Changes the body of a row that has a document. The disk is not read.
    ///
    /// # Errors
    /// When the body is none.
    pub(super) fn change(&mut self, at: usize, change: &[u8]) -> Result<(), BodyError> {
        let known = match self {
            Group::Memory(bodies) => Some(bodies.get(at).unwrap_or_default()),
            Group::Disk(_) => None,
            Group::Changed(_, changes) => changes.get(at),
        };
        match known.map(|known| body::changed(known, change)).transpose()? {
            Some(body) => self.set(at, &body),
            None => self.set(at, change),
        }
        Ok(())
    }

    /// The same behind a snapshot that has what it was before, in a new place.
    pub(super) fn moved(&self, before: &Group, blob: &Blob) -> Option<Group> {
        let Group::Changed(own, now) = self else { return None };
        let then = match before {
            Group::Memory(_) => return None,
            Group::Disk(_) => None,
            Group::Changed(_, then) => Some(&**then),
        };
        before.blob().filter(|before| before.is(own))?;
        Some(match now.since(then) {
            Some(changes) => Group::Changed(blob.clone(), Box::new(changes)),
            None => Group::Disk(blob.clone()),
        })
    }

    pub(super) fn memory(&self) -> usize {
        // An allocation has two counters before it.
        let together = size_of::<Group>() + 2 * size_of::<usize>() + size_of::<Arc<Group>>();
        together
            + match self {
                Group::Memory(bodies) => bodies.memory(),
                Group::Disk(_) => 0,
                Group::Changed(_, changes) => size_of::<Changes>() + changes.memory(),
            }
    }
}
