//! The lists of a segment as they are written: terms in order, the documents of each in order.

use super::bound::Bound;
use super::dictionary::DictionaryBuilder;
use super::packed::{BLOCK, pack, width, write_number};
use super::postings::skip_occurrences;
use super::segment::Lists;

/// The bytes that a block of a list has in its table.
///
/// A list of postings is: the number of its documents; where these are more than one block, what [holds](super::bound) for all blocks, for each
/// [region](REGION) of them, and for each, and a table with an entry for each block, little-endian: the last document of it (`u32`),
/// and where it begins behind the table (`u32`); the blocks. A block of up to [`BLOCK`] documents is: the bits
/// of a document and those of a count (a byte each); the documents, as how many lie between one and the one before; how often each has the
/// term, less one; where it has it, document after document: for each occurrence twice how many words lie between it and
/// the one before in the same element, or that plus one, then how many elements lie between, where it is the first in an element other than the first.
pub(super) const ENTRY: usize = 8;

/// So many blocks are passed over at once where none may be good enough.
pub(super) const REGION: usize = 16;

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

/// Lists that are being written.
#[derive(Debug)]
pub(super) struct ListsWriter<'l> {
    /// How many words each document has.
    lengths: &'l [u32],
    dictionary: DictionaryBuilder,
    starts: Vec<u32>,
    postings: Vec<u8>,
    /// Of the term that is being written.
    documents: u32,
    bounds: Vec<Bound>,
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
    occurrences: Vec<u8>,
}

/// What holds for all blocks, for each region, and for each block.
pub(super) fn all_bounds(blocks: &[Bound]) -> impl Iterator<Item = Bound> {
    let all = |of: &[Bound]| of.iter().copied().fold(Bound::default(), Bound::or);
    [all(blocks)].into_iter().chain(blocks.chunks(REGION).map(all)).chain(blocks.iter().copied())
}

