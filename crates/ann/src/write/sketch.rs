//! Sketches of all vectors of a graph, from when on these are large.

use std::ops::Range;
use std::sync::OnceLock;

use super::{Lent, Writer};
use crate::compare::square;
use crate::sketches::Sketches;
use crate::vectors::Vectors;

/// Nodes whose vectors are sketched by a thread at a time: some hundred microseconds.
const TOGETHER: u32 = 1024;

impl Writer {
    /// Sketches all vectors if they are large and were not sketched: those of a graph that was [read](crate::Graph::read), or has grown. Searches
    /// are quicker then, and find the same; what was published before has none. On threads that are lent.
    pub fn sketch<V: Vectors>(&mut self, vectors: &V, lent: Lent<'_>) {
        let graph = &self.graph;
        if graph.sketches.size() > 0 || !Sketches::are_for::<V::Cell>(graph.options.metric) {
            return;
        }
        // All of a graph have the same length.
        let some = graph.entry.and_then(|(node, _)| {
            let (document, at) = graph.place(node);
            vectors.vector(document, at)
        });
        let Some(size) = some.map(|row| row.len()) else { return };
        if !graph.sketches.are_worth::<V::Cell>(graph.len, size) {
            return;
        }
        let parts: Vec<Range<u32>> = (0..graph.bound)
            .step_by(TOGETHER as usize)
            .map(|begin| begin..graph.bound.min(begin + TOGETHER))
            .collect();
        let made: Vec<OnceLock<Sketches>> = parts.iter().map(|_| OnceLock::new()).collect();
        lent(parts.len(), &|part| {
            let mut sketches = graph.sketches.empty(size);
            for (at, node) in (0..).zip(parts[part].clone()) {
                let (document, label) = graph.place(node);
                let is_there = graph.node(node).levels > 0;
                if let Some(row) = vectors.vector(document, label).filter(|_| is_there) {
                    sketches.put(graph.isa, at, &row, square::<V::Cell>(graph.isa, &row));
                }
            }
            // Nobody else sets it.
            let _ = made[part].set(sketches);
        });
        let mut sketches = graph.sketches.empty(size);
        for (nodes, made) in parts.into_iter().zip(made) {
            if let Some(made) = made.into_inner() {
                sketches.take(nodes, &made);
            }
        }
        self.graph.sketches = sketches;
    }

    /// Lets the sketches go where so many vectors have gone that they only take memory.
    pub(super) fn forget_sketches<V: Vectors>(&mut self) {
        let sketches = &mut self.graph.sketches;
        if sketches.size() > 0 && sketches.are_too_few::<V::Cell>(self.graph.len) {
            *sketches = sketches.empty(0);
        }
    }
}
