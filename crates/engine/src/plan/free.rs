//! The free memory of an arena while buffers come and go.

use std::collections::{BTreeMap, BTreeSet};

/// An arena that grows, and the holes in it.
#[derive(Default)]
pub(super) struct Free {
    /// Bytes of each hole by its offset; no two of them touch.
    holes: BTreeMap<usize, usize>,
    /// The same holes by bytes and offset.
    sizes: BTreeSet<(usize, usize)>,
    total: usize,
}

impl Free {
    /// The offset of `bytes` that nobody has: the smallest hole that is large enough, else the end of the arena, which grows. `None` when
    /// its size overflows.
    pub(super) fn take(&mut self, bytes: usize) -> Option<usize> {
        if let Some(&(size, offset)) = self.sizes.range((bytes, 0)..).next() {
            self.remove(offset, size);
            if size > bytes {
                self.insert(offset + bytes, size - bytes);
            }
            return Some(offset);
        }
        let last = self.holes.last_key_value().map(|(&offset, &size)| (offset, size));
        let offset = match last {
            Some((offset, size)) if offset + size == self.total => {
                self.remove(offset, size);
                offset
            }
            _ => self.total,
        };
        self.total = offset.checked_add(bytes)?;
        Some(offset)
    }

    /// Takes back what [`take`](Self::take) gave.
    pub(super) fn give(&mut self, offset: usize, bytes: usize) {
        let (mut offset, mut bytes) = (offset, bytes);
        let before = self.holes.range(..offset).next_back().map(|(&at, &size)| (at, size));
        if let Some((at, size)) = before.filter(|&(at, size)| at + size == offset) {
            self.remove(at, size);
            (offset, bytes) = (at, size + bytes);
        }
        if let Some(&size) = self.holes.get(&(offset + bytes)) {
            self.remove(offset + bytes, size);
            bytes += size;
        }
        self.insert(offset, bytes);
    }

    /// Bytes of the arena.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    fn insert(&mut self, offset: usize, bytes: usize) {
        self.holes.insert(offset, bytes);
        self.sizes.insert((bytes, offset));
    }

    fn remove(&mut self, offset: usize, bytes: usize) {
        self.holes.remove(&offset);
        self.sizes.remove(&(bytes, offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_joined_and_the_smallest_is_taken() {
        let mut free = Free::default();
        let offsets: Vec<_> = [10, 30, 10, 20, 10].map(|bytes| free.take(bytes)).to_vec();
        assert_eq!(offsets, [0, 10, 40, 50, 70].map(Some));
        free.give(10, 30);
        free.give(50, 20);
        assert_eq!(free.take(15), Some(50), "the smaller hole");
        assert_eq!(free.take(30), Some(10), "the whole of the larger");
        assert_eq!(free.take(6), Some(80), "none is large enough");
        free.give(70, 10);
        assert_eq!(free.take(15), Some(65), "both neighbours are one hole");
        free.give(80, 6);
        assert_eq!(free.take(50), Some(80), "the hole at the end grows");
        assert_eq!(free.total(), 130);
        assert_eq!(free.take(usize::MAX), None);
    }
}
