//! Taking nodes out, and mending what led through them.

use super::Writer;
use super::prepare::around;
use super::select::{select, sort};
use crate::compare::Comparer;
use crate::links::{contains, count, nodes, remove, set};
use crate::pool::Candidate;
use crate::search::Walk;
use crate::vectors::Vectors;

impl Writer {
    /// Takes a node out. Its neighbours are linked to each other, the nearest pairs first, where they have room.
    pub(super) fn remove_node<V: Vectors>(&mut self, vectors: &V, node: u32) {
        let about = self.graph.node(node);
        let neighbours: Vec<Vec<u32>> =
            (0..about.levels).map(|level| nodes(self.graph.links(node, level)).collect()).collect();
        for (level, neighbours) in (0..).zip(&neighbours) {
            for other in neighbours {
                remove(self.graph.links_mut(*other, level), node);
            }
            set(self.graph.links_mut(node, level), [].into_iter());
        }
        self.graph.remove(node);
        if self.graph.entry.is_some_and(|(entry, _)| entry == node) {
            self.graph.entry = self.highest(&neighbours);
        }
        for (level, neighbours) in (0..).zip(&neighbours) {
            self.mend(vectors, level, neighbours);
        }
        self.give_back(node, about);
    }

    /// A node of the highest level: a neighbour of the one that was it, or any if that had none.
    fn highest(&self, neighbours: &[Vec<u32>]) -> Option<(u32, u32)> {
        let highest = |nodes: &mut dyn Iterator<Item = u32>| {
            let levels = nodes.map(|node| (self.graph.node(node).levels, node));
            // Of several the first.
            let best = levels.filter(|(levels, _)| *levels > 0).max_by_key(|x| (x.0, !x.1));
            best.map(|(levels, node)| (node, levels - 1))
        };
        let last = neighbours.iter().rev().find(|of_level| !of_level.is_empty());
        last.and_then(|of_level| highest(&mut of_level.iter().copied()))
            .filter(|(_, level)| *level as usize + 1 >= neighbours.len())
            .or_else(|| highest(&mut (0..self.graph.bound)))
    }

    /// Links the neighbours of a node that is gone, on a level.
    fn mend<V: Vectors>(&mut self, vectors: &V, level: u32, neighbours: &[u32]) {
        let graph = &self.graph;
        let most = graph.options.links(level);
        let mut pairs: Vec<(Candidate, u32)> = Vec::new();
        for (at, node) in neighbours.iter().enumerate() {
            let (document, label) = graph.place(*node);
            let Some(row) = vectors.vector(document, label) else { continue };
            let comparer = Comparer::of_vector(graph.options.metric, graph.isa, row, graph.longest);
            let walk = Walk { graph, vectors, comparer: &comparer };
            let links = graph.links(*node, level);
            let others = neighbours[at + 1..].iter().copied().filter(|x| !contains(links, *x));
            walk.each(others, |other| pairs.push((other, *node)));
        }
        pairs.sort_unstable();
        for (Candidate { node: a, .. }, b) in pairs {
            let has_room = |node| count(self.graph.links(node, level)) < most;
            if has_room(a) && has_room(b) {
                self.connect(level, a, b);
            }
        }
        for node in neighbours {
            if count(self.graph.links(*node, level)) == 0 {
                self.reconnect(vectors, level, *node, neighbours);
            }
        }
    }

    /// Links a node that has lost all links of a level, as if it were new.
    fn reconnect<V: Vectors>(&mut self, vectors: &V, level: u32, node: u32, near: &[u32]) {
        let graph = &self.graph;
        let (document, at) = graph.place(node);
        let Some(row) = vectors.vector(document, at) else { return };
        let comparer = Comparer::of_vector(graph.options.metric, graph.isa, row, graph.longest);
        let walk = Walk { graph, vectors, comparer: &comparer };
        let is_start = |other: &u32| *other != node && graph.node(*other).levels > level;
        // All nodes are gone through only where none of the others that were near is left.
        let start = near.iter().copied().find(is_start);
        let Some(start) = start.or_else(|| (0..graph.bound).find(is_start)) else { return };
        let mut from = vec![walk.candidate(start)];
        self.with_steps(|steps| around(&walk, level, &mut from, steps));
        from.retain(|candidate| candidate.node != node);
        sort(&mut from);
        let (nearest, most) = (from.first().copied(), graph.options.links(level));
        from.retain(|candidate| count(graph.links(candidate.node, level)) < most);
        let chosen = select(&walk, &from, graph.options.links(1));
        for candidate in &chosen {
            self.connect(level, node, candidate.node);
        }
        if let (true, Some(nearest)) = (chosen.is_empty(), nearest) {
            self.rescue(level, node, nearest.node);
        }
    }
}
