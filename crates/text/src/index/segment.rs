//! Documents that were indexed together, for good.

use super::dictionary::Dictionary;
use super::postings::Postings;

/// The terms of some documents. Nothing of it changes; that documents of it are gone is known beside it.
#[derive(Debug)]
pub(super) struct Segment {
    /// The lid of each document, in order.
    pub(super) lids: Vec<u32>,
    /// How many words each document has.
    pub(super) lengths: Vec<u32>,
    /// The words of all documents.
    pub(super) total: u64,
    pub(super) dictionary: Dictionary,
    /// Where the postings of each term begin.
    pub(super) starts: Vec<u32>,
    /// The lists of postings of all terms, as [written](super::write).
    pub(super) postings: Vec<u8>,
}

impl Segment {
    /// The lid of a document.
    pub(super) fn lid(&self, doc: u32) -> u32 {
        self.lids.get(doc as usize).copied().unwrap_or(u32::MAX)
    }

    /// How many words a document has.
    pub(super) fn length(&self, doc: u32) -> u32 {
        self.lengths.get(doc as usize).copied().unwrap_or_default()
    }

    /// The document of a lid.
    pub(super) fn document(&self, lid: u32) -> Option<u32> {
        self.lids.binary_search(&lid).ok().map(|doc| doc as u32)
    }

    /// The documents that have a term, by its number.
    pub(super) fn list(&self, term: usize) -> Option<Postings<'_>> {
        let begin = *self.starts.get(term)? as usize;
        Some(Postings::new(self.postings.get(begin..)?))
    }

    /// The documents that have a term.
    pub(super) fn find(&self, term: &str) -> Option<Postings<'_>> {
        self.list(self.dictionary.find(term)?)
    }

    /// The memory that it takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        4 * (self.lids.len() + self.lengths.len() + self.starts.len())
            + self.dictionary.memory()
            + self.postings.len()
    }
}
