//! Why there is no such type.

use super::{MAX_BLOCK, MAX_DIMENSIONS, TensorType};

/// Why there is no such type, or why a function cannot take these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// The text is no type.
    #[error("expected {expected}, found {}", if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") })]
    Text {
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
    /// A cell type of an unknown name.
    #[error("unknown cell type {found}; known are {known}")]
    CellType {
        /// The name.
        found: String,
        /// All that there are.
        known: String,
    },
    /// A dimension without indices.
    #[error("dimension {0} has size 0")]
    Empty(String),
    /// A name that two dimensions have.
    #[error("dimension {0} stands twice")]
    Twice(String),
    /// More than [`MAX_DIMENSIONS`].
    #[error("a type has at most {MAX_DIMENSIONS} dimensions, not {0}")]
    TooManyDimensions(usize),
    /// More than [`MAX_BLOCK`] cells in a block.
    #[error("a block is larger than {MAX_BLOCK} cells at dimension {0}")]
    TooLarge(String),
    /// A dimension that both have in different forms.
    #[error("dimension {dimension} differs: {left} and {right}")]
    Differs {
        /// Its name.
        dimension: String,
        /// One type.
        left: TensorType,
        /// The other.
        right: TensorType,
    },
    /// Tensors that do not have the same dimensions.
    #[error("the dimensions differ: {left} and {right}")]
    Dimensions {
        /// One type.
        left: TensorType,
        /// The other.
        right: TensorType,
    },
    /// A dimension that is not there.
    #[error("{of} has no dimension {dimension}")]
    Missing {
        /// The type.
        of: TensorType,
        /// The name.
        dimension: String,
    },
    /// A tensor without an indexed dimension where one must be.
    #[error("{of} has no indexed dimension; {action} needs one")]
    NotIndexed {
        /// The type.
        of: TensorType,
        /// Which function.
        action: &'static str,
    },
    /// A dimension whose size is not known where it must be.
    #[error("the size of dimension {dimension} of {of} is not known; {action} needs it")]
    Unbound {
        /// The type.
        of: TensorType,
        /// The name.
        dimension: String,
        /// What needs it.
        action: &'static str,
    },
    /// An index that is not there.
    #[error("{index} is no index of dimension {dimension} of {of}")]
    Index {
        /// The type.
        of: TensorType,
        /// The name.
        dimension: String,
        /// The index.
        index: usize,
    },
    /// Labels where there must be indices.
    #[error("dimension {dimension} of {of} is mapped; {action} needs an indexed one")]
    Mapped {
        /// The type.
        of: TensorType,
        /// The name.
        dimension: String,
        /// Which function.
        action: &'static str,
    },
}
