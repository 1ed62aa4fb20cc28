//! Segments as bytes, so that texts are not analysed again at a start.
//!
//! All numbers are little endian:
//!
//! | bytes | |
//! |---|---|
//! | 8 | `steadtxt` |
//! | 4 | the version, 2 |
//! | 4 | the number of documents |
//! | 4 | the number of elements; 0 where each document has one, the first, and it weighs 1 |
//! | 4, 4 | the number of terms, and of the bytes of all |
//! | 4 | the bytes of all lists of postings |
//! | | for each document 4: its lid, greater than the one before |
//! | | for each document 4: how many words it has |
//! | | where there are elements, for each document 4: where its elements end |
//! | | for each element 4, 4, 4: its number, how many words it has, and its weight |
//! | | for each term 4: where it ends |
//! | | the terms in order, UTF-8 |
//! | | the [list of postings](super::write::ENTRY) of each term, one behind the other |
//! | 4 | the CRC-32C of all before |
//!
//! Version 1 had another table of the blocks of a list, without regions: what it says is not read, and lists are written anew.
//!
//! What is read is checked as a whole: no document is named that is not there, lists are in order and end where the next begins, and each
//! document has as many words as it says. That takes a look at each word, which costs a hundredth of its analysis.

mod check;
mod read;
#[cfg(test)]
mod tests;
mod write;

const MAGIC: [u8; 8] = *b"steadtxt";
const VERSION: u32 = 2;

/// The first version that is read.
const OLDEST: u32 = 1;

/// The bytes of an element.
const ELEMENT: usize = 12;

/// Why bytes are no segment, or segments no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Something else, or written by a later version.
    #[error("these are no segment of an index")]
    NotSegment,
    /// What no index has.
    #[error("a segment of an index is damaged: {0}")]
    Damaged(&'static str),
}
