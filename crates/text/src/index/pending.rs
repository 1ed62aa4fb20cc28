//! Documents that wait to become a segment.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::elements::{Element, Elements};
use super::segment::Segment;
use super::write::{Occurrence, SegmentWriter, write_occurrences};

/// The bytes of a short list, but for where the term stands.
const LIST: usize = 5;

/// What was put since the last segment was written.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The number of each term, in the order in which they came.
    terms: HashMap<Box<str>, u32, RandomState>,
    /// Of one document after the other, in the order of their texts.
    entries: Vec<Entry>,
    /// Where the entries of each document end.
    ends: Vec<usize>,
    /// What the elements of a document weigh, where they are those of a weighted set.
    weights: HashMap<usize, Box<[i32]>, RandomState>,
    /// The number of the document that a lid has now.
    latest: HashMap<u32, usize, RandomState>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    term: u32,
    occurrence: Occurrence,
}

impl Pending {
    /// Puts a document in the place of one of the same lid, if there is one: its terms with where they stand, in that order, the
    /// length being how many there are; `weights` are those of its elements, as far as they are not 1.
    pub(super) fn put(
        &mut self,
        lid: u32,
        terms: impl Iterator<Item = (impl AsRef<str>, Occurrence)>,
        weights: &[i32],
    ) {
        let before = self.entries.len();
        for (text, occurrence) in terms {
            let text = text.as_ref();
            let term = match self.terms.get(text) {
                Some(term) => *term,
                None => {
                    let term = self.terms.len() as u32;
                    self.terms.insert(text.into(), term);
                    term
                }
            };
            self.entries.push(Entry { term, occurrence });
        }
        // One without terms is none of the index.
        match self.entries.len() == before {
            true => self.latest.remove(&lid),
            false => self.latest.insert(lid, self.ends.len()),
        };
        if !weights.is_empty() {
            self.weights.insert(self.ends.len(), weights.into());
        }
        self.ends.push(self.entries.len());
    }

    /// Forgets a document.
    pub(super) fn remove(&mut self, lid: u32) {
        self.latest.remove(&lid);
    }

    /// The documents as a segment, after which none wait; nothing if there are none.
    pub(super) fn take(&mut self) -> Option<Segment> {
        let Pending { terms, entries, ends, weights, latest } = std::mem::take(self);
        let mut kept: Vec<(u32, usize)> = latest.into_iter().collect();
        if kept.is_empty() {
            return None;
        }
        kept.sort_unstable();
        let of_document = |document: usize| {
            let begin = document.checked_sub(1).map_or(0, |before| ends[before]);
            &entries[begin..ends[document]]
        };
        let lids = kept.iter().map(|(lid, _)| *lid).collect();
        let lengths =
            kept.iter().map(|(_, document)| of_document(*document).len() as u32).collect();

        let mut elements = Elements::default();
        for (_, document) in &kept {
            let by_element = of_document(*document)
                .chunk_by(|a, b| a.occurrence.element == b.occurrence.element);
            let weights = weights.get(document);
            elements.push(by_element.filter_map(|words| {
                let number = words.first()?.occurrence.element;
                let weight = weights.and_then(|weights| weights.get(number as usize));
                let (words, weight) = (words.len() as u32, weight.copied().unwrap_or(1));
                Some(Element { number, words, weight })
            }));
        }

        // Entries by their terms: counted, then each put where those of its term are. Documents come in their order, and so do the
        // entries of each term.
        let mut next = vec![0; terms.len()];
        let kept_entries = || kept.iter().flat_map(|(_, document)| of_document(*document));
        kept_entries().for_each(|entry| next[entry.term as usize] += 1);
        let mut sum = 0;
        for count in &mut next {
            (*count, sum) = (sum, sum + *count);
        }
        let starts = next.clone();
        let mut by_term = vec![(0, Occurrence { element: 0, position: 0 }); sum];
        for (doc, (_, document)) in kept.iter().enumerate() {
            for entry in of_document(*document) {
                let at = &mut next[entry.term as usize];
                by_term[*at] = (doc as u32, entry.occurrence);
                *at += 1;
            }
        }

        let mut texts: Vec<(Box<str>, u32)> = terms.into_iter().collect();
        texts.sort_unstable();
        let mut writer = SegmentWriter::new(lids, lengths, elements);
        let bytes = texts.iter().map(|(text, _)| text.len()).sum();
        writer.reserve(texts.len(), bytes, LIST * texts.len() + by_term.len());
        let (mut places, mut bytes) = (Vec::new(), Vec::new());
        for (text, term) in texts {
            let of_term = &by_term[starts[term as usize]..next[term as usize]];
            for of_document in of_term.chunk_by(|a, b| a.0 == b.0) {
                places.clear();
                places.extend(of_document.iter().map(|(_, occurrence)| *occurrence));
                bytes.clear();
                write_occurrences(&places, &mut bytes);
                writer.document(of_document[0].0, places.len() as u32, &bytes);
            }
            // One that only documents had which others replaced is left out.
            writer.term(&text);
        }
        Some(writer.finish())
    }
}
