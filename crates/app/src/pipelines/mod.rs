//! `pipeline_config_list` of OpenVINO Model Server: graphs of models that one request runs through.
//!
//! [`read`] takes the text apart, [`structure`] turns names into places and finds out what needs no model to
//! be seen: missing nodes, cycles, and values that are split without being gathered.

mod read;
mod structure;

pub(crate) use read::{libraries, pipelines};

use crate::ConfigError;

/// The name by which nodes refer to the request.
pub const REQUEST: &str = "request";

/// A pipeline of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct PipelineEntry {
    /// Its name, unique among pipelines and models.
    pub name: String,
    /// Its place in the file.
    pub pointer: String,
    /// What it is. An error concerns this pipeline alone.
    pub settings: Result<PipelineSettings, ConfigError>,
}

/// How often a node's outputs are split along their first dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demultiply {
    /// As often as that dimension says (`-1`; `0` in older files).
    Dynamic,
    /// This often.
    Fixed(usize),
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An input of the request, by its place in [`PipelineSettings::inputs`].
    Request(usize),
    /// An output of a node, by their places in [`PipelineSettings::nodes`] and [`PipelineNode::outputs`].
    Node {
        /// The node.
        node: usize,
        /// Its output.
        output: usize,
    },
}

impl Origin {
    /// The node; none for the request.
    pub fn node(self) -> Option<usize> {
        match self {
            Origin::Request(_) => None,
            Origin::Node { node, .. } => Some(node),
        }
    }
}

/// What an input takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// The input of the node's model, or the output of the pipeline.
    pub name: String,
    /// Where its value comes from.
    pub from: Origin,
    /// Its place below the pipeline.
    pub pointer: String,
}

/// A node: one run of a model, or one for each branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineNode {
    /// Its name.
    pub name: String,
    /// The name of its model.
    pub model: String,
    /// The version; the one that is served by default when not given.
    pub version: Option<u64>,
    /// Its inputs.
    pub inputs: Vec<Wire>,
    /// The outputs of the model that others refer to.
    pub outputs: Vec<String>,
    /// Whether its outputs are split, so that the nodes behind it run once for each part.
    pub demultiply: Option<Demultiply>,
    /// Whether it takes the results of all branches of the innermost demultiplexer at once.
    pub gathers: bool,
    /// The demultiplexers in whose branches it runs, the outermost first; none stands for the request.
    pub level: Vec<Option<usize>>,
    /// Its place below the pipeline.
    pub pointer: String,
}

/// A pipeline whose parts are connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineSettings {
    /// The inputs of the request.
    pub inputs: Vec<String>,
    /// Whether these inputs are split.
    pub demultiply: Option<Demultiply>,
    /// Its nodes, each behind those it depends on.
    pub nodes: Vec<PipelineNode>,
    /// Its outputs.
    pub outputs: Vec<Wire>,
}

impl PipelineSettings {
    /// How what comes from a node, or from the request, is split.
    pub fn demultiply(&self, node: Option<usize>) -> Option<Demultiply> {
        match node {
            None => self.demultiply,
            Some(node) => self.nodes.get(node).and_then(|n| n.demultiply),
        }
    }

    /// The demultiplexers in whose branches a value lies, the outermost first.
    pub fn level(&self, from: Origin) -> Vec<Option<usize>> {
        let node = from.node();
        let mut level =
            node.and_then(|n| self.nodes.get(n)).map_or(Vec::new(), |n| n.level.clone());
        level.extend(self.demultiply(node).map(|_| node));
        level
    }

    /// The name by which a node is referred to.
    pub fn node_name(&self, node: Option<usize>) -> &str {
        node.and_then(|n| self.nodes.get(n)).map_or(REQUEST, |n| &n.name)
    }
}
