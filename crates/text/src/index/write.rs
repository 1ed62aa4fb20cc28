//! A segment as it is written: terms in order, the documents of each in order.

use super::bound::Bound;
use super::dictionary::DictionaryBuilder;
use super::elements::Elements;
use super::packed::{BLOCK, pack, width, write_number};
use super::segment::Segment;

/// The bytes that a block of a list has in its table.
///
/// A list of postings is: the number of its documents; where these are more than one block, a table with an entry for each block, all
/// little-endian: the last document of it (`u32`), where it begins behind the table (`u32`), its [bound](super::bound); the blocks. A block of up to [`BLOCK`] documents is: the bits
/// of a document and those of a count (a byte each); the documents, as how many lie between one and the one before; how often each has the
/// term, less one; where it has it, document after document: for each occurrence twice how many words lie between it and
/// the one before in the same element, or that plus one, then how many elements lie between, where it is the first in an element other than the first.
pub(super) const ENTRY: usize = 8 + Bound::BYTES;

/// Where a word stands: the number of the element of a field with several values, 0 of others, and the number of the word in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Occurrence {
    /// The number of the element, from 0.
    pub element: u32,
    /// The number of the word in the element, from 0.
    pub position: u32,
}

/// Writes the occurrences of a term in a document, which are in order.
pub(super) fn write_occurrences(occurrences: &[Occurrence], into: &mut Vec<u8>) {
    let (mut element, mut next) = (0, 0);
    for occurrence in occurrences {
        if occurrence.element != element {
            write_number((occurrence.position << 1) | 1, into);
            write_number(occurrence.element - element - 1, into);
            element = occurrence.element;
        } else {
            write_number((occurrence.position - next) << 1, into);
        }
        next = occurrence.position + 1;
    }
}

/// A segment that is being written.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    lids: Vec<u32>,
    lengths: Vec<u32>,
    elements: Elements,
    dictionary: DictionaryBuilder,
    starts: Vec<u32>,
    postings: Vec<u8>,
    /// Of the term that is being written.
    documents: u32,
    table: Vec<u8>,
    blocks: Vec<u8>,
    block: BlockWriter,
}

#[derive(Debug, Default)]
struct BlockWriter {
    docs: Vec<u32>,
    counts: Vec<u32>,
    /// The document before the next.
    next: u32,
    bound: Bound,
    occurrences: Vec<u8>,
}

impl SegmentWriter {
    /// A segment of documents by their lids, which are in order, how many words each has, and the elements of each.
    pub(super) fn new(lids: Vec<u32>, lengths: Vec<u32>, elements: Elements) -> SegmentWriter {
        debug_assert!(lids.len() == lengths.len() && lids.is_sorted());
        SegmentWriter {
            lids,
            lengths,
            elements: elements.finish(),
            dictionary: DictionaryBuilder::new(),
            starts: Vec::new(),
            postings: Vec::new(),
            documents: 0,
            table: Vec::new(),
            blocks: Vec::new(),
            block: BlockWriter::default(),
        }
    }

    /// Makes room for so many terms with so many bytes, and for so many bytes of their lists.
    pub(super) fn reserve(&mut self, terms: usize, texts: usize, postings: usize) {
        self.dictionary.reserve(terms, texts);
        self.starts.reserve(terms);
        self.postings.reserve(postings);
    }

    /// Adds a document of the current term, behind those before, with how often it has the term and what [`write_occurrences`] wrote.
    pub(super) fn document(&mut self, doc: u32, count: u32, occurrences: &[u8]) {
        debug_assert!(count > 0 && doc >= self.block.next);
        let block = &mut self.block;
        let length = self.lengths.get(doc as usize).copied().unwrap_or_default();
        block.bound.add(count, length);
        block.docs.push(doc - block.next);
        block.counts.push(count - 1);
        block.next = doc + 1;
        block.occurrences.extend_from_slice(occurrences);
        self.documents += 1;
        if block.docs.len() == BLOCK {
            self.close_block();
        }
    }

    fn close_block(&mut self) {
        let block = &mut self.block;
        let bound = std::mem::take(&mut block.bound);
        // A list of one block has no table; most have few documents.
        if self.documents as usize >= BLOCK {
            self.table.extend((block.next - 1).to_le_bytes());
            self.table.extend((self.blocks.len() as u32).to_le_bytes());
            self.table.extend(bound.bytes());
        }
        let widths = (width(&block.docs), width(&block.counts));
        self.blocks.extend([widths.0 as u8, widths.1 as u8]);
        pack(&block.docs, widths.0, &mut self.blocks);
        pack(&block.counts, widths.1, &mut self.blocks);
        self.blocks.append(&mut block.occurrences);
        block.docs.clear();
        block.counts.clear();
    }

    /// Ends a term, greater than those before, whose documents were [added](SegmentWriter::document); one without any is left out.
    pub(super) fn term(&mut self, term: &str) {
        if !self.block.docs.is_empty() {
            self.close_block();
        }
        if self.documents > 0 {
            self.dictionary.push(term);
            self.starts.push(self.postings.len() as u32);
            write_number(self.documents, &mut self.postings);
            if self.table.len() > ENTRY {
                self.postings.append(&mut self.table);
            }
            self.postings.append(&mut self.blocks);
        }
        self.table.clear();
        self.documents = 0;
        self.block.next = 0;
    }

    pub(super) fn finish(mut self) -> Segment {
        self.postings.shrink_to_fit();
        self.starts.shrink_to_fit();
        let total = self.lengths.iter().map(|length| u64::from(*length)).sum();
        Segment {
            lids: self.lids,
            lengths: self.lengths,
            elements: self.elements,
            total,
            dictionary: self.dictionary.finish(),
            starts: self.starts,
            postings: self.postings,
        }
    }
}
