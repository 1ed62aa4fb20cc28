//! Documents that were indexed together, for good.

use super::dictionary::Dictionary;
use super::elements::Elements;
use super::list::List;
use super::postings::Postings;

/// The terms of some documents. Nothing of it changes; that documents of it are gone is known beside it.
#[derive(Debug)]
pub struct Segment {
    /// The lid of each document, in order.
    pub(super) lids: Vec<u32>,
    /// How many words each document has.
    pub(super) lengths: Vec<u32>,
    /// Their elements.
    pub(super) elements: Elements,
    /// The words of all documents.
    pub(super) total: u64,
    pub(super) dictionary: Dictionary,
    /// Where the postings of each term begin.
    pub(super) starts: Vec<u32>,
    /// The lists of postings of all terms, as [written](super::write).
    pub(super) postings: Vec<u8>,
}

impl Segment {
    /// How many documents it has, those that are gone included.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.lids.len()
    }

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
        Some(Postings::new(self.packed(term)?))
    }

    /// The same before any of them is read.
    pub(super) fn packed(&self, term: usize) -> Option<List<'_>> {
        let begin = *self.starts.get(term)? as usize;
        Some(List::new(self.postings.get(begin..)?))
    }

    /// The documents that have a term.
    pub(super) fn find(&self, term: &str) -> Option<Postings<'_>> {
        self.list(self.dictionary.find(term)?)
    }

    /// As [`Segment::packed`], of a term.
    pub(super) fn find_list(&self, term: &str) -> Option<List<'_>> {
        self.packed(self.dictionary.find(term)?)
    }

    /// The memory that it takes, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        4 * (self.lids.len() + self.lengths.len() + self.starts.len())
            + self.elements.memory()
            + self.dictionary.memory()
            + self.postings.len()
    }
}
