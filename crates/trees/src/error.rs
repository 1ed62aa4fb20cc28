//! What can be wrong with a tree model.

use std::fmt;

/// Where in a model something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Outside of any tree.
    Model,
    /// A tree, counted from 0 in the order of the file.
    Tree(usize),
    /// A node by the number that the file gives it.
    Node {
        /// The tree, counted from 0.
        tree: usize,
        /// The node; leaves of LightGBM are counted behind the splits.
        node: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Model => f.write_str("the model"),
            Place::Tree(tree) => write!(f, "tree {tree}"),
            Place::Node { tree, node } => write!(f, "tree {tree}, node {node}"),
        }
    }
}

/// Why bytes are not a forest.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// The bytes are not of the format that their beginning promises.
    #[error("{format}, byte {offset}: expected {expected}")]
    Syntax {
        /// `JSON`, `UBJSON` or `LightGBM text`.
        format: &'static str,
        /// Where, from the beginning of the file.
        offset: usize,
        /// What should have stood there.
        expected: &'static str,
    },
    /// Neither of the formats.
    #[error(
        "not a tree model: expected XGBoost JSON or UBJ (dump_model, save_model) or LightGBM JSON or text \
         (dump_model, save_model)"
    )]
    UnknownFormat,
    /// A field that is not there or not what it must be.
    #[error("{place}: `{field}` must be {expected}")]
    Field {
        /// Where.
        place: Place,
        /// The name in the file.
        field: String,
        /// What it must be.
        expected: String,
    },
    /// The children of a tree do not make a tree.
    #[error("{place}: reached twice; children must not form a cycle or be shared")]
    Cycle {
        /// The node that was reached again.
        place: Place,
    },
    /// Something that is not computed.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// Where.
        place: Place,
        /// What, by its name.
        what: String,
    },
    /// More of something than [`crate::Limits`] allow.
    #[error("{place}: more than {limit} {what}")]
    Limit {
        /// Where it was noticed.
        place: Place,
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
    },
}

impl TreeError {
    pub(crate) fn field(place: Place, field: &str, expected: impl Into<String>) -> TreeError {
        TreeError::Field { place, field: field.to_owned(), expected: expected.into() }
    }

    pub(crate) fn unsupported(place: Place, what: impl Into<String>) -> TreeError {
        TreeError::Unsupported { place, what: what.into() }
    }
}
