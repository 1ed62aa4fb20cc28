//! Lists of postings of others: what a reader of them takes for granted.

use super::super::bound::Bound;
use super::super::dictionary::Dictionary;
use super::super::packed::{BLOCK, bytes, checked_number, unpack};
use super::super::segment::Lists;
use super::super::write::{ENTRY, ListsWriter, REGION, all_bounds};
use super::{SegmentError, VERSION};

use SegmentError::Damaged;

/// The last position that a list has room for: a bit of a number tells of elements.
const MAX_POSITION: u32 = u32::MAX >> 1;

const SHORT: SegmentError = Damaged("a list ends too early");
const ORDER: SegmentError = Damaged("a list names documents that are not there");
const WORDS: SegmentError = Damaged("a document has another number of words");
const TABLE: SegmentError = Damaged("the table of a list is not that of its blocks");

/// The bytes that a block has in a table of version 1, which has no others.
const ENTRY_1: usize = 18;

/// The lists of some terms, which lie behind each other and are all that there is, of documents of these lengths in words.
pub(super) fn lists(
    postings: &[u8],
    dictionary: Dictionary,
    lengths: &[u32],
    version: u32,
) -> Result<Lists, SegmentError> {
    // A list has a byte at least.
    if dictionary.len() > postings.len() {
        return Err(SHORT);
    }
    // Those of before are written anew.
    let written = (version < VERSION).then(|| ListsWriter::new(lengths));
    let left = lengths.to_vec();
    let mut reader = Reader { postings, at: 0, lengths, left, bounds: Vec::new(), written };
    let mut starts = Vec::with_capacity(dictionary.len());
    for term in 0..dictionary.len() {
        starts.push(reader.at as u32);
        reader.list()?;
        if let Some(written) = &mut reader.written {
            written.term(dictionary.get(term).unwrap_or_default());
        }
    }
    if reader.at != postings.len() {
        return Err(Damaged("something follows the last list"));
    }
    // One without words is none of the segment.
    if reader.left.iter().any(|left| *left > 0) || lengths.contains(&0) {
        return Err(WORDS);
    }
    Ok(match reader.written {
        Some(written) => written.finish(),
        None => Lists { dictionary, starts, postings: postings.to_vec() },
    })
}

struct Reader<'s> {
    postings: &'s [u8],
    at: usize,
    lengths: &'s [u32],
    /// The words of each document that no list has had yet.
    left: Vec<u32>,
    /// Of the blocks of the list.
    bounds: Vec<Bound>,
    /// What was read of lists that are to be written anew.
    written: Option<ListsWriter<'s>>,
}

impl<'s> Reader<'s> {
    fn take(&mut self, count: usize) -> Result<&'s [u8], SegmentError> {
        let rest = self.postings.get(self.at..).unwrap_or_default();
        self.at += count;
        rest.get(..count).ok_or(SHORT)
    }

    fn number(&mut self) -> Result<u32, SegmentError> {
        checked_number(self.postings, &mut self.at).ok_or(SHORT)
    }

    /// Goes behind a list.
    fn list(&mut self) -> Result<(), SegmentError> {
        let documents = self.number()? as usize;
        if documents == 0 || documents > self.lengths.len() {
            return Err(ORDER);
        }
        let blocks = documents.div_ceil(BLOCK);
        let is_old = self.written.is_some();
        let [bounds, table] = match (blocks > 1, is_old) {
            (false, _) => [0, 0],
            (true, false) => {
                [(1 + blocks.div_ceil(REGION) + blocks) * Bound::BYTES, blocks * ENTRY]
            }
            (true, true) => [0, blocks * ENTRY_1],
        };
        let (bounds, table) = (self.take(bounds)?, self.take(table)?);
        let (begin, mut next) = (self.at, 0);
        self.bounds.clear();
        for block in 0..blocks {
            let start = (self.at - begin) as u32;
            let bound = self.block((documents - block * BLOCK).min(BLOCK), &mut next)?;
            self.bounds.push(bound);
            let entry = [(next - 1).to_le_bytes(), start.to_le_bytes()];
            let is_it = |table: &[u8]| table.starts_with(entry.as_flattened());
            if blocks > 1 && !is_old && !table.get(block * ENTRY..).is_some_and(is_it) {
                return Err(TABLE);
            }
        }
        let given = bounds.as_chunks().0.iter();
        match bounds.is_empty()
            || all_bounds(&self.bounds).map(|bound| bound.bytes()).eq(given.copied())
        {
            true => Ok(()),
            false => Err(TABLE),
        }
    }

    /// Goes behind a block of so many documents, the first of which may be `next`, which becomes the one behind its last.
    fn block(&mut self, count: usize, next: &mut u32) -> Result<Bound, SegmentError> {
        let (mut docs, mut counts) = ([0; BLOCK], [0; BLOCK]);
        let (docs, counts) = (&mut docs[..count], &mut counts[..count]);
        let widths = self.take(2)?;
        if widths.iter().any(|width| u32::from(*width) > u32::BITS) {
            return Err(SHORT);
        }
        for (numbers, width) in [&mut *docs, &mut *counts].into_iter().zip(widths) {
            let width = u32::from(*width);
            unpack(self.take(bytes(count, width))?, width, numbers);
        }
        let mut bound = Bound::default();
        for (doc, count) in docs.iter().zip(counts) {
            let doc = next.checked_add(*doc).ok_or(ORDER)?;
            let (length, left) =
                self.lengths.get(doc as usize).zip(self.left.get_mut(doc as usize)).ok_or(ORDER)?;
            let count = count.checked_add(1).ok_or(WORDS)?;
            *left = left.checked_sub(count).ok_or(WORDS)?;
            bound.add(count, *length);
            // There is a document of this number, and no number is as great as that of all.
            *next = doc + 1;
            let begin = self.at;
            self.occurrences(count)?;
            if let Some(written) = &mut self.written {
                written.document(doc, count, self.postings.get(begin..self.at).unwrap_or_default());
            }
        }
        Ok(bound)
    }
}

impl Reader<'_> {
    /// Goes behind the occurrences of a document that has so many.
    fn occurrences(&mut self, count: u32) -> Result<(), SegmentError> {
        const PLACE: SegmentError = Damaged("a word stands nowhere");
        let (mut element, mut next) = (0_u32, 0_u32);
        for _ in 0..count {
            let number = self.number()?;
            if number & 1 == 1 {
                let between = self.number()?.checked_add(1);
                element = between.and_then(|n| element.checked_add(n)).ok_or(PLACE)?;
                next = 0;
            }
            next = next.saturating_add(number >> 1);
            if next > MAX_POSITION {
                return Err(PLACE);
            }
            next += 1;
        }
        Ok(())
    }
}
