//! The packed form of `B` in bf16: slivers of two vectors of columns (the last may be one), each stored by pairs of rows.

use super::super::MatRef;
use super::super::pack::{is_dot, pack_sliver, sliver_width};
use super::super::shape::{MAX_COLS, shape};
use super::round::Pair;
use crate::Isa;
use crate::simd::dispatch;

/// Whether a product of `n` columns gains by weights in bf16: with fewer it is made of dot products of f32, for which
/// half of a vector of columns would be padding.
pub fn pays_in_half(n: usize) -> bool {
    !is_dot(n)
}

/// Lanes that [`pack_half`] writes: one for each two rows of a column, columns padded to vectors.
pub fn half_len(isa: Isa, k: usize, n: usize) -> usize {
    k.div_ceil(2) * n.next_multiple_of(shape(isa.effective()).lanes)
}

/// Rounds a `k x n` right operand to bf16 and packs it for [`Rhs::Half`](crate::gemm::Rhs::Half).
///
/// # Panics
/// If `dst` is not [`half_len`] long or `b` is smaller than `k x n`.
pub fn pack_half(isa: Isa, k: usize, n: usize, b: MatRef<'_>, dst: &mut [u32]) {
    /// Rows that are packed as f32 at a time, in the first-level cache.
    const RUN: usize = 32;
    assert_eq!(dst.len(), half_len(isa, k, n), "length of packed B");
    assert!(b.covers(k, n), "B smaller than k x n");
    if k == 0 || n == 0 {
        return;
    }
    let (shape, pairs) = (shape(isa.effective()), k.div_ceil(2));
    let mut rows = [0.0; RUN * MAX_COLS];
    let mut col = 0;
    while col < n {
        let width = sliver_width(shape, n, col);
        let cols = (n - col).min(width);
        let sliver = &mut dst[col * pairs..(col + width) * pairs];
        for (run, to) in sliver.chunks_mut(RUN / 2 * width).enumerate() {
            let first = run * RUN;
            let depth = RUN.min(k - first);
            let part = MatRef { data: &b.data[first * b.row_stride..], ..b };
            pack_sliver(isa, part, (col, cols), depth, width, &mut rows[..depth * width]);
            let even = depth.next_multiple_of(2);
            rows[depth * width..even * width].fill(0.0);
            dispatch(isa, Pair { rows: &rows[..even * width], width, to });
        }
        col += width;
    }
}
