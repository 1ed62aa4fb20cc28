//! The one who changes a graph.

mod detour;
mod islands;
mod link;
mod prepare;
mod remove;
mod select;
mod sketch;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::compare::square;
use crate::error::AnnError;
use crate::graph::{Graph, MAX_LEVEL, MAX_NODES, Node};
use crate::options::Options;
use crate::pool::Candidate;
use crate::search::Steps;
use crate::vectors::Vectors;
use prepare::{Newcomer, prepare};

/// Threads for a loop: calls the body for each number below the first argument once, in any order, maybe several at a time, and returns
/// when all have finished.
pub type Lent<'l> = &'l dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// The calling thread alone.
pub fn alone(rounds: usize, body: &(dyn Fn(usize) + Sync)) {
    (0..rounds).for_each(body);
}

/// Nodes that are inserted together at most: they are compared with each other one by one, and while they are linked other threads wait.
const TOGETHER: usize = 256;

/// The part of a graph, as its inverse, that may be inserted together: what they do not find of each other through the graph is little.
const PART: usize = 8;

/// Changes a graph. Others see what it changes in what is [published](Writer::publish).
#[derive(Debug)]
pub struct Writer {
    graph: Graph,
    /// The nodes of each document, where it may have several.
    owned: HashMap<u32, Vec<u32>>,
    /// Numbers of nodes that nobody has, of graphs whose documents may have several. The least is taken first, so that who reads a graph goes on
    /// as the one who wrote it.
    free: BinaryHeap<Reverse<u32>>,
    /// The first of lists of the levels above the lowest that nobody has, by how many follow each other, less one.
    free_units: [Vec<u32>; MAX_LEVEL as usize],
    /// The first list of those levels that nobody ever had.
    next_unit: u32,
    steps: Mutex<Vec<Steps>>,
}

impl Writer {
    /// One of an empty graph.
    #[must_use]
    pub fn new(options: Options) -> Writer {
        Writer::of(Graph::new(options))
    }

    /// One that goes on with a graph.
    #[must_use]
    pub fn of(graph: Graph) -> Writer {
        let mut writer = Writer {
            owned: HashMap::new(),
            free: BinaryHeap::new(),
            free_units: Default::default(),
            next_unit: 0,
            steps: Mutex::default(),
            graph,
        };
        let mut used = Vec::new();
        for number in 0..writer.graph.bound {
            let node = writer.graph.node(number);
            if node.levels > 1 {
                used.push((node.unit, node.levels - 1));
            }
            if writer.graph.options.has_many && node.levels > 0 {
                writer.owned.entry(node.place.0).or_default().push(number);
            } else if writer.graph.options.has_many {
                writer.free.push(Reverse(number));
            }
        }
        // Lists that lie between those in use are one list each.
        used.sort_unstable();
        for (unit, lists) in used {
            writer.free_units[0].extend(writer.next_unit..unit);
            writer.next_unit = unit + lists;
        }
        writer
    }

