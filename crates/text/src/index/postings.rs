//! A list of postings as it is read.

use super::list::{Block, List};
use super::packed::{BLOCK, read_number};
use super::write::Occurrence;

/// Behind the last document of a list.
pub(super) const END: u32 = u32::MAX;

/// The documents that have a term, one after the other.
#[derive(Debug, Clone)]
pub(super) struct Postings<'s> {
    list: List<'s>,
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
    of: Block<'s>,
    is_read: bool,
    counts: [u32; BLOCK],
    /// The document whose occurrences begin at a byte of these.
    next: (usize, usize),
}

impl<'s> Postings<'s> {
    pub(super) fn new(list: List<'s>) -> Postings<'s> {
        let (of, next) = (Block::default(), (0, 0));
        let counts = Counts { of, is_read: false, counts: [0; BLOCK], next };
        let mut postings = Postings { list, block: 0, docs: [0; BLOCK], count: 0, at: 0, counts };
        postings.read(0);
        postings
    }

    /// Goes to the first document of a block.
    fn read(&mut self, block: usize) {
        let of = self.list.block(block);
        (self.block, self.at, self.count) = (block, 0, of.count);
        of.docs(&mut self.docs);
        self.counts.of = of;
        self.counts.is_read = false;
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
        if self.at >= self.count && self.block + 1 < self.list.block_count() {
            self.read(self.block + 1);
        }
        self.doc()
    }

    /// Goes to the first document from one on; nowhere where the current one is not before it.
    pub(super) fn seek(&mut self, doc: u32) -> u32 {
        if self.doc() >= doc {
            return self.doc();
        }
        let last = self.list.block_count().saturating_sub(1);
        let block = self.list.block_of(self.block, doc).min(last);
        if block != self.block {
            self.read(block);
        }
        let rest = &self.docs[self.at.min(self.count)..self.count];
        self.at += rest.partition_point(|d| *d < doc);
        self.doc()
    }

    /// How often the current document has the term.
    pub(super) fn count(&mut self) -> u32 {
        self.counts.read();
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
        self.counts.read();
        self.counts.raw(self.at)
    }
}

/// Goes behind the occurrences of a document that has a term so often.
pub(super) fn skip_occurrences(bytes: &[u8], count: u32, at: &mut usize) {
    for _ in 0..count {
        if read_number(bytes, at) & 1 == 1 {
            read_number(bytes, at);
        }
    }
}

impl<'s> Counts<'s> {
    fn read(&mut self) {
        if !self.is_read {
            self.of.counts(&mut self.counts);
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
            let count = self.counts.get(doc).map_or(1, |count| count.saturating_add(1));
            skip_occurrences(self.of.occurrences, count, &mut at);
            if doc >= document {
                // The place before it, so that it may be asked again.
                self.next = (doc, begin);
                return self.of.occurrences.get(begin..at).unwrap_or_default();
            }
            doc += 1;
        }
    }
}
