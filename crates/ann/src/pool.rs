//! The nearest nodes that a search has found, and those from which it goes on.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A node with its order: the less, the nearer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) order: f32,
    pub(crate) node: u32,
}

impl Candidate {
    /// What no node is.
    pub(crate) const NONE: Candidate = Candidate { order: f32::INFINITY, node: u32::MAX };
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        self.order.total_cmp(&other.order).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Marks a node of the pool whose links were followed: numbers of nodes are below.
const FOLLOWED: u32 = 1 << 31;

/// The nearest nodes, and which of them the search has gone on from. One sorted list for both: for the usual hundreds of
/// nodes that is quicker than two heaps.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    list: Vec<Candidate>,
    /// Whose vectors these are, where a document counts once; else empty.
    documents: Vec<u32>,
    is_distinct: bool,
    most: usize,
    /// Before it all links were followed.
    next: usize,
    /// Nodes to go on from that are no hits: they do not pass a filter, or are a little too far.
    aside: BinaryHeap<Reverse<Candidate>>,
    /// How much farther than the worst hit these may be, as a part of its order.
    slack: f32,
    /// What is farther is nothing to go on from.
    limit: f32,
}

impl Pool {
    /// Begins a search for so many nodes, or documents where each counts once.
    pub(crate) fn begin(&mut self, most: usize, slack: f32, is_distinct: bool) {
        self.list.clear();
        self.documents.clear();
        self.aside.clear();
        (self.most, self.next, self.slack) = (most.max(1), 0, slack);
        self.is_distinct = is_distinct;
        self.limit = f32::INFINITY;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.list.len() == self.most
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// What is farther is nothing to go on from.
    #[inline(always)]
    pub(crate) fn limit(&self) -> f32 {
        self.limit
    }

    /// What will be nothing to go on from, whatever is found until then: it is farther. With more slack the limit may come to lie higher where orders
    /// are below 0.
    #[inline(always)]
    pub(crate) fn bar(&self) -> f32 {
        if self.slack <= 1.0 { self.limit } else { f32::INFINITY }
    }

    /// A hit, if it is near enough: a vector of a document.
    #[inline(always)]
    pub(crate) fn add(&mut self, candidate: Candidate, document: impl FnOnce() -> u32) {
        if self.is_full() && self.list.last().is_some_and(|worst| candidate.order >= worst.order) {
            if self.slack > 0.0 {
                self.put_aside(candidate);
            }
            return;
        }
        let document = if self.is_distinct { document() } else { 0 };
        if self.is_distinct
            && let Some(other) = self.documents.iter().position(|other| *other == document)
        {
            if self.list[other].order <= candidate.order {
                self.put_aside(candidate);
                return;
            }
            self.take(other);
        }
        if self.is_full() {
            self.take(self.most - 1);
        }
        let at = self.list.partition_point(|other| other.order <= candidate.order);
        self.list.insert(at, candidate);
        if self.is_distinct {
            self.documents.insert(at, document);
        }
        self.next = self.next.min(at);
        if let Some(worst) = self.list.last().filter(|_| self.list.len() == self.most) {
            self.limit = worst.order + self.slack * worst.order.abs();
        }
    }

    /// Takes a hit out; it may be gone on from, if it is near enough.
    fn take(&mut self, at: usize) {
        let gone = self.list.remove(at);
        if self.is_distinct {
            self.documents.remove(at);
        }
        self.next -= usize::from(at < self.next);
        // Without slack what is taken out behind all others is too far.
        if gone.node & FOLLOWED == 0 && (self.is_distinct || self.slack > 0.0) {
            self.aside.push(Reverse(gone));
        }
    }

    /// A node that is no hit, to go on from if it is near enough.
    pub(crate) fn put_aside(&mut self, candidate: Candidate) {
        if candidate.order <= self.limit() {
            self.aside.push(Reverse(candidate));
        }
    }

    /// The nearest node whose links were not followed; nothing once the search is done.
    pub(crate) fn follow(&mut self) -> Option<Candidate> {
        let own = self.peek();
        if let Some(Reverse(aside)) = self.aside.peek()
            && own.is_none_or(|own| aside.order < own.order)
        {
            let aside = *aside;
            if aside.order > self.limit() {
                return None;
            }
            self.aside.pop();
            return Some(aside);
        }
        let own = own?;
        self.list[self.next].node |= FOLLOWED;
        Some(own)
    }

    /// The node of the list whose links are followed next.
    fn peek(&mut self) -> Option<Candidate> {
        while self.list.get(self.next).is_some_and(|x| x.node & FOLLOWED != 0) {
            self.next += 1;
        }
        self.list.get(self.next).copied()
    }

    /// All hits, the nearest first.
    pub(crate) fn hits(&self) -> impl Iterator<Item = Candidate> + '_ {
        self.list.iter().map(|x| Candidate { node: x.node & !FOLLOWED, ..*x })
    }
}

#[cfg(test)]
mod tests {
    use super::{Candidate, Pool};

    fn of(order: f32, node: u32) -> Candidate {
        Candidate { order, node }
    }

    fn follow(pool: &mut Pool) -> Option<u32> {
        pool.follow().map(|candidate| candidate.node)
    }

    #[test]
    fn the_nearest_are_kept_and_followed_once() {
        let mut pool = Pool::default();
        pool.begin(3, 0.0, false);
        [of(5.0, 5), of(1.0, 1), of(3.0, 3)].into_iter().for_each(|x| pool.add(x, || 0));
        assert_eq!((follow(&mut pool), follow(&mut pool)), (Some(1), Some(3)));
        pool.add(of(0.5, 0), || 0);
        pool.add(of(9.0, 9), || 0);
        assert_eq!([0; 2].map(|_| follow(&mut pool)), [Some(0), None]);
        assert_eq!(pool.hits().map(|x| x.node).collect::<Vec<_>>(), [0, 1, 3]);
    }

    #[test]
    fn what_is_no_hit_is_gone_on_from() {
        let mut pool = Pool::default();
        pool.begin(1, 0.0, false);
        pool.put_aside(of(2.0, 2));
        pool.add(of(4.0, 4), || 0);
        pool.put_aside(of(3.0, 3));
        pool.put_aside(of(5.0, 5));
        pool.add(of(2.5, 7), || 0);
        // The nodes at 3 and 4 were near enough before there was a better hit.
        assert_eq!([0; 3].map(|_| follow(&mut pool)), [Some(2), Some(7), None]);
        let mut pool = Pool::default();
        pool.begin(1, 0.5, false);
        [of(4.0, 4), of(2.0, 2), of(2.9, 3), of(3.1, 5)]
            .into_iter()
            .for_each(|x| pool.add(x, || 0));
        assert_eq!([0; 3].map(|_| follow(&mut pool)), [Some(2), Some(3), None]);
    }

    #[test]
    fn a_document_counts_once() {
        let mut pool = Pool::default();
        pool.begin(2, 0.0, true);
        for (order, node, document) in [(5.0, 5, 1), (4.0, 4, 2), (3.0, 3, 1), (3.5, 6, 1)] {
            pool.add(of(order, node), || document);
        }
        assert_eq!(pool.hits().map(|x| x.node).collect::<Vec<_>>(), [3, 4]);
        // The other vector of document 1 that is near enough leads on too.
        assert_eq!([0; 4].map(|_| follow(&mut pool)), [Some(3), Some(6), Some(4), None]);
    }
}
