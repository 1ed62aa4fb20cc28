//! JSON without a tree: a pull reader that puts numbers straight into typed buffers, and a writer.
//!
//! Requests are mostly one long array of numbers, so a tree of values would cost many times the memory of
//! the body. The reader is own code rather than a serde visitor for three reasons: clients of TensorFlow
//! Serving send `NaN` and `Infinity`, `f64` must round correctly, and the nesting limit must hold for parts
//! that are skipped too. It never recurses on its input.

mod array;
mod number;
mod reader;
mod writer;

pub use array::{ArrayShape, read_flat, read_ndarray, read_numbers};
pub use number::JsonNumber;
pub use reader::{Kind, Reader};
pub use writer::{JsonWrite, write_flat, write_nested, write_number, write_str};

/// Deeper nesting is refused, as OpenVINO Model Server refuses it. Tensors have rank 8 at most.
pub const MAX_DEPTH: usize = 100;

/// What is wrong with a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text is not JSON.
    #[error("{what} expected at byte {offset}")]
    Syntax {
        /// Where, in bytes from the start.
        offset: usize,
        /// What should have been there.
        what: &'static str,
    },
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("JSON body exceeds maximum nesting depth")]
    TooDeep,
    /// A value of another kind than wanted.
    #[error("{expected} expected at byte {offset}, got {actual}")]
    Type {
        /// Where, in bytes from the start.
        offset: usize,
        /// The kind wanted.
        expected: &'static str,
        /// The kind found.
        actual: &'static str,
    },
    /// A number that the wanted type cannot hold.
    #[error("number at byte {offset} is out of range of type {expected}")]
    Range {
        /// Where, in bytes from the start.
        offset: usize,
        /// The type wanted.
        expected: &'static str,
    },
    /// Rows of an array have different lengths.
    #[error("array is ragged at byte {offset}")]
    Ragged {
        /// Where, in bytes from the start.
        offset: usize,
    },
    /// More or fewer values than the shape holds.
    #[error("{expected} values expected, got {actual}")]
    Count {
        /// Values by shape.
        expected: usize,
        /// Values given; counting stops one above the expected number.
        actual: usize,
    },
}

impl JsonError {
    /// Whether the text is no JSON at all, rather than JSON of another form than wanted.
    pub const fn is_syntax(&self) -> bool {
        matches!(self, JsonError::Syntax { .. } | JsonError::TooDeep)
    }
}
