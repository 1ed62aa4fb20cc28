//! The bodies of a block, in groups that lie in memory, or compressed on disk once a snapshot has them.
//!
//! A group on disk is a piece: the number of bytes that it unpacks to, `u32` little-endian, and an LZ4 block (the block format, without
//! a frame) of: the number of bodies, a byte; the end of each among their bytes, `u32`; their bytes.

use std::borrow::Cow;
use std::sync::Arc;

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

    fn body(&self, at: usize) -> Result<Cow<'_, [u8]>, StoreError> {
        match self {
            Group::Memory(bodies) => Ok(bodies.get(at).unwrap_or_default().into()),
            Group::Disk(blob) => {
                Ok(Group::unpack(blob)?.get(at).unwrap_or_default().to_vec().into())
            }
        }
    }

    fn memory(&self) -> usize {
        // An allocation has two counters before it.
        let together = size_of::<Group>() + 2 * size_of::<usize>() + size_of::<Arc<Group>>();
        together
            + match self {
                Group::Memory(bodies) => bodies.memory(),
                Group::Disk(_) => 0,
            }
    }
}

/// The bodies of a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bodies {
    groups: Vec<Arc<Group>>,
}

impl Bodies {
    pub(crate) fn new(groups: Vec<Arc<Group>>) -> Bodies {
        Bodies { groups }
    }

    pub(crate) fn groups(&self) -> &[Arc<Group>] {
        &self.groups
    }

    /// The body of a row, which has no bytes where there is no document.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], and what the disk answers.
    pub(super) fn get(&self, row: usize) -> Result<Cow<'_, [u8]>, StoreError> {
        match self.groups.get(row / GROUP) {
            Some(group) => group.body(row % GROUP),
            None => Ok(Cow::default()),
        }
    }

    /// Brings the group of a row to memory, so that [`Bodies::set`] cannot fail.
    ///
    /// # Errors
    /// As [`Bodies::get`].
    pub(super) fn fetch(&mut self, row: usize) -> Result<(), StoreError> {
        if let Some(group) = self.groups.get_mut(row / GROUP)
            && let Group::Disk(blob) = &**group
        {
            *group = Arc::new(Group::Memory(Group::unpack(blob)?));
        }
        Ok(())
    }

    /// Puts a body in a row, which is at most the one behind the last and was fetched.
    pub(super) fn set(&mut self, row: usize, body: &[u8]) {
        let at = row / GROUP;
        if at == self.groups.len() {
            self.groups.push(Arc::default());
        }
        let Some(Group::Memory(bodies)) = self.groups.get_mut(at).map(Arc::make_mut) else {
            debug_assert!(false, "the group of row {row} was not fetched");
            return;
        };
        bodies.set(row % GROUP, body);
        if row % GROUP + 1 == GROUP {
            bodies.shrink();
        }
    }

    /// Puts a group on disk in the place of the same in memory; nothing is done where it has changed since.
    pub(super) fn replace(&mut self, at: usize, old: &Arc<Group>, new: &Arc<Group>) {
        if let Some(group) = self.groups.get_mut(at).filter(|group| Arc::ptr_eq(group, old)) {
            *group = new.clone();
        }
    }

    pub(super) fn shrink(&mut self) {
        self.groups.shrink_to_fit();
    }

    pub(super) fn memory(&self) -> usize {
        self.groups.iter().map(|group| group.memory()).sum()
    }
}
