//! Documents that were indexed together, for good.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::dictionary::Dictionary;
use super::draft::Waiting;
use super::elements::Elements;
use super::list::List;
use super::postings::Postings;

/// The terms of some documents. Nothing of it changes; that documents of it are gone is known beside it.
///
/// One of few documents has no lists before somebody reads them: mostly it is joined with others before.
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
    /// The most words that a document has.
    pub(super) longest: u32,
    lists: OnceLock<Lists>,
    /// The documents until they have lists.
    waiting: Mutex<Option<Arc<Waiting>>>,
}

/// The lists of postings of the terms of some documents.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) dictionary: Dictionary,
    /// Where the postings of each term begin.
    pub(super) starts: Vec<u32>,
    /// The lists of postings of all terms, as [written](super::write).
    pub(super) postings: Vec<u8>,
}

impl Segment {
    pub(super) fn new(
        lids: Vec<u32>,
        lengths: Vec<u32>,
        elements: Elements,
        lists: Lists,
    ) -> Segment {
        let segment = Segment::of(lids, lengths, elements, None);
        let _ = segment.lists.set(lists); // it has none
        segment
    }

    /// Documents that have no lists yet.
    pub(super) fn waiting(
        lids: Vec<u32>,
        lengths: Vec<u32>,
        elements: Elements,
        waiting: Waiting,
    ) -> Segment {
        Segment::of(lids, lengths, elements, Some(Arc::new(waiting)))
    }

    fn of(
        lids: Vec<u32>,
        lengths: Vec<u32>,
        elements: Elements,
        waiting: Option<Arc<Waiting>>,
    ) -> Segment {
        debug_assert!(lids.len() == lengths.len() && lids.is_sorted());
        let total = lengths.iter().map(|length| u64::from(*length)).sum();
        let longest = lengths.iter().copied().max().unwrap_or_default();
        let (elements, waiting) = (elements.finish(), Mutex::new(waiting));
        Segment { lids, lengths, elements, total, longest, lists: OnceLock::new(), waiting }
    }

    /// Its lists, which are made where there are none.
    pub(super) fn lists(&self) -> &Lists {
        self.lists.get_or_init(|| {
            let waiting = self.documents_without_lists().unwrap_or_default();
            let lists = waiting.lists(&self.lengths);
            *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = None;
            lists
        })
    }

    /// Makes its lists where there are none, before somebody asks for them.
    pub(super) fn make_lists(&self) {
        self.lists();
    }

    /// Whether it has lists.
    pub(super) fn has_lists(&self) -> bool {
        self.lists.get().is_some()
    }

    /// Its documents, as long as it has no lists.
    pub(super) fn documents_without_lists(&self) -> Option<Arc<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

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
        // Lids of new documents are mostly behind all others.
        self.lids.last().filter(|last| **last >= lid)?;
        self.lids.binary_search(&lid).ok().map(|doc| doc as u32)
    }

    /// The terms of all documents.
    pub(super) fn dictionary(&self) -> &Dictionary {
        &self.lists().dictionary
    }

    /// The documents that have a term, by its number.
    pub(super) fn list(&self, term: usize) -> Option<Postings<'_>> {
        Some(Postings::new(self.packed(term)?))
    }

    /// The same before any of them is read.
    pub(super) fn packed(&self, term: usize) -> Option<List<'_>> {
        let lists = self.lists();
        let begin = *lists.starts.get(term)? as usize;
        Some(List::new(lists.postings.get(begin..)?))
    }

    /// The bytes behind the list of a term.
    pub(super) fn behind(&self, term: usize) -> usize {
        let lists = self.lists();
        lists.starts.get(term + 1).map_or(0, |next| lists.postings.len() - *next as usize)
    }

    /// The documents that have a term.
    pub(super) fn find(&self, term: &str) -> Option<Postings<'_>> {
        self.list(self.dictionary().find(term)?)
    }

    /// As [`Segment::packed`], of a term.
    pub(super) fn find_list(&self, term: &str) -> Option<List<'_>> {
        self.packed(self.dictionary().find(term)?)
    }

    /// The memory that it takes, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let lists = self.lists.get().map_or(0, Lists::memory);
        let waiting = self.documents_without_lists().map_or(0, |waiting| waiting.memory());
        4 * (self.lids.len() + self.lengths.len()) + self.elements.memory() + lists + waiting
    }
}

impl Lists {
    fn memory(&self) -> usize {
        4 * self.starts.len() + self.dictionary.memory() + self.postings.len()
    }
}
