//! What can be wrong with a tensor.

use crate::{DType, MAX_RANK};

/// An error of shape, type or size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The rank is above [`MAX_RANK`].
    #[error("rank {0} is above the limit of {MAX_RANK}")]
    RankTooHigh(usize),
    /// The product of the dimensions, or the bytes of it, overflows.
    #[error("shape {0:?} has too many elements")]
    TooManyElements(Vec<usize>),
    /// The data does not have the size that type and shape give.
    #[error("{expected} bytes expected, got {actual}")]
    WrongByteLength {
        /// Bytes by type and shape.
        expected: usize,
        /// Bytes given.
        actual: usize,
    },
    /// The number of elements does not fit the shape.
    #[error("{expected} elements expected, got {actual}")]
    WrongElementCount {
        /// Elements by shape.
        expected: usize,
        /// Elements given.
        actual: usize,
    },
    /// The elements have another type.
    #[error("element type {expected} expected, got {actual}")]
    WrongType {
        /// The type asked for.
        expected: DType,
        /// The type that the tensor has.
        actual: DType,
    },
    /// The bytes do not start at an address that the type needs.
    #[error("data of type {0} is not aligned")]
    Misaligned(DType),
    /// The memory could not be had.
    #[error("out of memory allocating {0} bytes")]
    OutOfMemory(usize),
}
