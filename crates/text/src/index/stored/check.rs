//! Lists of postings of others: what a reader of them takes for granted.

use super::super::bound::Bound;
use super::super::packed::{BLOCK, bytes, checked_number, unpack};
use super::super::write::ENTRY;
use super::SegmentError;

use SegmentError::Damaged;

/// The last position that a list has room for: a bit of a number tells of elements.
const MAX_POSITION: u32 = u32::MAX >> 1;

const SHORT: SegmentError = Damaged("a list ends too early");
const ORDER: SegmentError = Damaged("a list names documents that are not there");
const WORDS: SegmentError = Damaged("a document has another number of words");
const TABLE: SegmentError = Damaged("the table of a list is not that of its blocks");

/// Where each of so many lists begins, which lie behind each other and are all that there is, of documents of these lengths in words.
pub(super) fn lists(
    postings: &[u8],
    count: usize,
    lengths: &[u32],
) -> Result<Vec<u32>, SegmentError> {
    let mut lists = Lists { postings, at: 0, lengths, left: lengths.to_vec() };
    // A list has a byte at least.
    if count > postings.len() {
        return Err(SHORT);
    }
    let mut starts = Vec::with_capacity(count);
    for _ in 0..count {
        starts.push(lists.at as u32);
        lists.list()?;
    }
    if lists.at != postings.len() {
        return Err(Damaged("something follows the last list"));
    }
    // One without words is none of the segment.
    match lists.left.iter().all(|left| *left == 0) && !lengths.contains(&0) {
        true => Ok(starts),
        false => Err(WORDS),
    }
}

struct Lists<'s> {
    postings: &'s [u8],
    at: usize,
    lengths: &'s [u32],
    /// The words of each document that no list has had yet.
    left: Vec<u32>,
}

impl<'s> Lists<'s> {
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
        let table = self.take(if blocks > 1 { blocks * ENTRY } else { 0 })?;
        let (begin, mut next) = (self.at, 0);
        for block in 0..blocks {
            let start = self.at - begin;
            let bound = self.block((documents - block * BLOCK).min(BLOCK), &mut next)?;
            if blocks > 1 {
                let mut entry = [0; ENTRY];
                let parts = entry.split_at_mut(8);
                parts.0[..4].copy_from_slice(&(next - 1).to_le_bytes());
                parts.0[4..].copy_from_slice(&(start as u32).to_le_bytes());
                parts.1.copy_from_slice(&bound.bytes());
                if table.get(block * ENTRY..).is_none_or(|of| !of.starts_with(&entry)) {
                    return Err(TABLE);
                }
            }
        }
        Ok(())
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
            self.occurrences(count)?;
        }
        Ok(bound)
    }
}

impl Lists<'_> {
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
