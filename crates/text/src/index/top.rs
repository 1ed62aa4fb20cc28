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
        self.search(top, f64::NEG_INFINITY, &is_wanted)
    }

    /// Those of them with a score at least.
    pub fn reaching(
        &self,
        top: &Top<'_>,
        score: f64,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Vec<Scored> {
        let mut found = self.search(top, score, &is_wanted);
        found.truncate(found.partition_point(|scored| scored.score >= score));
        found
    }

    /// The best documents, of which those below a score may be missing.
    fn search(&self, top: &Top<'_>, floor: f64, is_wanted: &impl Fn(u32) -> bool) -> Vec<Scored> {
        if top.count == 0 {
            return Vec::new();
        }
        // The largest first: what it finds spares work in the others.
        let mut parts: Vec<&Part> = self.parts.iter().collect();
        parts.sort_by_key(|part| Reverse(part.documents()));
        let mut search = Search::new(top, floor, is_wanted);
        parts.iter().for_each(|part| search.part(part));
        search.best.into_sorted()
    }
}

/// The best documents so far.
#[derive(Debug)]
pub(super) struct Best {
    count: usize,
    /// The [keys](Scored::key) of them, the worst on top.
    heap: BinaryHeap<Reverse<u128>>,
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
        let key = scored.key();
        if self.heap.len() < self.count {
            self.heap.push(Reverse(key));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && worst.0 < key
        {
            *worst = Reverse(key);
        }
        let worst = self.heap.peek().filter(|_| self.heap.len() >= self.count);
        self.worst = worst.map(|Reverse(key)| Scored::of_key(*key));
    }

    fn into_sorted(self) -> Vec<Scored> {
        // Those that are in reverse come in the order of what they are not.
        self.heap.into_sorted_vec().into_iter().map(|Reverse(key)| Scored::of_key(key)).collect()
    }
}

/// The sign of a score and of what stands for it.
const SIGN: u64 = 1 << 63;

impl Scored {
    /// A number in the order of documents, which is compared at once.
    fn key(self) -> u128 {
        let bits = self.score.to_bits();
        let score = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        u128::from(score) << u32::BITS | u128::from(!self.lid)
    }

    /// The document of a key.
    fn of_key(key: u128) -> Scored {
        let score = (key >> u32::BITS) as u64;
        let bits = if score & SIGN == 0 { !score } else { score & !SIGN };
        Scored { lid: !(key as u32), score: f64::from_bits(bits) }
    }
}

#[cfg(test)]
mod tests {
    use super::Scored;

    #[test]
    fn keys_are_in_the_order_of_documents() {
        let scores = [f64::NEG_INFINITY, -2.0, -0.0, 0.0, 1e-300, 1.0, 1.5, f64::INFINITY];
        let lids = [0, 1, u32::MAX];
        let all = scores.into_iter().flat_map(|score| lids.map(|lid| Scored { lid, score }));
        let all: Vec<Scored> = all.collect();
        for a in &all {
            assert_eq!(Scored::of_key(a.key()), *a);
            for b in &all {
                assert_eq!(a.key().cmp(&b.key()), a.cmp(b), "{a:?} {b:?}");
            }
        }
    }
}
