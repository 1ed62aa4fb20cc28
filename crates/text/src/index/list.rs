//! A list of postings where it lies: its table, and its blocks before they are unpacked.

use super::bound::Bound;
use super::packed::{BLOCK, bytes as size, read_number, unpack};
use super::write::{ENTRY, REGION};

/// The documents that have a term, as [written](super::write).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct List<'s> {
    documents: u32,
    /// What holds for all blocks, for each region of them, and for each block; nothing where there is one block, as in the next.
    bounds: &'s [[u8; Bound::BYTES]],
    /// An entry for each block.
    table: &'s [[u8; ENTRY]],
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
    /// Where each document has the term; what lies behind the block follows.
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
        let rest = list.get(at..).unwrap_or_default();
        let count = (documents as usize).div_ceil(BLOCK);
        if count <= 1 {
            return List { documents, blocks: rest, ..List::default() };
        }
        let split = |size: usize, rest: &'s [u8]| rest.split_at_checked(size).unwrap_or_default();
        let (bounds, rest) = split((1 + count.div_ceil(REGION) + count) * Bound::BYTES, rest);
        let (table, blocks) = split(count * ENTRY, rest);
        List { documents, bounds: bounds.as_chunks().0, table: table.as_chunks().0, blocks }
    }

    /// How many documents have the term.
    pub(super) fn documents(&self) -> u32 {
        self.documents
    }

    pub(super) fn block_count(&self) -> usize {
        (self.documents as usize).div_ceil(BLOCK)
    }

    /// How many regions of blocks there are; none where the list is one block.
    fn regions(&self) -> usize {
        self.table.len().div_ceil(REGION)
    }

    /// The last document of a block; nothing where the list is one block.
    #[inline(always)]
    pub(super) fn last(&self, block: usize) -> Option<u32> {
        let [a, b, c, d, ..] = *self.table.get(block)?;
        Some(u32::from_le_bytes([a, b, c, d]))
    }

    /// Where a block begins behind the table; at 0 where the list is one block.
    fn start(&self, block: usize) -> usize {
        let Some([.., a, b, c, d]) = self.table.get(block) else { return 0 };
        u32::from_le_bytes([*a, *b, *c, *d]) as usize
    }

    /// What holds for a block; nothing where the list is one block.
    #[inline(always)]
    pub(super) fn bound(&self, block: usize) -> Option<Bound> {
        self.bounds.get(1 + self.regions() + block).map(Bound::from_bytes)
    }

    /// What holds for the blocks from one on that are of a region; nothing where the list is one block.
    pub(super) fn blocks_of_region(&self, region: usize) -> impl Iterator<Item = Bound> {
        let begin = 1 + self.regions() + region * REGION;
        let end = (begin + REGION).min(self.bounds.len());
        self.bounds.get(begin..end).unwrap_or_default().iter().map(Bound::from_bytes)
    }

    /// What holds for a region of blocks; nothing where the list is one block.
    #[inline(always)]
    pub(super) fn region(&self, region: usize) -> Option<Bound> {
        self.bounds.get(1..=self.regions())?.get(region).map(Bound::from_bytes)
    }

    /// The last document of a region of blocks; nothing where the list is one block.
    pub(super) fn region_last(&self, region: usize) -> Option<u32> {
        self.last((region * REGION + REGION).min(self.table.len()).checked_sub(1)?)
    }

    /// What holds for all blocks; nothing where the list is one block.
    pub(super) fn all(&self) -> Option<Bound> {
        self.bounds.first().map(Bound::from_bytes)
    }

    /// How many documents a block has.
    pub(super) fn count(&self, block: usize) -> usize {
        (self.documents as usize).saturating_sub(block * BLOCK).min(BLOCK)
    }

    /// A block; one without documents behind the last.
    pub(super) fn block(&self, block: usize) -> Block<'s> {
        let count = self.count(block);
        // A table has the entry of each block before.
        let first = block.checked_sub(1).and_then(|b| self.last(b)).map_or(0, |last| last + 1);
        let Some(([docs, counts], rest)) =
            self.blocks.get(self.start(block)..).and_then(|b| b.split_first_chunk())
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

    /// The bytes of the [occurrences](Block::occurrences) of a block and of no other, where so many lie behind the list.
    pub(super) fn own_occurrences(&self, block: usize, of: &Block<'s>, behind: usize) -> &'s [u8] {
        let end = match block + 1 < self.block_count() {
            true => self.start(block + 1),
            false => self.blocks.len().saturating_sub(behind),
        };
        let begin = self.blocks.len() - of.occurrences.len();
        self.blocks.get(begin..end).unwrap_or_default()
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
    /// The first of its documents. Behind the first place of `into` is how many lie between each of the others and the one before it.
    pub(super) fn between(&self, into: &mut [u32; BLOCK]) -> u32 {
        unpack(self.docs.bytes, self.docs.width, &mut into[..self.count]);
        self.first.wrapping_add(into[0])
    }

    /// Its documents.
    pub(super) fn docs(&self, into: &mut [u32; BLOCK]) {
        let docs = &mut into[..self.count];
        unpack(self.docs.bytes, self.docs.width, docs);
        // Each is one behind the one before at least: so one addition waits for another, not two.
        docs.iter_mut().for_each(|doc| *doc = doc.wrapping_add(1));
        let mut last = self.first.wrapping_sub(1);
        for doc in docs {
            last = last.wrapping_add(*doc);
            *doc = last;
        }
    }

    /// How often each of them has the term, less one.
    pub(super) fn counts(&self, into: &mut [u32; BLOCK]) {
        unpack(self.counts.bytes, self.counts.width, &mut into[..self.count]);
    }
}
