//! A list of postings where it lies: its table, and its blocks before they are unpacked.

use super::bound::Bound;
use super::packed::{BLOCK, bytes as size, read_number, unpack};
use super::write::ENTRY;

/// The documents that have a term, as [written](super::write).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct List<'s> {
    documents: u32,
    /// An entry for each block; nothing where there is one.
    table: &'s [u8],
    blocks: &'s [u8],
}

/// A block of a list.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Block<'s> {
    /// How many documents it has.
    pub(super) count: usize,
    /// No document is below.
    first: u32,
    docs: Packed<'s>,
    counts: Packed<'s>,
    /// Where each document has the term.
    pub(super) occurrences: &'s [u8],
}

/// Numbers, and the bits of each.
#[derive(Debug, Clone, Copy, Default)]
struct Packed<'s> {
    bytes: &'s [u8],
    width: u32,
}

impl<'s> List<'s> {
    pub(super) fn new(list: &'s [u8]) -> List<'s> {
        let mut at = 0;
        let documents = read_number(list, &mut at);
        let count = (documents as usize).div_ceil(BLOCK);
        let size = if count > 1 { count * ENTRY } else { 0 };
        let (table, blocks) =
            list.get(at..).and_then(|rest| rest.split_at_checked(size)).unwrap_or_default();
        List { documents, table, blocks }
    }

    /// How many documents have the term.
    pub(super) fn documents(&self) -> u32 {
        self.documents
    }

    pub(super) fn block_count(&self) -> usize {
        (self.documents as usize).div_ceil(BLOCK)
    }

    /// The last document of a block; nothing where the list is one block.
    pub(super) fn last(&self, block: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.table.get(block * ENTRY..)?.first_chunk()?))
    }

    /// What holds for a block; nothing where the list is one block.
    pub(super) fn bound(&self, block: usize) -> Option<Bound> {
        Some(Bound::from_bytes(self.table.get(block * ENTRY + 8..)?.first_chunk()?))
    }

    /// What holds for all blocks; nothing where the list is one block.
    pub(super) fn bounds(&self) -> Option<Bound> {
        let bounds = (0..self.table.len() / ENTRY).filter_map(|block| self.bound(block));
        bounds.reduce(Bound::or)
    }

    /// A block; one without documents behind the last.
    pub(super) fn block(&self, block: usize) -> Block<'s> {
        let count = (self.documents as usize).saturating_sub(block * BLOCK).min(BLOCK);
        let start = self.table.get(block * ENTRY + 4..).and_then(|entry| entry.first_chunk());
        let start = start.map_or(0, |start| u32::from_le_bytes(*start) as usize);
        // A table has the entry of each block before.
        let first = block.checked_sub(1).and_then(|b| self.last(b)).map_or(0, |last| last + 1);
        let Some(([docs, counts], rest)) =
            self.blocks.get(start..).and_then(|b| b.split_first_chunk())
        else {
            return Block::default();
        };
        let packed = |bytes: &'s [u8], width: u8| {
            let width = u32::from(width).min(32);
            // What is behind them is left there: numbers are read in words that may reach beyond.
            (Packed { bytes, width }, bytes.get(size(count, width)..).unwrap_or_default())
        };
        let (docs, rest) = packed(rest, *docs);
        let (counts, occurrences) = packed(rest, *counts);
        Block { count, first, docs, counts, occurrences }
    }

    /// The first block from one on that has a document from one on; how many there are where none has.
    pub(super) fn block_of(&self, from: usize, doc: u32) -> usize {
        let count = self.block_count();
        let is_before = |block: usize| self.last(block).is_some_and(|last| last < doc);
        // Steps twice as long each find it soon where it is near.
        let (mut low, mut step) = (from, 1);
        while low + step <= count && is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step - 1).min(count);
        while low < high {
            let middle = low.midpoint(high);
            match is_before(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

impl Block<'_> {
    /// Its documents.
    pub(super) fn docs(&self, into: &mut [u32; BLOCK]) {
        let docs = &mut into[..self.count];
        unpack(self.docs.bytes, self.docs.width, docs);
        let mut next = self.first;
        for doc in docs {
            *doc = doc.wrapping_add(next);
            next = doc.wrapping_add(1);
        }
    }

    /// How often each of them has the term, less one.
    pub(super) fn counts(&self, into: &mut [u32; BLOCK]) {
        unpack(self.counts.bytes, self.counts.width, &mut into[..self.count]);
    }
}
