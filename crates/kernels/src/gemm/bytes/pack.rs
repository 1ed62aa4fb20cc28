//! The packed form of `B` in bytes: slivers of two vectors of columns (the last may be one), each stored row by row.

use super::super::MatRef;
use super::super::pack::{sliver_width, slivers_len};
use super::super::shape::shape;
use crate::Isa;

/// Bytes that [`pack_bytes`] writes: columns are padded to vectors.
pub fn bytes_len(isa: Isa, k: usize, n: usize) -> usize {
    slivers_len(shape(isa.effective()), k, n)
}

/// Packs a `k x n` right operand of bytes for [`Rhs::Bytes`](crate::gemm::Rhs::Bytes).
///
/// # Panics
/// If `dst` is not [`bytes_len`] long or `b` is smaller than `k x n`.
pub fn pack_bytes(isa: Isa, k: usize, n: usize, b: MatRef<'_, i8>, dst: &mut [i8]) {
    /// Rows that are packed together: what is read along a column is still in the cache when it is written beside its
    /// neighbours.
    const RUN: usize = 64;
    assert_eq!(dst.len(), bytes_len(isa, k, n), "length of packed B");
    assert!(b.covers(k, n), "B smaller than k x n");
    let shape = shape(isa.effective());
    let mut col = 0;
    while col < n && k > 0 {
        let width = sliver_width(shape, n, col);
        let cols = (n - col).min(width);
        let sliver = &mut dst[col * k..(col + width) * k];
        for (run, out) in sliver.chunks_mut(RUN * width).enumerate() {
            if cols < width {
                out.fill(0);
            }
            for j in 0..cols {
                let at = run * RUN * b.row_stride + (col + j) * b.col_stride;
                for (p, out) in out[j..].iter_mut().step_by(width).enumerate() {
                    *out = b.data[at + p * b.row_stride];
                }
            }
        }
        col += width;
    }
}
