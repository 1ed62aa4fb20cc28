//! An index of the terms of one field, which is read while it changes.
//!
//! A [`FieldIndex`] is what a reader has: [segments](segment) that never change, and which of their documents are gone. A
//! [`FieldWriter`] makes the documents of each publication a segment of its own, so that they are found at once, and joins
//! segments when there are [many of a size](merge): a document is written again as often as the index grows eightfold. Small ones
//! have no lists of postings before somebody reads them: until then they are [documents as they came](draft), and joining them is cheap. From some hundred documents
//! on lists are made, and segments joined, by whoever calls [`Merge::run`], while the writer goes on. While nothing changes [few segments](FieldWriter::rest) become one.
//! Documents are known by their numbers in the store (lids), and lie in the order of these in each segment.
//! Segments are [stored](stored) as they are, each once: what changes of them is which documents are gone.
//!
//! *Rejected:* one growing structure behind a frozen one. Lids are used again, so that lists which grow would not be in their order, or be
//! trees whose memory is several times that of the packed lists.

mod bound;
mod counter;
mod cursor;
mod dictionary;
mod draft;
mod elements;
mod list;
mod merge;
mod near;
mod packed;
mod pattern;
mod pending;
mod phrases;
mod postings;
mod rough;
mod search;
mod segment;
mod stored;
#[cfg(test)]
mod tests;
mod top;
mod view;
mod write;
mod writer;

pub use counter::Counter;
pub use elements::Element;
pub use near::Near;
pub use pattern::{Affix, Pattern};
pub use phrases::Phrases;
pub use segment::Segment;
pub use stored::SegmentError;
pub use top::{Scored, Top};
pub use view::FieldIndex;
pub use write::Occurrence;
pub use writer::{FieldWriter, Merge, Merged};
