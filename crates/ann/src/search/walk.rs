//! Going from node to node towards a vector.

use std::array;

use stead_kernels::vector::{prefetch, prefetch_begin};

use crate::compare::{BATCH, Comparer};
use crate::graph::Graph;
use crate::links::{LINE, nodes};
use crate::pool::{Candidate, Pool};
use crate::search::{Sieve, Stop};
use crate::vectors::{Row, Vectors};
use crate::visited::Visited;

/// A graph, the vectors of its nodes, and the one that these are compared with.
pub(crate) struct Walk<'w, V: Vectors> {
    pub(crate) graph: &'w Graph,
    pub(crate) vectors: &'w V,
    pub(crate) comparer: &'w Comparer<'w, V::Cell>,
    /// Tells which nodes are too far, if there are sketches of them.
    pub(crate) sieve: Option<Sieve<'w>>,
}

/// What a walk needs, kept between walks.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    pub(crate) visited: Visited,
    pub(crate) pool: Pool,
    /// Nodes whose links are looked at for others that pass a filter.
    pub(super) hop: Vec<u32>,
    pub(super) next_hop: Vec<u32>,
}

/// Nodes to be compared together.
pub(super) struct Batch<R> {
    nodes: [u32; BATCH],
    rows: [R; BATCH],
    count: usize,
}

impl<R: Default> Batch<R> {
    pub(super) fn new() -> Batch<R> {
        Batch { nodes: [0; BATCH], rows: array::from_fn(|_| R::default()), count: 0 }
    }
}

/// A node whose vector is not there.
fn nowhere(node: u32) -> Candidate {
    Candidate { order: f32::INFINITY, node }
}

