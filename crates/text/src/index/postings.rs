//! A list of postings as it is read.

use super::bound::Bound;
use super::packed::{BLOCK, bytes, read_number, unpack};
use super::write::{ENTRY, Occurrence};

/// Behind the last document of a list.
pub(super) const END: u32 = u32::MAX;

/// The documents that have a term, one after the other, as [written](super::write).
#[derive(Debug, Clone)]
pub(super) struct Postings<'s> {
    documents: u32,
    /// An entry for each block; nothing where there is one.
    table: &'s [u8],
    blocks: &'s [u8],
    /// The block that is read.
    block: usize,
    docs: [u32; BLOCK],
    /// How many documents the block has.
    count: usize,
    /// The current document in the block.
    at: usize,
    counts: Counts<'s>,
}

/// How often each document of a block has the term: read when that is asked.
#[derive(Debug, Clone)]
struct Counts<'s> {
    packed: &'s [u8],
    width: u32,
    is_read: bool,
    counts: [u32; BLOCK],
    occurrences: &'s [u8],
    /// The document whose occurrences begin at a byte of these.
    next: (usize, usize),
}

/// What the table of a list says of a block.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The last document of it.
    last: u32,
    /// Where it begins behind the table.
    start: usize,
}

impl<'s> Postings<'s> {
    pub(super) fn new(list: &'s [u8]) -> Postings<'s> {
        let mut at = 0;
        let documents = read_number(list, &mut at);
        let count = (documents as usize).div_ceil(BLOCK);
        let size = if count > 1 { count * ENTRY } else { 0 };
        let (table, blocks) =
            list.get(at..).and_then(|rest| rest.split_at_checked(size)).unwrap_or_default();
        let counts = Counts {
            packed: &[],
            width: 0,
            is_read: false,
            counts: [0; BLOCK],
            occurrences: &[],
            next: (0, 0),
        };
        let mut postings = Postings {
            documents,
            table,
            blocks,
            block: 0,
            docs: [0; BLOCK],
            count: 0,
            at: 0,
            counts,
        };
        postings.read(0);
        postings
    }

    /// How many documents have the term.
    pub(super) fn documents(&self) -> u32 {
        self.documents
    }

    fn block_count(&self) -> usize {
        (self.documents as usize).div_ceil(BLOCK)
    }

    fn entry(&self, block: usize) -> Option<Entry> {
        let [a, b, c, d, e, f, g, h] = *self.table.get(block * ENTRY..)?.first_chunk()?;
        let start = u32::from_le_bytes([e, f, g, h]) as usize;
        Some(Entry { last: u32::from_le_bytes([a, b, c, d]), start })
    }

    fn bound(&self, block: usize) -> Option<Bound> {
        Some(Bound::from_bytes(self.table.get(block * ENTRY + 8..)?.first_chunk()?))
    }

    /// Goes to the first document of a block.
    fn read(&mut self, block: usize) {
        (self.block, self.at) = (block, 0);
        self.count = (self.documents as usize).saturating_sub(block * BLOCK).min(BLOCK);
        let start = self.entry(block).map_or(0, |entry| entry.start);
        // A table has the entry of each block before.
        let first =
            block.checked_sub(1).and_then(|b| self.entry(b)).map_or(0, |entry| entry.last + 1);
        let Some(([docs, counts], rest)) =
            self.blocks.get(start..).and_then(|b| b.split_first_chunk())
        else {
            self.count = 0;
            return;
        };
        let (docs, counts) = (u32::from(*docs).min(32), u32::from(*counts).min(32));
        let split = |rest: &'s [u8], size: usize| rest.split_at_checked(size).unwrap_or_default();
        let (packed, rest) = split(rest, bytes(self.count, docs));
        let numbers = &mut self.docs[..self.count];
        unpack(packed, docs, numbers);
        let mut next = first;
        for doc in numbers {
            *doc = doc.saturating_add(next);
            next = doc.saturating_add(1);
        }
        let (packed, occurrences) = split(rest, bytes(self.count, counts));
        self.counts.packed = packed;
        self.counts.width = counts;
        self.counts.is_read = false;
        self.counts.occurrences = occurrences;
        self.counts.next = (0, 0);
    }

    /// The current document, or [`END`].
    pub(super) fn doc(&self) -> u32 {
        match self.at < self.count {
            true => self.docs[self.at],
            false => END,
        }
    }

    /// Goes to the next document.
    pub(super) fn next(&mut self) -> u32 {
        self.at += 1;
        if self.at >= self.count && self.block + 1 < self.block_count() {
            self.read(self.block + 1);
        }
        self.doc()
    }

    /// Goes to the first document from one on; nowhere where the current one is not before it.
    pub(super) fn seek(&mut self, doc: u32) -> u32 {
        if self.doc() >= doc {
            return self.doc();
        }
        let block = self.block_of(doc);
        if block != self.block {
            self.read(block);
        }
        let rest = &self.docs[self.at.min(self.count)..self.count];
        self.at += rest.partition_point(|d| *d < doc);
        self.doc()
    }

    /// The block from the current one on that has the first document from one on; the last where none has.
    fn block_of(&self, doc: u32) -> usize {
        let last = self.block_count().saturating_sub(1);
        let is_before = |block: usize| self.entry(block).is_some_and(|entry| entry.last < doc);
        // Steps twice as long each find it soon where it is near.
        let (mut low, mut step) = (self.block, 1);
        while low + step <= last && is_before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(last);
        while low < high {
            let middle = low.midpoint(high);
            match is_before(middle) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The last document of the block of the current one, and what holds for all of the block; nothing where the list is one block.
    pub(super) fn block_bound(&self) -> Option<(u32, Bound)> {
        Some((self.entry(self.block)?.last, self.bound(self.block)?))
    }

    /// What holds for each block; nothing where the list is one block.
    pub(super) fn bounds(&self) -> impl Iterator<Item = Bound> {
        (0..self.table.len() / ENTRY).filter_map(|block| self.bound(block))
    }

    /// How often the current document has the term.
    pub(super) fn count(&mut self) -> u32 {
        self.counts.read(self.count);
        self.counts.counts.get(self.at).map_or(0, |count| count + 1)
    }

    /// Where the current document has the term, behind what is in a list already.
    pub(super) fn occurrences(&mut self, into: &mut Vec<Occurrence>) {
        let bytes = self.raw_occurrences();
        let (mut at, mut element, mut next) = (0, 0_u32, 0_u32);
        while at < bytes.len() {
            let number = read_number(bytes, &mut at);
            if number & 1 == 1 {
                element = element.saturating_add(read_number(bytes, &mut at)).saturating_add(1);
                next = 0;
            }
            let position = next.saturating_add(number >> 1);
            into.push(Occurrence { element, position });
            next = position.saturating_add(1);
        }
    }

    /// The bytes of the [occurrences](Postings::occurrences) of the current document.
    pub(super) fn raw_occurrences(&mut self) -> &'s [u8] {
        self.counts.read(self.count);
        self.counts.raw(self.at)
    }
}

impl<'s> Counts<'s> {
    fn read(&mut self, count: usize) {
        if !self.is_read {
            unpack(self.packed, self.width, &mut self.counts[..count]);
            self.is_read = true;
        }
    }

    /// The bytes of the occurrences of a document of the block.
    fn raw(&mut self, document: usize) -> &'s [u8] {
        if document < self.next.0 {
            self.next = (0, 0);
        }
        let (mut doc, mut at) = self.next;
        loop {
            let begin = at;
            for _ in 0..=self.counts.get(doc).copied().unwrap_or_default() {
                if read_number(self.occurrences, &mut at) & 1 == 1 {
                    read_number(self.occurrences, &mut at);
                }
            }
            if doc >= document {
                // The place before it, so that it may be asked again.
                self.next = (doc, begin);
                return self.occurrences.get(begin..at).unwrap_or_default();
            }
            doc += 1;
        }
    }
}
