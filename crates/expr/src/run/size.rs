//! Why a step has no value, and how much memory it may take.

use crate::value::Inexact;

/// The most cells that a step may compute for a batch: 256 MiB of floats. Mapped tensors have no size in their type,
/// so what two of them give when every label of one meets every label of the other shows only when it is computed.
pub const MAX_CELLS: usize = crate::types::MAX_BLOCK;

/// More cells than there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a step of the expression would compute more than {MAX_CELLS} cells")]
pub struct TooLarge;

/// Why a step has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StepError {
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    #[error(transparent)]
    Inexact(#[from] Inexact),
}

/// A step without a value.
#[derive(Debug, Clone)]
pub(crate) struct Failed {
    pub(crate) step: usize,
    pub(crate) error: StepError,
}

/// Checks that there may be so many blocks of so many cells.
pub(super) fn check(blocks: usize, size: usize) -> Result<usize, TooLarge> {
    blocks.checked_mul(size).filter(|cells| *cells <= MAX_CELLS).ok_or(TooLarge)
}
