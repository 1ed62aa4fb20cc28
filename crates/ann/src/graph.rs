//! The graph, as readers have it.

use stead_kernels::Isa;

use crate::links::{LINE, Line};
use crate::options::Options;
use crate::sketches::Sketches;
use crate::table::Table;

/// The highest level: that of one node of `max_links^14`.
pub(crate) const MAX_LEVEL: u32 = 14;

/// The most nodes, and one more than their highest number.
pub(crate) const MAX_NODES: u32 = 1 << 31;

/// A graph of vectors as it was at a moment, after Y. Malkov and D. Yashunin, *Efficient and robust approximate nearest
/// neighbor search using Hierarchical Navigable Small World graphs*, 2016. Every link leads both ways, so that who takes a node away knows all
/// that lead to it. Clones share what neither has changed.
#[derive(Debug, Clone)]
pub struct Graph {
    pub(crate) options: Options,
    pub(crate) isa: Isa,
    nodes: Table<Node>,
    base: Table<Line>,
    /// Lists of the levels above the lowest: those of a node lie behind each other.
    upper: Table<Line>,
    pub(crate) sketches: Sketches,
    /// The node of the highest level, with that level.
    pub(crate) entry: Option<(u32, u32)>,
    /// Numbers of nodes are below.
    pub(crate) bound: u32,
    pub(crate) len: usize,
    pub(crate) documents: usize,
    /// The square of the length of the longest vector there ever was, of `DotProduct`.
    pub(crate) longest: f64,
}

/// What is known of a node.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Node {
    /// How many levels it has; 0 where it is not in the graph
    pub(crate) levels: u32,
    /// The number of its first list above the lowest level
    pub(crate) unit: u32,
    /// Whose vector it is, and which of its vectors
    pub(crate) place: (u32, u32),
}

impl Graph {
    /// One without nodes.
    #[must_use]
    pub fn new(options: Options) -> Graph {
        Graph {
            options,
            isa: Isa::detect(),
            nodes: Table::new(1),
            base: Table::new(options.links(0).div_ceil(LINE)),
            upper: Table::new(options.links(1).div_ceil(LINE)),
            sketches: Sketches::new(options.metric, options.is_far),
            entry: None,
            bound: 0,
            len: 0,
            documents: 0,
            longest: 0.0,
        }
    }

    /// What it is made with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How many vectors there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many documents have vectors.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// The memory that it takes, in bytes; what other graphs have too included.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.links_memory() + self.sketches.memory()
    }

    /// The part of that which is of links: more than what [`Graph::write_to`] writes.
    #[must_use]
    pub fn links_memory(&self) -> usize {
        self.nodes.memory() + self.base.memory() + self.upper.memory()
    }

    /// What is known of a node; without levels if it is not in the graph.
    pub(crate) fn node(&self, node: u32) -> Node {
        self.nodes.get(node).first().copied().unwrap_or_default()
    }

    /// The document of a node and which of its vectors it is.
    #[inline(always)]
    pub(crate) fn place(&self, node: u32) -> (u32, u32) {
        if self.options.has_many { self.node(node).place } else { (node, 0) }
    }

    /// The links of a node on a level; none if it is not that high.
    #[inline(always)]
    pub(crate) fn links(&self, node: u32, level: u32) -> &[Line] {
        if level == 0 {
            return self.base.get(node);
        }
        let node = self.node(node);
        if level < node.levels { self.upper.get(node.unit + level - 1) } else { &[] }
    }

    /// The links of a node on one of its levels, to change.
    pub(crate) fn links_mut(&mut self, node: u32, level: u32) -> &mut [Line] {
        match level {
            0 => self.base.get_mut(node),
            _ => {
                let unit = self.node(node).unit;
                self.upper.get_mut(unit + level - 1)
            }
        }
    }

    /// Brings what lies apart since graphs were published together again, where it has become much: for the one who changes it.
    pub(crate) fn settle(&mut self) {
        self.nodes.settle();
        self.base.settle();
        self.upper.settle();
        self.sketches.settle();
    }

    /// Adds a node without links.
    pub(crate) fn insert(&mut self, number: u32, node: Node) {
        self.nodes.get_mut(number)[0] = node;
        self.bound = self.bound.max(number + 1);
        self.len += 1;
    }

    /// Takes out a node, to which nothing leads any more.
    pub(crate) fn remove(&mut self, number: u32) {
        self.nodes.get_mut(number)[0] = Node::default();
        self.len -= 1;
    }
}
