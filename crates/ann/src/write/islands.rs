//! Nodes of small graphs that nothing leads to.
//!
//! Where a node has few links, and many vectors are as far from each other as others, those that are chosen may all lead to nodes that lead back, and
//! the removal of one node may part the rest. In a large graph a search misses little by that; in a small one it could be half of the documents. So small graphs are
//! looked through after each change, which takes a few microseconds.

use super::Writer;
use crate::compare::Comparer;
use crate::links::nodes;
use crate::pool::Candidate;
use crate::search::Walk;
use crate::vectors::Vectors;

/// Graphs with at most so many nodes are looked through.
const SMALL: u32 = 256;

impl Writer {
    /// Links whatever the entry of a small graph does not lead to, on the lowest level, on which all nodes are.
    pub(super) fn join_islands<V: Vectors>(&mut self, vectors: &V) {
        let Some((entry, _)) = self.graph.entry.filter(|_| self.graph.bound <= SMALL) else {
            return;
        };
        let mut reached = self.reached(entry);
        for node in 0..self.graph.bound {
            let is_alone = self.graph.node(node).levels > 0 && !reached[node as usize];
            if is_alone && self.bridge(vectors, &self.reached(node), &reached) {
                // What made room for the bridge has changed no more than links.
                reached = self.reached(entry);
            }
        }
    }

    /// Which nodes the links of the lowest level lead to from one, itself among them.
    fn reached(&self, from: u32) -> Vec<bool> {
        let mut reached = vec![false; self.graph.bound as usize];
        let mut next = vec![from];
        reached[from as usize] = true;
        while let Some(node) = next.pop() {
            let links = nodes(self.graph.links(node, 0));
            next.extend(
                links.filter(|other| !std::mem::replace(&mut reached[*other as usize], true)),
            );
        }
        reached
    }

    /// Links a node of an island to the nearest of the others, those with room before those that must let go a link; whether it could.
    fn bridge<V: Vectors>(&mut self, vectors: &V, island: &[bool], others: &[bool]) -> bool {
        let all = |of: &[bool]| -> Vec<u32> {
            (0..of.len()).filter(|node| of[*node]).map(|node| node as u32).collect()
        };
        let has_room = |writer: &Writer, node: u32| writer.has_room(0, node);
        let mut ends = all(island);
        ends.sort_by_key(|node| !has_room(self, *node));
        let Some(end) = ends.into_iter().find(|node| self.make_room_on_lowest(*node)) else {
            return false;
        };
        let (graph, mut found) = (&self.graph, Vec::new());
        let (document, at) = graph.place(end);
        match vectors.vector(document, at) {
            Some(row) => {
                let metric = graph.options.metric;
                let comparer = Comparer::of_vector(metric, graph.isa, &row, graph.longest);
                let walk = Walk { graph, vectors, comparer: &comparer, sieve: None };
                walk.each(all(others).into_iter(), |candidate| found.push(candidate));
            }
            // It is about to go: until then any will do.
            None => {
                found.extend(all(others).into_iter().map(|node| Candidate { order: 0.0, node }))
            }
        }
        found.sort_by(|a, b| {
            let room = has_room(self, b.node).cmp(&has_room(self, a.node));
            room.then(a.order.total_cmp(&b.order)).then(a.node.cmp(&b.node))
        });
        let Some(other) = found.into_iter().find(|other| self.make_room_on_lowest(other.node))
        else {
            return false;
        };
        self.connect(0, end, other.node);
        true
    }

    /// Lets a node without room let go of a link that others make up for; whether it has room then.
    fn make_room_on_lowest(&mut self, node: u32) -> bool {
        if self.has_room(0, node) {
            return true;
        }
        // The last links are those to the farthest, mostly.
        let mut links: Vec<u32> = nodes(self.graph.links(node, 0)).collect();
        while let Some(other) = links.pop() {
            self.part(0, node, other);
            if self.reached(node)[other as usize] {
                return true;
            }
            self.connect(0, node, other);
        }
        false
    }
}
