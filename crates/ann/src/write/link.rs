//! Links of new nodes, both ways.

use std::sync::OnceLock;

use super::prepare::Newcomer;
use super::select::{select, sort};
use super::{Lent, Writer};
use crate::compare::Comparer;
use crate::graph::Graph;
use crate::links::{contains, count, nodes, push, remove, set};
use crate::pool::Candidate;
use crate::search::Walk;
use crate::vectors::Vectors;

/// A link that comes to a node of a level.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    level: u32,
    node: u32,
    from: u32,
}

impl Writer {
    /// Links new nodes to those that were chosen for each of their levels. Nodes that get too many links choose again, and what they let go
    /// lets them go, and is handed on to another where no short way leads around the link.
    pub(super) fn link<V: Vectors>(
        &mut self,
        vectors: &V,
        newcomers: &[Newcomer],
        chosen: &[Vec<Vec<Candidate>>],
        lent: Lent<'_>,
    ) {
        let mut arrivals = Vec::new();
        for (newcomer, levels) in newcomers.iter().zip(chosen) {
            for (level, links) in (0..).zip(levels) {
                let own = self.graph.links_mut(newcomer.node, level);
                set(own, links.iter().map(|candidate| candidate.node));
                let arrival = |x: &Candidate| Arrival { level, node: x.node, from: newcomer.node };
                arrivals.extend(links.iter().map(arrival));
            }
        }
        // Stable: newcomers in their order.
        arrivals.sort_by_key(|arrival| (arrival.level, arrival.node));
        let mut crowded = Vec::new();
        for group in arrivals.chunk_by(|a, b| (a.level, a.node) == (b.level, b.node)) {
            let Some(Arrival { level, node, .. }) = group.first().copied() else { continue };
            let most = self.graph.options.links(level);
            let links = self.graph.links_mut(node, level);
            if count(links) + group.len() > most {
                crowded.push(group);
            } else {
                group.iter().for_each(|arrival| push(links, arrival.from));
            }
        }
        let kept: Vec<OnceLock<Vec<u32>>> = crowded.iter().map(|_| OnceLock::new()).collect();
        let graph = &self.graph;
        lent(crowded.len(), &|at| {
            // Nobody else sets it.
            let _ = kept[at].set(choose(graph, vectors, crowded[at]));
        });
        let mut dropped = Vec::new();
        for (group, kept) in crowded.iter().zip(kept) {
            let (Some(Arrival { level, node, .. }), Some(kept)) =
                (group.first().copied(), kept.into_inner())
            else {
                continue;
            };
            let links = self.graph.links_mut(node, level);
            let all = nodes(links).chain(group.iter().map(|arrival| arrival.from));
            dropped.extend(all.filter(|x| !kept.contains(x)).map(|from| Arrival {
                level,
                node,
                from,
            }));
            set(links, kept.into_iter());
        }
        for Arrival { level, node, from } in dropped {
            // They may have been linked again, for another that was let go.
            if contains(self.graph.links(node, level), from) {
                continue;
            }
            remove(self.graph.links_mut(from, level), node);
            if !self.has_detour(level, from, node) {
                self.hand_on(vectors, level, from, node);
            }
        }
    }

    /// Links a node that another let go to the one that is nearest to it of those that the other is linked to: mostly that is the one for which it was let go.
    fn hand_on<V: Vectors>(&mut self, vectors: &V, level: u32, lone: u32, node: u32) {
        let graph = &self.graph;
        let links = nodes(graph.links(node, level));
        if links.clone().any(|other| contains(graph.links(other, level), lone)) {
            // The one lets it go too, but has not done so yet.
            return;
        }
        let mut others = Vec::new();
        let (document, at) = graph.place(lone);
        match vectors.vector(document, at) {
            Some(row) => {
                let (metric, longest) = (graph.options.metric, graph.longest);
                let comparer = Comparer::of_vector(metric, graph.isa, &row, longest);
                let walk = Walk { graph, vectors, comparer: &comparer, sieve: None };
                walk.each(links, |candidate| others.push(candidate));
            }
            // It is about to go: until then any will do.
            None => others.extend(links.map(|node| Candidate { order: f32::INFINITY, node })),
        }
        sort(&mut others);
        let is_linked = others.iter().any(|other| self.force(level, lone, other.node))
            || self.force(level, lone, node);
        if !is_linked && count(self.graph.links(lone, level)) == 0 {
            self.rescue(level, lone, node);
        }
    }

    /// Links a node that has no link to another, which lets go one for it that has more, where it has no room.
    pub(super) fn rescue(&mut self, level: u32, lone: u32, node: u32) {
        if self.force(level, lone, node) {
            return;
        }
        let others: Vec<u32> = nodes(self.graph.links(node, level)).collect();
        let is_spare = |other: &u32| count(self.graph.links(*other, level)) > 1;
        if let Some(spare) = others.into_iter().rev().find(is_spare) {
            self.part(level, node, spare);
            self.connect(level, lone, node);
        }
    }
}

/// The links that a node keeps of those that it has and those that come.
fn choose<V: Vectors>(graph: &Graph, vectors: &V, arrivals: &[Arrival]) -> Vec<u32> {
    let Some(Arrival { level, node, .. }) = arrivals.first().copied() else { return Vec::new() };
    let all: Vec<u32> =
        nodes(graph.links(node, level)).chain(arrivals.iter().map(|x| x.from)).collect();
    let most = graph.options.links(level);
    let (document, at) = graph.place(node);
    let Some(row) = vectors.vector(document, at) else {
        // The caller has no vector of it any more: one link is as good as another.
        return all.into_iter().take(most).collect();
    };
    let comparer = Comparer::of_vector(graph.options.metric, graph.isa, &row, graph.longest);
    let walk = Walk { graph, vectors, comparer: &comparer, sieve: None };
    let mut candidates = Vec::with_capacity(all.len());
    walk.each(all.into_iter(), |candidate| candidates.push(candidate));
    sort(&mut candidates);
    select(&walk, &candidates, most).into_iter().map(|candidate| candidate.node).collect()
}
