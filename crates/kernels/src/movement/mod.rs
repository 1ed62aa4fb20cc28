//! Kernels that move elements without computing with them: copies by strides and tables, gathers,
//! scatters, fills.
//!
//! Elements are bytes in groups of a fixed width, so that one kernel serves every type of that width.

mod cache;
mod copy;
mod fill;
mod gather;
mod pick;
mod scatter;
mod tables;

pub use cache::{CacheDims, write_cache};
pub use copy::{Layout, MAX_DIMS, copy_layout, copy_strided};
pub use fill::{fill, one_hot, trilu};
pub use gather::{ElementIndex, NdIndex, gather, gather_elements, gather_nd};
pub use pick::{SequenceDims, compress, count_nonzero, nonzero, reverse_sequence};
pub use scatter::{Combine, Reduction, scatter_elements, scatter_nd};
pub use tables::copy_by_tables;

/// An index that lies outside of its axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRange {
    /// The index as it was given.
    pub index: i64,
    /// The number of positions on the axis.
    pub limit: usize,
}

/// An element type of index tensors.
pub trait Index: Copy {
    /// The value.
    fn value(self) -> i64;
}

impl Index for i64 {
    #[inline(always)]
    fn value(self) -> i64 {
        self
    }
}

impl Index for i32 {
    #[inline(always)]
    fn value(self) -> i64 {
        self.into()
    }
}

/// A position from an index; a negative one counts from the end.
#[inline(always)]
pub(crate) fn position(index: impl Index, limit: usize) -> Result<usize, OutOfRange> {
    let index = index.value();
    let wrapped = if index < 0 { index.wrapping_add(limit as i64) } else { index };
    if (0..limit as i64).contains(&wrapped) {
        Ok(wrapped as usize)
    } else {
        Err(OutOfRange { index, limit })
    }
}

/// Steps through all positions of `dims` in row-major order; `step` sees each as an offset by `strides`.
#[inline(always)]
fn for_each_offset(dims: &[usize], strides: &[isize], mut step: impl FnMut(isize)) {
    let rank = dims.len();
    debug_assert!(rank <= MAX_DIMS && strides.len() >= rank);
    if dims.contains(&0) {
        return;
    }
    let mut at = [0usize; MAX_DIMS];
    let mut offset = 0isize;
    loop {
        step(offset);
        let mut axis = rank;
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            at[axis] += 1;
            offset += strides[axis];
            if at[axis] < dims[axis] {
                break;
            }
            offset -= strides[axis] * dims[axis] as isize;
            at[axis] = 0;
        }
    }
}

/// Calls a function with the width of the elements as its constant parameter.
macro_rules! by_width {
    ($width:expr, $f:ident ( $($arg:expr),* $(,)? ), else $other:expr) => {
        match $width {
            1 => $f::<1>($($arg),*),
            2 => $f::<2>($($arg),*),
            4 => $f::<4>($($arg),*),
            8 => $f::<8>($($arg),*),
            16 => $f::<16>($($arg),*),
            _ => $other,
        }
    };
}
use by_width;
