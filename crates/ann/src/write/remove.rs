//! Taking nodes out, and mending what led through them.

use super::Writer;
use super::select::{select, sort};
use crate::compare::Comparer;
use crate::links::{contains, count, nodes, remove, set};
use crate::pool::Candidate;
use crate::search::{Stop, Walk};
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

    /// Links the neighbours of a node that is gone, on a level: the nearest pairs that no others join yet, and then the nearest. Without the
    /// first, vectors that are much alike would use up the room of each other, and lose what led elsewhere.
    fn mend<V: Vectors>(&mut self, vectors: &V, level: u32, neighbours: &[u32]) {
        let graph = &self.graph;
        let mut pairs: Vec<(f32, usize, usize)> = Vec::new();
        let mut joined = Joined::new(neighbours.len());
        for (at, node) in neighbours.iter().enumerate() {
            let links = graph.links(*node, level);
            for (other, number) in neighbours.iter().enumerate().skip(at + 1) {
                if contains(links, *number) {
                    joined.join(at, other);
                }
            }
            let others = neighbours[at + 1..].iter().copied().filter(|x| !contains(links, *x));
            let found = |Candidate { order, node }| {
                let other = neighbours.iter().position(|other| *other == node);
                pairs.extend(other.map(|other| (order, at, other)));
            };
            let (document, label) = graph.place(*node);
            if let Some(row) = vectors.vector(document, label) {
                let (metric, longest) = (graph.options.metric, graph.longest);
                let comparer = Comparer::of_vector(metric, graph.isa, &row, longest);
                Walk { graph, vectors, comparer: &comparer, sieve: None }.each(others, found);
            } else {
                // It is about to go too: until then what it leads to is held together by it.
                others.map(|node| Candidate { order: f32::INFINITY, node }).for_each(found);
            }
        }
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for step in [Mend::Join, Mend::Force, Mend::Fill] {
            pairs.retain(|(order, a, b)| {
                let (one, other) = (neighbours[*a], neighbours[*b]);
                let have_room = self.has_room(level, one) && self.has_room(level, other);
                let is_linked = match step {
                    Mend::Join => have_room && joined.join(*a, *b),
                    Mend::Fill => have_room && *order < f32::INFINITY,
                    Mend::Force => {
                        let is_apart = !joined.are_joined(*a, *b);
                        let has_detour = is_apart && self.has_detour(level, one, other);
                        let is_forced = is_apart && !has_detour && self.force(level, one, other);
                        if has_detour || is_forced {
                            joined.join(*a, *b);
                        }
                        return !is_forced;
                    }
                };
                if is_linked {
                    self.connect(level, one, other);
                }
                !is_linked
            });
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
        let comparer = Comparer::of_vector(graph.options.metric, graph.isa, &row, graph.longest);
        let walk = Walk { graph, vectors, comparer: &comparer, sieve: None };
        let is_start = |other: &u32| *other != node && graph.node(*other).levels > level;
        // All nodes are gone through only where none of the others that were near is left.
        let start = near.iter().copied().find(is_start);
        let Some(start) = start.or_else(|| (0..graph.bound).find(is_start)) else { return };
        let (mut from, most) = (vec![walk.candidate(start)], graph.options.explore);
        let mut stop = Stop::new(&|| false);
        self.with_steps(|steps| walk.nearest(level, most, &mut from, steps, &mut stop));
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

/// What the neighbours of a node that is gone are linked for, one after the other.
#[derive(Clone, Copy)]
enum Mend {
    /// They are not joined, and have room.
    Join,
    /// They are not joined, and can make room.
    Force,
    /// They have room.
    Fill,
}

/// Which of some nodes lead to each other.
struct Joined(Vec<usize>);

impl Joined {
    fn new(count: usize) -> Joined {
        Joined((0..count).collect())
    }

    fn are_joined(&self, a: usize, b: usize) -> bool {
        self.0[a] == self.0[b]
    }

    /// Notes that two do; whether they did not.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (from, to) = (self.0[a], self.0[b]);
        self.0.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        from != to
    }
}
