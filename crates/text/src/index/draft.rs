//! Documents as they came, before they have lists of postings.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::segment::Lists;
use super::write::{ListsWriter, Occurrence, write_occurrences};

/// So many words are copied sooner than their room is made anew, word after word.
const SMALL: usize = 1024;

/// The bytes of these, unless they are unusually long: the room that each index keeps.
const SMALL_BYTES: usize = 16 * SMALL;

/// Words of documents one after the other, as they stand in texts.
#[derive(Debug, Default)]
pub(super) struct Draft {
    texts: String,
    words: Vec<Word>,
}

#[derive(Debug, Clone, Copy)]
struct Word {
    /// Where its text ends.
    end: usize,
    place: Occurrence,
}

impl Draft {
    /// Adds a word.
    pub(super) fn push(&mut self, term: &str, place: Occurrence) {
        self.texts.push_str(term);
        self.words.push(Word { end: self.texts.len(), place });
    }

    /// What it has, after which it has nothing. A small one keeps its room for those to come, which are mostly as small: what is taken has no more
    /// than it needs.
    pub(super) fn taken(&mut self) -> Draft {
        if self.words.len() > SMALL || self.texts.len() > SMALL_BYTES {
            return std::mem::take(self);
        }
        let taken =
            Draft { texts: self.texts.as_str().into(), words: self.words.as_slice().into() };
        self.texts.clear();
        self.words.clear();
        taken
    }

    /// How many words it has.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// How many words some have in each element, with its number, of words that are of one document.
    pub(super) fn elements(&self, words: Range<usize>) -> impl Iterator<Item = (u32, u32)> {
        let words = self.words.get(words).unwrap_or_default();
        let by_element = words.chunk_by(|a, b| a.place.element == b.place.element);
        by_element.filter_map(|of| Some((of.first()?.place.element, of.len() as u32)))
    }

    /// Some words.
    fn words(&self, range: Range<usize>) -> impl Iterator<Item = (&str, Occurrence)> {
        let before = range.start.checked_sub(1).and_then(|at| self.words.get(at));
        let mut begin = before.map_or(0, |word| word.end);
        self.words.get(range).unwrap_or_default().iter().map(move |word| {
            let text = self.texts.get(begin..word.end).unwrap_or_default();
            begin = word.end;
            (text, word.place)
        })
    }

    fn memory(&self) -> usize {
        self.texts.capacity() + size_of::<Word>() * self.words.capacity()
    }
}

/// The documents of a segment that has no lists yet, in its order.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    documents: Vec<(Arc<Draft>, Range<usize>)>,
}

impl Waiting {
    pub(super) fn with_capacity(documents: usize) -> Waiting {
        Waiting { documents: Vec::with_capacity(documents) }
    }

    /// Adds the next document: some words of a draft.
    pub(super) fn push(&mut self, draft: &Arc<Draft>, words: Range<usize>) {
        self.documents.push((Arc::clone(draft), words));
    }

    /// Adds a document of others as the next.
    pub(super) fn take(&mut self, from: &Waiting, document: usize) {
        self.documents.extend(from.documents.get(document).cloned());
    }

    /// The memory of its documents, in bytes, with that of others of the same drafts.
    pub(super) fn memory(&self) -> usize {
        let by_draft = self.documents.chunk_by(|a, b| Arc::ptr_eq(&a.0, &b.0));
        let drafts = by_draft.filter_map(|of| of.first()).map(|(draft, _)| draft.memory());
        drafts.sum::<usize>() + size_of::<(Arc<Draft>, Range<usize>)>() * self.documents.len()
    }

    /// The lists of its documents, which have so many words each: words are counted by their terms, then each is put where those of its
    /// term are. Documents come in their order, and so do the words of each term.
    pub(super) fn lists(&self, lengths: &[u32]) -> Lists {
        let count: usize = self.documents.iter().map(|(_, words)| words.len()).sum();
        let mut terms = Terms::new(count);
        let mut numbers = Vec::with_capacity(count);
        for (draft, words) in &self.documents {
            numbers.extend(draft.words(words.clone()).map(|(text, _)| terms.number(text)));
        }
        let (mut next, mut sum) = (Vec::with_capacity(terms.all.len()), 0);
        for term in &terms.all {
            next.push(sum);
            sum += term.count as usize;
        }
        let mut by_term = vec![(0, Occurrence { element: 0, position: 0 }); sum];
        let mut numbers = numbers.iter();
        for (doc, (draft, words)) in (0..).zip(&self.documents) {
            let words = draft.words.get(words.clone()).unwrap_or_default();
            for (word, number) in words.iter().zip(numbers.by_ref()) {
                let at = &mut next[*number as usize];
                by_term[*at] = (doc, word.place);
                *at += 1;
            }
        }

        let mut sorted: Vec<(u64, &str, usize)> = terms
            .all
            .iter()
            .zip(0..)
            .map(|(term, at)| (first_bytes(term.text), term.text, at))
            .collect();
        sorted.sort_unstable();
        let mut writer = ListsWriter::new(lengths);
        writer.reserve(
            sorted.len(),
            sorted.iter().map(|of| of.1.len()).sum(),
            LIST * sorted.len() + sum,
        );
        let (mut places, mut bytes) = (Vec::new(), Vec::new());
        for (_, text, number) in sorted {
            let end = next[number];
            let of_term = &by_term[end - terms.all[number].count as usize..end];
            for of_document in of_term.chunk_by(|a, b| a.0 == b.0) {
                places.clear();
                places.extend(of_document.iter().map(|(_, occurrence)| *occurrence));
                bytes.clear();
                write_occurrences(&places, &mut bytes);
                writer.document(of_document[0].0, places.len() as u32, &bytes);
            }
            writer.term(text);
        }
        writer.finish()
    }
}

/// The bytes of a short list, but for where the term stands.
const LIST: usize = 5;

/// The first bytes of a text as a number: they mostly decide about the order.
pub(super) fn first_bytes(text: &str) -> u64 {
    let first = text.as_bytes().first_chunk().copied().unwrap_or_else(|| {
        let mut first = [0; 8];
        first.iter_mut().zip(text.bytes()).for_each(|(into, byte)| *into = byte);
        first
    });
    u64::from_be_bytes(first)
}

/// Different terms by the order in which they came.
struct Terms<'d> {
    all: Vec<Counted<'d>>,
    /// The number of each plus one by hash, 0 where there is none; a power of two of places.
    places: Vec<u32>,
    hasher: RandomState,
}

struct Counted<'d> {
    text: &'d str,
    hash: u32,
    count: u32,
}

impl<'d> Terms<'d> {
    /// Room for so many.
    fn new(count: usize) -> Terms<'d> {
        let places = vec![0; (2 * count).next_power_of_two()];
        Terms { all: Vec::new(), places, hasher: RandomState::default() }
    }

    /// The number of a term, which is counted.
    fn number(&mut self, text: &'d str) -> u32 {
        let hash = self.hasher.hash_one(text);
        let (mut place, hash) = (hash as usize & (self.places.len() - 1), (hash >> 32) as u32);
        loop {
            // Half of the places are free, so that one is met.
            let Some(number) = self.places[place].checked_sub(1) else {
                self.all.push(Counted { text, hash, count: 1 });
                self.places[place] = self.all.len() as u32;
                return self.all.len() as u32 - 1;
            };
            let term = &mut self.all[number as usize];
            if term.hash == hash && term.text == text {
                term.count += 1;
                return number;
            }
            place = (place + 1) & (self.places.len() - 1);
        }
    }
}
