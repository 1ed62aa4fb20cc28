//! The best documents of a query.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::search::Search;
use super::view::{FieldIndex, Part};
use crate::bm25::Bm25;

/// A document and its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// Its number in the store.
    pub lid: u32,
    /// Greater is better.
    pub score: f64,
}

impl Eq for Scored {}

impl Ord for Scored {
    /// The better is greater, of equal ones that with the lower lid.
    fn cmp(&self, other: &Scored) -> Ordering {
        self.score.total_cmp(&other.score).then(other.lid.cmp(&self.lid))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Scored) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What is asked for: the documents with the best sums of [`Bm25::score`] over terms.
#[derive(Debug, Clone)]
pub struct Top<'q> {
    /// How many.
    pub count: usize,
    /// The terms with their [weights](Bm25::weight), none negative.
    pub terms: &'q [(&'q str, f64)],
    /// The parameters.
    pub bm25: Bm25,
}

impl FieldIndex {
    /// The best documents of those that are wanted, the best first; of those with equal scores the ones with the lowest lids.
    pub fn top(&self, top: &Top<'_>, is_wanted: impl Fn(u32) -> bool) -> Vec<Scored> {
        if top.count == 0 {
            return Vec::new();
        }
        // The largest first: what it finds spares work in the others.
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by_key(|part| Reverse(part.documents()));
        let mut search = Search::new(top, &is_wanted);
        parts.iter().for_each(|part| search.part(part));
        search.best.into_sorted()
    }
}

/// The best documents so far.
#[derive(Debug)]
pub(super) struct Best {
    count: usize,
    /// The worst on top.
    heap: BinaryHeap<Reverse<Scored>>,
    /// That, once there are enough of them.
    pub(super) worst: Option<Scored>,
}

impl Best {
    /// Of so many, none as yet.
    pub(super) fn new(count: usize) -> Best {
        Best { count, heap: BinaryHeap::new(), worst: None }
    }

    /// Adds a document if it is good enough.
    pub(super) fn offer(&mut self, scored: Scored) {
        if self.heap.len() < self.count {
            self.heap.push(Reverse(scored));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && worst.0 < scored
        {
            *worst = Reverse(scored);
        }
        let worst = self.heap.peek().filter(|_| self.heap.len() >= self.count);
        self.worst = worst.map(|Reverse(worst)| *worst);
    }

    fn into_sorted(self) -> Vec<Scored> {
        // Those that are in reverse come in the order of what they are not.
        self.heap.into_sorted_vec().into_iter().map(|Reverse(scored)| scored).collect()
    }
}