    /// What its graph is made with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.graph.options
    }

    #[cfg(test)]
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The graph as it is now, which stays so.
    #[must_use]
    pub fn publish(&self) -> Graph {
        self.graph.clone()
    }

    /// Puts the vectors of a document in the place of those that it has in the graph, if it has some. One with a number that is none, or
    /// whose length is none, is left out: it has no neighbours. Those of all other documents in the graph are what they were when they
    /// were put; where several have changed, [`Writer::put_all`] takes them together.
    ///
    /// # Errors
    /// [`AnnError::Full`]: then the document has no vectors in the graph.
    pub fn put<V: Vectors>(&mut self, vectors: &V, document: u32) -> Result<(), AnnError> {
        self.put_all(vectors, &[document], &alone)
    }

    /// As [`Writer::put`] for each of several documents in this order; of one that comes twice, once. The graph does not depend on how
    /// many threads there are.
    ///
    /// # Errors
    /// [`AnnError::Full`]: then some of the documents have no vectors in the graph.
    pub fn put_all<V: Vectors>(
        &mut self,
        vectors: &V,
        documents: &[u32],
        lent: Lent<'_>,
    ) -> Result<(), AnnError> {
        // All of them first: what the graph knows of them is no longer true.
        documents.iter().for_each(|document| self.take_out(vectors, *document));
        let mut rest = documents;
        while !rest.is_empty() {
            let together = (self.graph.len / PART).clamp(1, TOGETHER);
            let (now, later) = rest.split_at(together.min(rest.len()));
            rest = later;
            let mut newcomers = Vec::new();
            let mut result = Ok(());
            for document in now {
                result = self.add(vectors, *document, &mut newcomers);
                if result.is_err() {
                    break;
                }
            }
            self.sketch(vectors, lent);
            // A document with very many vectors comes in parts too.
            let mut newcomers = &newcomers[..];
            while !newcomers.is_empty() {
                let together = (self.linked(newcomers.len()) / PART).clamp(1, TOGETHER);
                let (now, later) = newcomers.split_at(together.min(newcomers.len()));
                self.insert(vectors, now, lent);
                self.graph.settle();
                newcomers = later;
            }
            result?;
        }
        self.join_islands(vectors);
        self.forget_sketches::<V>();
        Ok(())
    }

    /// Takes the vectors of a document out, if it has some.
    pub fn remove<V: Vectors>(&mut self, vectors: &V, document: u32) {
        self.take_out(vectors, document);
        self.join_islands(vectors);
        self.forget_sketches::<V>();
        self.graph.settle();
    }

    fn take_out<V: Vectors>(&mut self, vectors: &V, document: u32) {
        let mut nodes = if self.graph.options.has_many {
            self.owned.remove(&document).unwrap_or_default()
        } else {
            Vec::from_iter((self.graph.node(document).levels > 0).then_some(document))
        };
        // Whoever made them, in the same order.
        nodes.sort_unstable();
        self.graph.documents -= usize::from(!nodes.is_empty());
        nodes.into_iter().for_each(|node| self.remove_node(vectors, node));
    }

    /// How many nodes are linked, where so many of all are not yet.
    fn linked(&self, newcomers: usize) -> usize {
        self.graph.len.saturating_sub(newcomers)
    }

    /// Makes nodes of the vectors of a document, without links.
    fn add<V: Vectors>(
        &mut self,
        vectors: &V,
        document: u32,
        newcomers: &mut Vec<Newcomer>,
    ) -> Result<(), AnnError> {
        let has_many = self.graph.options.has_many;
        if !has_many && self.graph.node(document).levels > 0 {
            // It came before in the same list.
            return Ok(());
        }
        if has_many && self.owned.contains_key(&document) {
            return Ok(());
        }
        let before = newcomers.len();
        let count = vectors.count(document);
        for at in 0..if has_many { count } else { count.min(1) } {
            let Some(row) = vectors.vector(document, at) else { continue };
            let square = square::<V::Cell>(self.graph.isa, &row);
            if !square.is_finite() {
                continue;
            }
            let number = match (has_many, self.free.pop()) {
                (false, _) => document,
                (true, Some(Reverse(free))) => free,
                (true, None) => self.graph.bound,
            };
            if number >= MAX_NODES {
                return Err(AnnError::Full);
            }
            self.graph.longest = self.graph.longest.max(square);
            let levels = 1 + level_of(document, at, self.graph.options.links(1));
            let unit = self.take_units(levels - 1);
            self.graph.insert(number, Node { levels, unit, place: (document, at) });
            self.graph.sketches.put(self.graph.isa, number, &row, square);
            for level in 0..levels {
                self.graph.links_mut(number, level);
            }
            if has_many {
                self.owned.entry(document).or_default().push(number);
            }
            newcomers.push(Newcomer { node: number, levels });
        }
        self.graph.documents += usize::from(newcomers.len() > before);
        Ok(())
    }

    /// Links new nodes.
    fn insert<V: Vectors>(&mut self, vectors: &V, newcomers: &[Newcomer], lent: Lent<'_>) {
        let chosen: Vec<OnceLock<Vec<Vec<Candidate>>>> =
            newcomers.iter().map(|_| OnceLock::new()).collect();
        lent(newcomers.len(), &|at| {
            let (newcomer, mates) = (newcomers[at], &newcomers[..at]);
            let links =
                self.with_steps(|steps| prepare(&self.graph, vectors, newcomer, mates, steps));
            // Nobody else sets it.
            let _ = chosen[at].set(links);
        });
        let chosen: Vec<Vec<Vec<Candidate>>> =
            chosen.into_iter().map(|chosen| chosen.into_inner().unwrap_or_default()).collect();
        self.link(vectors, newcomers, &chosen, lent);
        for newcomer in newcomers {
            let level = newcomer.levels - 1;
            if self.graph.entry.is_none_or(|(_, highest)| level > highest) {
                self.graph.entry = Some((newcomer.node, level));
            }
        }
    }

    /// Lends what a walk needs.
    fn with_steps<R>(&self, walk: impl FnOnce(&mut Steps) -> R) -> R {
        let lock = || self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        let mut steps = lock().pop().unwrap_or_default();
        let result = walk(&mut steps);
        lock().push(steps);
        result
    }

    /// Lists that follow each other, for levels above the lowest.
    fn take_units(&mut self, lists: u32) -> u32 {
        let free = lists.checked_sub(1).map(|class| self.free_units[class as usize].pop());
        match free {
            None => 0,
            Some(Some(unit)) => unit,
            Some(None) => {
                let unit = self.next_unit;
                self.next_unit += lists;
                unit
            }
        }
    }

    /// Makes the number of a node that is gone, and its lists, free for others.
    fn give_back(&mut self, number: u32, node: Node) {
        if let Some(class) = node.levels.checked_sub(2) {
            self.free_units[class as usize].push(node.unit);
        }
        if self.graph.options.has_many {
            self.free.push(Reverse(number));
        }
    }
}

/// The highest level of a vector: each level has a `links`th of the nodes of the one below. It is a function of the vector's name, so that
/// a graph is the same whenever it is built.
fn level_of(document: u32, at: u32, links: usize) -> u32 {
    let hash = mixed(u64::from(document) << 32 | u64::from(at));
    let mut bar = u64::MAX;
    (0..MAX_LEVEL)
        .find(|_| {
            bar /= links as u64;
            hash >= bar
        })
        .unwrap_or(MAX_LEVEL)
}

/// The finalizer of splitmix64 (S. Vigna, public domain): all bits depend on all.
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
