//! Trees in the forms that the kernels take.

use std::ops::Range;

use stead_kernels::Isa;
use stead_kernels::forest::{self, LEAF, Split, Splits, Sum, Walk};

/// Leaves of trees whose splits are all asked; numbers of leaves are bytes there.
pub(super) const MOST_LEAVES: usize = 256;

/// Blocks of fewer rows are walked: a block costs the same for any number of rows.
const FEW: usize = 4;

/// All trees, with leaves of one type.
#[derive(Debug)]
pub(super) struct Program<T> {
    pub(super) splits: Vec<Split>,
    pub(super) trees: Vec<forest::Tree>,
    pub(super) nodes: Vec<forest::Node>,
    pub(super) roots: Vec<(u32, u32)>,
    pub(super) leaves: Vec<T>,
    pub(super) runs: Vec<Run>,
}

/// Trees behind each other that are computed alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    /// Among the roots.
    pub(super) all: Range<usize>,
    /// Among the trees whose splits are all asked; nothing if these are walked.
    pub(super) small: Range<usize>,
}

/// A program for each type of sum.
#[derive(Debug)]
pub(super) enum Sums {
    Narrow(Program<f32>),
    Wide(Program<f64>),
}

/// A block of rows whose codes are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Its first row.
    pub(super) first: usize,
    /// Rows that count.
    pub(super) count: usize,
    /// Rows that there is room for.
    pub(super) width: usize,
}

impl<T: Sum> Program<T> {
    /// Adds a run of trees to the sums of a block.
    pub(super) fn add(&self, isa: Isa, run: &Run, block: Block, codes: &[i8], sums: &mut [T]) {
        let Program { splits, trees, nodes, roots, leaves, .. } = self;
        if run.small.is_empty() || block.count < FEW {
            let roots = &roots[run.all.clone()];
            forest::walk(isa, Walk { roots, nodes, leaves }, block.width, block.count, codes, sums);
        } else {
            let trees = &trees[run.small.clone()];
            forest::add(isa, Splits { trees, splits, leaves }, block.width, codes, sums);
        }
    }
}

/// Trees of a run, so that the splits of a run stay in the first-level cache while blocks go by.
const RUN: usize = 32;

impl<T: Sum + Default> Program<T> {
    pub(super) fn new() -> Program<T> {
        Program {
            splits: Vec::new(),
            trees: Vec::new(),
            nodes: Vec::new(),
            roots: Vec::new(),
            leaves: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds a tree. `nodes` are its splits in pre-order; children count from its own first split
    /// and leaf, and `first` is for each split the first leaf of its left and right subtree.
    pub(super) fn push(
        &mut self,
        nodes: &[forest::Node],
        first: &[(u32, u32)],
        leaves: &[T],
        output: u32,
    ) {
        let (node, leaf) = (self.nodes.len() as u32, self.leaves.len() as u32);
        let small = leaves.len() <= MOST_LEAVES;
        let at = self.trees.len();
        if small {
            let (split, splits) = (self.splits.len() as u32, nodes.len() as u32);
            self.trees.push(forest::Tree { split, splits, leaf, output });
            for (node, (low, mid)) in nodes.iter().zip(first) {
                let (low, mid) = (*low as u8, *mid as u8);
                self.splits.push(Split { column: node.column, code: node.code, low, mid });
            }
        }
        let root = if nodes.is_empty() { LEAF | leaf } else { node };
        self.nodes.extend(nodes.iter().map(|split| {
            let child = |c: u32| if c & LEAF == 0 { c + node } else { c + leaf };
            forest::Node { children: split.children.map(child), ..*split }
        }));
        self.leaves.extend_from_slice(leaves);
        let tree = self.roots.len();
        self.roots.push((root, output));
        let after = at + usize::from(small);
        match self.runs.last_mut() {
            Some(run) if run.small.is_empty() != small && run.all.len() < RUN => {
                run.all.end = tree + 1;
                run.small.end = after;
            }
            _ => self.runs.push(Run { all: tree..tree + 1, small: at..after }),
        }
    }

    /// Makes room behind the last leaves, which the kernel asks for.
    pub(super) fn finish(mut self) -> Program<T> {
        self.leaves.extend([T::default(); MOST_LEAVES]);
        self
    }
}