impl<'l> ListsWriter<'l> {
    /// Lists of documents that have so many words each.
    pub(super) fn new(lengths: &'l [u32]) -> ListsWriter<'l> {
        ListsWriter {
            lengths,
            dictionary: DictionaryBuilder::new(),
            starts: Vec::new(),
            postings: Vec::new(),
            documents: 0,
            bounds: Vec::new(),
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
        block.docs.push(doc - block.next);
        block.counts.push(count - 1);
        block.next = doc + 1;
        match occurrences {
            // Most words stand in a text once.
            [one] => block.occurrences.push(*one),
            several => block.occurrences.extend_from_slice(several),
        }
        self.documents += 1;
        if block.docs.len() == BLOCK {
            self.close_block();
        }
    }

    /// Adds documents as [`ListsWriter::document`] does, with the occurrences of all of them one behind the other: the first of them, how many lie
    /// between each of the others and the one before, and how often each has the term, less one.
    pub(super) fn documents(
        &mut self,
        first: u32,
        between: &[u32],
        counts: &[u32],
        mut occurrences: &[u8],
    ) {
        debug_assert!(between.len() + 1 == counts.len() && first >= self.block.next);
        let (mut next, mut between, mut counts) = (first, between, counts);
        while !counts.is_empty() {
            let fit = (BLOCK - self.block.docs.len()).min(counts.len());
            let (own, rest) = counts.split_at(fit);
            let bytes = match rest {
                [] => occurrences.len(),
                _ => own.iter().fold(0, |mut at, count| {
                    skip_occurrences(occurrences, count + 1, &mut at);
                    at
                }),
            };
            let block = &mut self.block;
            let (of_own, others) = occurrences.split_at_checked(bytes).unwrap_or_default();
            let (among, behind) = between.split_at_checked(fit - 1).unwrap_or_default();
            block.docs.push(next - block.next);
            block.docs.extend_from_slice(among);
            block.counts.extend_from_slice(own);
            block.occurrences.extend_from_slice(of_own);
            block.next = next + among.iter().sum::<u32>() + fit as u32;
            self.documents += fit as u32;
            (counts, occurrences) = (rest, others);
            if let Some((before, later)) = behind.split_first() {
                (next, between) = (block.next + before, later);
            }
            if self.block.docs.len() == BLOCK {
                self.close_block();
            }
        }
    }

    fn close_block(&mut self) {
        let block = &mut self.block;
        // A list of one block has no table; most have few documents.
        if self.documents as usize >= BLOCK {
            self.table.extend((block.next - 1).to_le_bytes());
            self.table.extend((self.blocks.len() as u32).to_le_bytes());
            let mut next = block.next - block.docs.iter().map(|between| between + 1).sum::<u32>();
            let mut bound = Bound::default();
            for (between, count) in block.docs.iter().zip(&block.counts) {
                let doc = next + between;
                bound.add(count + 1, self.lengths.get(doc as usize).copied().unwrap_or_default());
                next = doc + 1;
            }
            self.bounds.push(bound);
        }
        let widths = (width(&block.docs), width(&block.counts));
        self.blocks.extend([widths.0 as u8, widths.1 as u8]);
        pack(&block.docs, widths.0, &mut self.blocks);
        pack(&block.counts, widths.1, &mut self.blocks);
        self.blocks.append(&mut block.occurrences);
        block.docs.clear();
        block.counts.clear();
    }

    /// Ends a term, greater than those before, whose documents were [added](ListsWriter::document); one without any is left out.
    pub(super) fn term(&mut self, term: &str) {
        if !self.block.docs.is_empty() {
            self.close_block();
        }
        if self.documents > 0 {
            self.dictionary.push(term);
            self.starts.push(self.postings.len() as u32);
            write_number(self.documents, &mut self.postings);
            if self.bounds.len() > 1 {
                for bound in all_bounds(&self.bounds) {
                    self.postings.extend_from_slice(&bound.bytes());
                }
                self.postings.append(&mut self.table);
            }
            self.postings.append(&mut self.blocks);
        }
        self.bounds.clear();
        self.table.clear();
        self.documents = 0;
        self.block.next = 0;
    }

    pub(super) fn finish(mut self) -> Lists {
        self.postings.shrink_to_fit();
        self.starts.shrink_to_fit();
        let dictionary = self.dictionary.finish();
        Lists { dictionary, starts: self.starts, postings: self.postings }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::proptest;

    use super::{BLOCK, ListsWriter, Occurrence, write_occurrences};

    proptest! {
        /// Documents that are added together become what they become one by one, wherever blocks end.
        #[test]
        fn documents_come_together_or_alone(
            documents in vec((0_u32..4, vec(0_u32..300, 1..4)), 1..3 * BLOCK),
            runs in vec(1_usize..2 * BLOCK, 1..8),
        ) {
            let mut next = 0;
            let all: Vec<(u32, u32, u32, Vec<u8>)> = documents.iter().map(|(between, words)| {
                let (doc, mut position, mut bytes) = (next + between, 0, Vec::new());
                let mut places: Vec<Occurrence> = words.iter().map(|word| {
                    position += word + 1;
                    Occurrence { element: word % 2, position }
                }).collect();
                places.sort();
                write_occurrences(&places, &mut bytes);
                next = doc + 1;
                (doc, *between, places.len() as u32, bytes)
            }).collect();
            let lengths: Vec<u32> = (0..next).map(|doc| doc * 37 % 90 + 3).collect();

            let (mut alone, mut together) = (ListsWriter::new(&lengths), ListsWriter::new(&lengths));
            for (doc, _, count, bytes) in &all {
                alone.document(*doc, *count, bytes);
            }
            let mut rest = &all[..];
            for run in runs.iter().cycle() {
                let (own, behind) = rest.split_at((*run).min(rest.len()));
                let Some((first, ..)) = own.first() else { break };
                let between: Vec<u32> = own.iter().skip(1).map(|of| of.1).collect();
                let counts: Vec<u32> = own.iter().map(|of| of.2 - 1).collect();
                let bytes: Vec<u8> = own.iter().flat_map(|of| of.3.iter().copied()).collect();
                together.documents(*first, &between, &counts, &bytes);
                rest = behind;
            }
            for writer in [&mut alone, &mut together] {
                writer.term("a");
                writer.document(1, 2, &[2, 0]);
                writer.term("b");
            }
            let (alone, together) = (alone.finish(), together.finish());
            assert_eq!((alone.starts, alone.postings), (together.starts, together.postings));
        }
    }
}
