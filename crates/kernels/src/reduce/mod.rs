//! Reductions over the middle of `(outer, axis, inner)`, in row-major order: `inner` is 1 when the
//! last axes are reduced.
//!
//! ```
//! use stead_kernels::reduce::{ReduceOp, reduce_f32};
//! use stead_kernels::{Isa, Serial};
//! let x = [1.0, 2.0, 3.0, 4.0];
//! let (mut rows, mut cols) = ([0.0; 2], [0.0; 2]);
//! reduce_f32(Isa::detect(), &Serial, ReduceOp::Sum, (2, 2, 1), &x, &mut rows);
//! reduce_f32(Isa::detect(), &Serial, ReduceOp::Max, (1, 2, 2), &x, &mut cols);
//! assert_eq!((rows, cols), ([3.0, 7.0], [3.0, 4.0]));
//! ```

use crate::par::{Output, for_ranges};
use crate::simd::dispatch;
use crate::{Isa, Parallel};

mod float;
mod generic;

pub use generic::{Reducible, reduce};

/// What is made of the numbers along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReduceOp {
    /// Sum; 0 of nothing
    Sum,
    /// Sum over count
    Mean,
    /// Largest; minus infinity or the type's least of nothing; NaN if there is one
    Max,
    /// Smallest; infinity or the type's greatest of nothing; NaN if there is one
    Min,
    /// Product; 1 of nothing
    Prod,
    /// Sum of magnitudes
    L1,
    /// Root of the sum of squares
    L2,
    /// Sum of squares
    SumSquare,
    /// Logarithm of the sum
    LogSum,
    /// Logarithm of the sum of exponentials, without overflow
    LogSumExp,
}

/// Reduces `src` of `(outer, axis, inner)` to `dst` of `(outer, inner)`.
///
/// # Panics
/// If the lengths do not fit the shape.
pub fn reduce_f32(
    isa: Isa,
    par: &dyn Parallel,
    op: ReduceOp,
    (outer, axis, inner): (usize, usize, usize),
    src: &[f32],
    dst: &mut [f32],
) {
    assert_eq!(src.len(), outer * axis * inner, "length of the source");
    assert_eq!(dst.len(), outer * inner, "length of the destination");
    if dst.is_empty() {
        return;
    }
    let out = Output::new(dst);
    for_ranges(par, outer, axis * inner, &|from, to| {
        // SAFETY: ranges of different tasks are disjoint.
        let dst = unsafe { out.part(from * inner, (to - from) * inner) };
        let src = &src[from * axis * inner..to * axis * inner];
        dispatch(isa, float::Reduce { op, axis, inner, src, dst });
    });
}

/// The sum of `a[i] * b[i]`.
///
/// # Panics
/// If the lengths differ.
pub fn dot(isa: Isa, a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "lengths of the operands");
    dispatch(isa, float::Dot(a, b))
}

#[cfg(test)]
mod tests;
