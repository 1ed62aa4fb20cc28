//! What a new node is to be linked to, found in a graph that nobody changes meanwhile.

use std::sync::OnceLock;

use super::select::{select, sort};
use crate::compare::Comparer;
use crate::graph::Graph;
use crate::pool::Candidate;
use crate::search::{Sieve, Steps, Stop, Walk};
use crate::vectors::Vectors;

/// A node that nothing is linked to yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Newcomer {
    pub(super) node: u32,
    pub(super) levels: u32,
}

/// The nodes that a new one is to be linked to, for each of its levels. `mates` are linked before it, and compared one by one.
pub(super) fn prepare<V: Vectors>(
    graph: &Graph,
    vectors: &V,
    newcomer: Newcomer,
    mates: &[Newcomer],
    steps: &mut Steps,
) -> Vec<Vec<Candidate>> {
    let (document, at) = graph.place(newcomer.node);
    let mut links = vec![Vec::new(); newcomer.levels as usize];
    let Some(row) = vectors.vector(document, at) else { return links };
    let comparer = Comparer::of_vector(graph.options.metric, graph.isa, &row, graph.longest);
    let rough = OnceLock::new();
    let sieve = Sieve::new(&comparer, &rough, graph);
    let walk = Walk { graph, vectors, comparer: &comparer, sieve };
    let mut near_mates: Vec<(u32, Candidate)> = Vec::with_capacity(mates.len());
    walk.each(mates.iter().map(|mate| mate.node), |candidate| {
        near_mates.push((graph.node(candidate.node).levels, candidate));
    });
    let highest = graph.entry.map(|(_, level)| level);
    let (mut from, mut stop) = (Vec::new(), Stop::new(&|| false));
    walk.descend(newcomer.levels - 1, graph.options.explore, &mut from, steps);
    for level in (0..newcomer.levels).rev() {
        if highest.is_some_and(|highest| level <= highest) {
            walk.nearest(level, graph.options.explore, &mut from, steps, &mut stop);
        }
        let own = if highest.is_some_and(|highest| level <= highest) { &from[..] } else { &[] };
        let of_mates = near_mates.iter().filter(|(levels, _)| level < *levels).map(|(_, x)| *x);
        let mut candidates: Vec<Candidate> = own.iter().copied().chain(of_mates).collect();
        sort(&mut candidates);
        let mut chosen = select(&walk, &candidates, graph.options.links(1));
        if chosen.is_empty() {
            // Better one that is about to go than none.
            chosen.extend(candidates.first());
        }
        links[level as usize] = chosen;
    }
    links
}
