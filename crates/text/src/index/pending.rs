//! Documents that wait to become a segment.

use std::ops::Range;
use std::sync::Arc;

use super::draft::{Draft, Waiting};
use super::elements::{Element, Elements};
use super::segment::Segment;
use super::write::Occurrence;

/// What was put since the last segment was made.
#[derive(Debug, Default)]
pub(super) struct Pending {
    draft: Draft,
    /// In their order; the last of a lid counts.
    changes: Vec<Change>,
}

#[derive(Debug)]
struct Change {
    lid: u32,
    /// Of the draft; none of what was removed.
    words: Range<usize>,
    /// What the elements weigh, where they are those of a weighted set.
    weights: Box<[i32]>,
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
        let begin = self.draft.len();
        for (text, place) in terms {
            self.draft.push(text.as_ref(), place);
        }
        let words = begin..self.draft.len();
        self.changes.push(Change { lid, words, weights: weights.into() });
    }

    /// Forgets a document.
    pub(super) fn remove(&mut self, lid: u32) {
        if !self.changes.is_empty() {
            self.changes.push(Change { lid, words: 0..0, weights: Box::default() });
        }
    }

    /// The documents as a segment, after which none wait; nothing if there are none.
    pub(super) fn take(&mut self) -> Option<Segment> {
        if self.changes.is_empty() {
            return None;
        }
        let (draft, changes) = (Arc::new(self.draft.taken()), &mut self.changes);
        changes.sort_by_key(|change| change.lid);
        let latest = changes.chunk_by(|a, b| a.lid == b.lid).filter_map(|of| of.last());
        // One without terms is none of the index.
        let latest = latest.filter(|change| !change.words.is_empty());
        let elements = Elements::collected(latest.clone().map(|change| {
            draft.elements(change.words.clone()).map(|(number, words)| {
                let weight = change.weights.get(number as usize).copied().unwrap_or(1);
                Element { number, words, weight }
            })
        }));
        let (mut lids, mut lengths) =
            (Vec::with_capacity(changes.len()), Vec::with_capacity(changes.len()));
        let mut waiting = Waiting::with_capacity(changes.len());
        for Change { lid, words, .. } in latest {
            lids.push(*lid);
            lengths.push(words.len() as u32);
            waiting.push(&draft, words.clone());
        }
        changes.clear();
        (!lids.is_empty()).then(|| Segment::waiting(lids, lengths, elements, waiting))
    }
}
