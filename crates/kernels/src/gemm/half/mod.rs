//! Products by weights that are stored in bf16, the upper half of an f32.
//!
//! [`pack_half`] rounds `B` to bf16 (to nearest, ties to even) and lays two rows of a column into a lane of 32 bits.
//! That takes half the memory, and half the time where a product is bound by reading `B`. The epilogue and the sums
//! are f32, and all that remains of `A` too when it has few rows:
//!
//! * Up to four rows, `B` is widened in registers and `A` stays f32: only the weights are rounded.
//! * More rows are rounded to bf16 while they are packed. With AVX512-BF16 each instruction adds two products to a sum
//!   (`vdpbf16ps`), twice the rate of f32; other instruction sets widen `B` and add one product at a time. Products of
//!   two bf16 numbers are exact in f32, so only the order of rounding differs.
//!
//! Against the exact product of the rounded operands the error of a sum is at most `k 2^-23 sum |a b|`, where nothing
//! overflows. `vdpbf16ps` takes numbers below 2^-126 for zero, as operands and as sums, which adds at most
//! `2^-126 sum (1 + |a| + |b|)`. Rounding an operand changes it by at most 2^-9 of itself; what rounds to more than the
//! largest bf16, from 3.3961e38 on, becomes infinite. NaN and infinities stay what they are.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod blocked;
mod pack;
mod round;
mod tile;
mod vector;

pub use pack::{half_len, pack_half, pays_in_half};

use super::driver::{Job, packed_rows};
use super::shape::Shape;
use super::vector::MAX_VECTOR_ROWS;
use super::{Lhs, MatRef};
use crate::Isa;

/// Numbers of scratch that [`product`] needs.
pub(super) fn scratch_len(shape: Shape, m: usize, k: usize, a: &Lhs<'_>) -> usize {
    if m <= MAX_VECTOR_ROWS { 0 } else { packed_rows(shape, m, k.next_multiple_of(2), a) }
}

/// Computes a checked product by what [`pack_half`] made. `native` tells whether the machine has `vdpbf16ps`.
pub(super) fn product(job: &Job<'_>, native: bool, a: MatRef<'_>, b: &[u32], scratch: &mut [f32]) {
    if job.m <= MAX_VECTOR_ROWS {
        vector::rows(job, a, b);
    } else {
        blocked::tiles(job, native && job.isa == Isa::Avx512, a, b, scratch);
    }
}

#[cfg(test)]
mod tests;