impl<'w, V: Vectors> Walk<'w, V> {
    /// The vector of a node, if it has the length of the other.
    #[inline(always)]
    pub(crate) fn row(&self, node: u32) -> Option<V::Row<'w>> {
        let (document, at) = self.graph.place(node);
        let row = self.vectors.vector(document, at)?;
        (row.len() == self.comparer.len()).then_some(row)
    }

    /// How far a node is; nowhere near if its vector is not there.
    pub(crate) fn candidate(&self, node: u32) -> Candidate {
        let mut order = [f64::INFINITY];
        if let Some(row) = self.row(node) {
            self.comparer.orders(&[&row], &mut order);
        }
        Candidate { order: order[0] as f32, node }
    }

    /// Adds a node to a batch; where the batch is full it is compared, but for what is farther than `limit`. One whose vector is not there is
    /// found nowhere near.
    #[inline(always)]
    pub(super) fn push(
        &self,
        batch: &mut Batch<V::Row<'w>>,
        node: u32,
        limit: f32,
        mut found: impl FnMut(Candidate),
    ) {
        match &self.sieve {
            // Where its vector lies is looked up of those that pass.
            Some(sieve) => sieve.prefetch(node),
            None if V::IS_FAR => {}
            None => {
                let Some(row) = self.row(node) else { return found(nowhere(node)) };
                prefetch_begin(&row);
                batch.rows[batch.count] = row;
            }
        }
        batch.nodes[batch.count] = node;
        batch.count += 1;
        if batch.count == BATCH {
            self.sift(batch, limit, &mut found);
            self.compare(batch, found);
        }
    }

    /// Takes nodes out of a batch that are surely farther than `limit`, and asks for the vectors of the others, which are compared soon.
    #[inline(always)]
    pub(super) fn sift(
        &self,
        batch: &mut Batch<V::Row<'w>>,
        limit: f32,
        mut found: impl FnMut(Candidate),
    ) {
        if self.sieve.is_none() && !V::IS_FAR {
            return;
        }
        let mut count = batch.count;
        if let Some(sieve) = self.sieve.as_ref().filter(|_| limit < f32::INFINITY) {
            let mut pass = [false; BATCH];
            sieve.may_pass(&batch.nodes[..count], limit, &mut pass);
            let all = count;
            count = 0;
            for (at, pass) in pass.iter().enumerate().take(all) {
                batch.nodes[count] = batch.nodes[at];
                count += usize::from(*pass);
            }
        }
        batch.count = 0;
        if V::IS_FAR {
            self.vectors.will_read(batch.nodes[..count].iter().map(|node| self.graph.place(*node)));
        }
        for at in 0..count {
            let node = batch.nodes[at];
            let Some(row) = self.row(node) else {
                // Others may be reached by it alone.
                found(nowhere(node));
                continue;
            };
            prefetch_begin(&row);
            (batch.nodes[batch.count], batch.rows[batch.count]) = (node, row);
            batch.count += 1;
        }
    }

    /// Compares the nodes of a batch, which is empty then.
    #[inline(always)]
    pub(super) fn compare(&self, batch: &mut Batch<V::Row<'w>>, found: impl FnMut(Candidate)) {
        let mut candidates = [Candidate::NONE; BATCH];
        let count = self.take(batch, &mut candidates);
        candidates[..count].iter().copied().for_each(found);
    }

    /// Compares the nodes of a batch, which is empty then, and writes how far they are; how many there were.
    #[inline(always)]
    fn take(&self, batch: &mut Batch<V::Row<'w>>, candidates: &mut [Candidate; BATCH]) -> usize {
        let count = std::mem::take(&mut batch.count);
        let mut orders = [0.0; BATCH];
        let rows = &batch.rows[..count];
        Row::with(rows, |rows| self.comparer.orders(rows, &mut orders[..count]));
        let compared = batch.nodes[..count].iter().zip(orders);
        for (candidate, (node, order)) in candidates.iter_mut().zip(compared) {
            *candidate = Candidate { order: order as f32, node: *node };
        }
        count
    }

    /// How far each of some nodes is, in no order.
    pub(crate) fn each(&self, nodes: impl Iterator<Item = u32>, mut found: impl FnMut(Candidate)) {
        let mut batch = Batch::new();
        nodes.for_each(|node| self.push(&mut batch, node, f32::INFINITY, &mut found));
        self.sift(&mut batch, f32::INFINITY, &mut found);
        self.compare(&mut batch, &mut found);
    }

    /// Finds the nearest nodes of the level above one, or of the highest if that is lower; none without nodes. That is a small part of a search, which is
    /// not stopped before it.
    ///
    /// A level has a `links`th of the nodes of the one below, and as many of those that are kept of that one are kept of it. With one alone the way down may
    /// end in a cluster of vectors that is not the nearest, where few links lead to others, as is so where vectors come and go: of 10,000 in 40 clusters, each
    /// put anew five times, up to 8 of 100 of the nearest were not found by 50 that were kept of the lowest level, where two of the next find all.
    pub(crate) fn descend(
        &self,
        level: u32,
        kept: usize,
        found: &mut Vec<Candidate>,
        steps: &mut Steps,
    ) {
        found.clear();
        let Some((entry, highest)) = self.graph.entry else { return };
        found.push(self.candidate(entry));
        for above in (level + 1..=highest).rev() {
            let part = self.graph.options.links(1).saturating_pow(above - level).max(1);
            self.nearest(above, kept / part, found, steps, &mut Stop::new(&|| false));
        }
    }

    /// Puts the nearest nodes of a level, at most so many, in the place of those from which they are found. Returns whether it was not stopped.
    pub(crate) fn nearest(
        &self,
        level: u32,
        most: usize,
        from: &mut Vec<Candidate>,
        steps: &mut Steps,
        stop: &mut Stop<'_>,
    ) -> bool {
        steps.pool.begin(most, 0.0, false);
        steps.visited.begin(self.graph.bound);
        for candidate in from.drain(..) {
            steps.visited.insert(candidate.node);
            steps.pool.add(candidate, || 0);
        }
        let is_whole = self.around(level, steps, |_| true, stop);
        from.extend(steps.pool.hits());
        is_whole
    }

    /// Finds the nodes of a level that are nearest and are hits, as many as the pool holds, from those on that are in it or aside. Returns
    /// whether it was not stopped.
    pub(crate) fn around(
        &self,
        level: u32,
        steps: &mut Steps,
        is_hit: impl Fn(u32) -> bool,
        stop: &mut Stop<'_>,
    ) -> bool {
        let Steps { visited, pool, .. } = steps;
        let offer = |pool: &mut Pool, candidate: Candidate| {
            if candidate.order > pool.limit() {
                return;
            }
            if candidate.order < f32::INFINITY && is_hit(candidate.node) {
                pool.add(candidate, || self.graph.place(candidate.node).0);
            } else {
                pool.put_aside(candidate);
            }
        };
        // Memory is waited for at every node, so that it is asked before it is needed: which node is gone on from next is chosen before those that the
        // current one leads to are compared, so that its links come meanwhile, and sketches or vectors of those that it leads to are asked for before
        // the others are compared. Now and then one of these would have been nearer: that costs few comparisons, and finds a little more.
        let (mut batches, mut compared) = ([Batch::new(), Batch::new()], [Candidate::NONE; BATCH]);
        let [mut batch, mut ahead] = batches.each_mut();
        let mut next = pool.follow();
        while let Some(first) = next {
            let limit = pool.bar();
            self.push_links(first.node, level, batch, visited, limit, |x| offer(pool, x));
            while batch.count > 0 {
                if stop.is_time() {
                    return false;
                }
                next = pool.follow();
                if let Some(next) = next {
                    prefetch(self.graph.links(next.node, level));
                }
                let limit = pool.bar();
                let go_on = |pool: &mut Pool, ahead: &mut _, visited: &mut _| {
                    if let Some(next) = next {
                        let found = |x| offer(pool, x);
                        self.push_links(next.node, level, ahead, visited, limit, found);
                    }
                };
                let count = if self.sieve.is_some() || V::IS_FAR {
                    // The vectors of those that are not too far come while sketches of others are asked for.
                    self.sift(batch, limit, |x| offer(pool, x));
                    go_on(pool, ahead, visited);
                    self.take(batch, &mut compared)
                } else {
                    let count = self.take(batch, &mut compared);
                    go_on(pool, ahead, visited);
                    count
                };
                compared[..count].iter().for_each(|candidate| offer(pool, *candidate));
                std::mem::swap(&mut batch, &mut ahead);
            }
            next = pool.follow();
        }
        true
    }

    /// Adds those that a node is linked to, and that are new, to a batch.
    #[inline(always)]
    fn push_links(
        &self,
        node: u32,
        level: u32,
        batch: &mut Batch<V::Row<'w>>,
        visited: &mut Visited,
        limit: f32,
        mut found: impl FnMut(Candidate),
    ) {
        for line in self.graph.links(node, level).chunks(1) {
            let mut new = [0; LINE];
            let count = visited.insert_all(nodes(line), &mut new);
            for node in &new[..count] {
                self.push(batch, *node, limit, &mut found);
            }
        }
    }

    /// As [`Walk::around`] on the lowest level, for filters that few pass: only nodes that do are compared. What is looked at of a
    /// node are its links and those of the nodes that they lead to, until `2 * max_links` pass; and a level of links more where
    /// these lead to fewer places than a part of the most there may be.
    pub(crate) fn around_passing(
        &self,
        steps: &mut Steps,
        is_hit: impl Fn(u32) -> bool,
        exploration: f64,
        stop: &mut Stop<'_>,
    ) -> bool {
        let most = self.graph.options.links(0);
        let few = (exploration * (most * most) as f64) as usize;
        let Steps { visited, pool, hop, next_hop } = steps;
        let mut batch = Batch::new();
        while let Some(current) = pool.follow() {
            if stop.is_time() {
                return false;
            }
            let limit = pool.bar();
            let mut found = |candidate: Candidate| {
                if candidate.order < f32::INFINITY {
                    pool.add(candidate, || self.graph.place(candidate.node).0);
                }
            };
            hop.clear();
            hop.push(current.node);
            let mut passing = 0;
            'hops: for hops in 0..3 {
                if hops == 2 && hop.len() >= few {
                    break;
                }
                next_hop.clear();
                for (at, from) in hop.iter().enumerate() {
                    if let Some(ahead) = hop.get(at + 2) {
                        prefetch(self.graph.links(*ahead, 0));
                    }
                    for node in nodes(self.graph.links(*from, 0)) {
                        next_hop.push(node);
                        if visited.insert(node) && is_hit(node) {
                            self.push(&mut batch, node, limit, &mut found);
                            passing += 1;
                            if passing == most {
                                break 'hops;
                            }
                        }
                    }
                }
                std::mem::swap(hop, next_hop);
            }
            self.sift(&mut batch, limit, &mut found);
            self.compare(&mut batch, &mut found);
        }
        true
    }
}
