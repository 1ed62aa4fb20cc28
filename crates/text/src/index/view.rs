//! What a reader has of an index.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use stead_tensor::Bits;

use super::list::List;
use super::pattern::Affix;
use super::postings::{END, Postings};
use super::segment::Segment;
use super::write::Occurrence;

/// The terms of a field of all documents, as they were at a moment. Clones share.
#[derive(Debug, Clone, Default)]
pub struct FieldIndex {
    pub(super) parts: Vec<Part>,
}

/// A segment, and which of its documents are gone: removed, or put again since.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) segment: Arc<Segment>,
    pub(super) gone: Arc<Bits>,
    /// The words of the documents that are not gone.
    pub(super) words: u64,
    /// Their elements that have words.
    pub(super) elements: u64,
}

impl Part {
    pub(super) fn new(segment: Segment) -> Part {
        Part::of(Arc::new(segment))
    }

    pub(super) fn of(segment: Arc<Segment>) -> Part {
        let elements = segment.elements.count(segment.lids.len());
        // One for all that nothing is gone of: most are joined with others before.
        static NONE: LazyLock<Arc<Bits>> = LazyLock::new(Arc::default);
        Part { words: segment.total, elements, segment, gone: Arc::clone(&NONE) }
    }

    /// How many documents are not gone.
    pub(super) fn documents(&self) -> usize {
        self.segment.lids.len() - self.gone.count()
    }

    /// The document of a lid, unless it is gone.
    pub(super) fn document(&self, lid: u32) -> Option<u32> {
        self.segment.document(lid).filter(|doc| !self.gone.contains(*doc as usize))
    }

    /// Notes that the document of a lid is gone. Returns whether it was there.
    pub(super) fn remove(&mut self, lid: u32) -> bool {
        let Some(doc) = self.document(lid) else { return false };
        Arc::make_mut(&mut self.gone).insert(doc as usize);
        self.leave(doc);
        true
    }

    /// Counts the words of a document no more.
    pub(super) fn leave(&mut self, doc: u32) {
        let words = self.segment.length(doc);
        self.words -= u64::from(words);
        self.elements -= self.segment.elements.of(doc, words).count() as u64;
    }

    /// How many documents that are not gone have the term of a list.
    fn frequency(&self, list: List<'_>) -> usize {
        let all = list.documents() as usize;
        if self.gone.count() == 0 {
            return all;
        }
        let mut list = Postings::new(list);
        all - self.gone.iter().filter(|doc| list.seek(*doc as u32) == *doc as u32).count()
    }
}

impl FieldIndex {
    /// How many documents have words.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.parts.iter().map(Part::documents).sum()
    }

    /// How many words all documents have.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.parts.iter().map(|part| part.words).sum()
    }

    /// How many words a document that has some has on average; 0 where none has any.
    #[must_use]
    pub fn average_length(&self) -> f64 {
        match self.documents() {
            0 => 0.0,
            count => self.words() as f64 / count as f64,
        }
    }

    /// How many words an element that has some has on average; 0 where none has any.
    #[must_use]
    pub fn average_element_length(&self) -> f64 {
        match self.parts.iter().map(|part| part.elements).sum::<u64>() {
            0 => 0.0,
            count => self.words() as f64 / count as f64,
        }
    }

    /// How many documents have a term.
    #[must_use]
    pub fn frequency(&self, term: &str) -> usize {
        let count = |part: &Part| Some(part.frequency(part.segment.find_list(term)?));
        self.parts.iter().filter_map(count).sum()
    }

    /// How many words a document has; nothing if it has none.
    #[must_use]
    pub fn length(&self, lid: u32) -> Option<u32> {
        let (part, doc) = self.find(lid)?;
        Some(part.segment.length(doc))
    }

    /// Where a document has a term, in order; returns how often. What `into` has is kept.
    pub fn occurrences(&self, term: &str, lid: u32, into: &mut Vec<Occurrence>) -> usize {
        let before = into.len();
        if let Some((part, doc)) = self.find(lid)
            && let Some(mut list) = part.segment.find(term)
            && list.seek(doc) == doc
        {
            list.occurrences(into);
        }
        into.len() - before
    }

    /// Adds the documents that have a term and whose lids are in a range to a set, as how far they are behind its begin.
    pub fn rows(&self, term: &str, lids: Range<u32>, into: &mut Bits) {
        for part in &self.parts {
            if let Some(list) = part.segment.find(term) {
                part.rows(list, lids.clone(), into);
            }
        }
    }

    /// As [`FieldIndex::rows`], of all terms that have a text somewhere.
    pub fn rows_with(&self, (affix, text): (Affix, &str), lids: Range<u32>, into: &mut Bits) {
        for part in &self.parts {
            let terms = part.segment.dictionary().with(affix, text);
            for list in terms.filter_map(|term| part.segment.list(term)) {
                part.rows(list, lids.clone(), into);
            }
        }
    }

    /// How many segments there are.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.parts.len()
    }

    /// The memory that it takes, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let of = |part: &Part| part.segment.memory() + part.gone.words().len() * 8;
        self.parts.iter().map(of).sum()
    }

    fn find(&self, lid: u32) -> Option<(&Part, u32)> {
        self.parts.iter().find_map(|part| Some((part, part.document(lid)?)))
    }
}

impl Part {
    fn rows(&self, mut list: Postings<'_>, lids: Range<u32>, into: &mut Bits) {
        let all = &self.segment.lids;
        let end = all.partition_point(|lid| *lid < lids.end) as u32;
        let mut doc = list.seek(all.partition_point(|lid| *lid < lids.start) as u32);
        while doc < end && doc != END {
            if !self.gone.contains(doc as usize) {
                into.insert((self.segment.lid(doc) - lids.start) as usize);
            }
            doc = list.next();
        }
    }
}
