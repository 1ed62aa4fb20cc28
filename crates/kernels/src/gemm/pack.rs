//! The packed forms of `A` and `B`.
//!
//! `A`: panels of rows (see `shape::Panels`), each stored column by column: `k x rows`.
//! `B`: slivers of two vectors of columns (the last may be one), each stored row by row:
//! `k x width`, padded with zeros. With at most four columns `B` is stored column by column instead.

use super::shape::{MAX_DOT_COLS, Panels, Shape, shape};
use super::transpose::transpose;
use super::{Lhs, MatRef};
use crate::Isa;

/// Numbers that [`pack_a`] writes.
pub fn packed_a_len(m: usize, k: usize) -> usize {
    m * k
}

/// Packs an `m x k` left operand, such as the weights of a convolution, for [`Lhs::Packed`].
///
/// # Panics
/// If `dst` is not [`packed_a_len`] long or `a` is smaller than `m x k`.
pub fn pack_a(isa: Isa, m: usize, k: usize, a: MatRef<'_>, dst: &mut [f32]) {
    assert_eq!(dst.len(), packed_a_len(m, k), "length of packed A");
    assert!(a.covers(m, k), "A smaller than m x k");
    let panels = Panels::new(m, shape(isa.effective()).rows);
    for i in 0..panels.count {
        let (start, rows) = (panels.start(i), panels.rows(i));
        pack_panel(isa, a, (start, rows), k, &mut dst[start * k..(start + rows) * k]);
    }
}

/// Packs rows `start..start + rows` of `a`.
pub(crate) fn pack_panel(
    isa: Isa,
    a: MatRef<'_>,
    (start, rows): (usize, usize),
    k: usize,
    dst: &mut [f32],
) {
    if rows == 0 || k == 0 {
        return;
    }
    let src = &a.data[start * a.row_stride..];
    if a.row_stride == 1 {
        for (p, out) in dst.chunks_exact_mut(rows).enumerate() {
            out.copy_from_slice(&src[p * a.col_stride..][..rows]);
        }
    } else if a.col_stride == 1 {
        transpose(isa, src, a.row_stride, (rows, k), dst, rows);
    } else {
        for (p, out) in dst.chunks_exact_mut(rows).enumerate() {
            for (i, out) in out.iter_mut().enumerate() {
                *out = src[i * a.row_stride + p * a.col_stride];
            }
        }
    }
}

/// A packed `A` as the strided matrix that it is if it has only one panel.
pub(crate) fn single_panel<'a>(a: Lhs<'a>, m: usize) -> MatRef<'a> {
    match a {
        Lhs::Strided(a) => a,
        Lhs::Packed(data) => MatRef { data, row_stride: 1, col_stride: m },
    }
}

/// Whether `B` of `n` columns is packed for dot products.
pub(crate) fn is_dot(n: usize) -> bool {
    n <= MAX_DOT_COLS
}

/// Columns of the sliver at `col`, padding included.
pub(crate) fn sliver_width(shape: Shape, n: usize, col: usize) -> usize {
    (n - col).next_multiple_of(shape.lanes).min(shape.cols())
}

/// Numbers that [`pack_b`] writes.
pub fn packed_b_len(isa: Isa, k: usize, n: usize) -> usize {
    if is_dot(n) { k * n } else { slivers_len(shape(isa.effective()), k, n) }
}

/// Numbers in the slivers of `n` columns.
pub(crate) fn slivers_len(shape: Shape, k: usize, n: usize) -> usize {
    k * n.next_multiple_of(shape.lanes)
}

/// Packs a `k x n` right operand, such as the weights of a linear layer, for [`super::Rhs::Packed`]. Returns whether all of its numbers are
/// finite, as [`super::Rhs::Finite`] demands.
///
/// # Panics
/// If `dst` is not [`packed_b_len`] long or `b` is smaller than `k x n`.
pub fn pack_b(isa: Isa, k: usize, n: usize, b: MatRef<'_>, dst: &mut [f32]) -> bool {
    assert_eq!(dst.len(), packed_b_len(isa, k, n), "length of packed B");
    assert!(b.covers(k, n), "B smaller than k x n");
    if k == 0 || n == 0 {
        return true;
    }
    if is_dot(n) {
        for (j, col) in dst.chunks_exact_mut(k).enumerate() {
            for (p, out) in col.iter_mut().enumerate() {
                *out = b.data[p * b.row_stride + j * b.col_stride];
            }
        }
        return is_finite(dst);
    }
    let shape = shape(isa.effective());
    let (mut col, mut finite) = (0, true);
    while col < n {
        let width = sliver_width(shape, n, col);
        let cols = (n - col).min(width);
        let dst = &mut dst[col * k..(col + width) * k];
        pack_sliver(isa, b, (col, cols), k, width, dst);
        // While it is in the cache.
        finite &= is_finite(dst);
        col += width;
    }
    finite
}

/// Whether no number is infinite or NaN. The largest bit pattern without signs tells: a loop that ends early would not be made of vectors.
fn is_finite(x: &[f32]) -> bool {
    let largest = x.iter().fold(0, |largest, x| x.abs().to_bits().max(largest));
    f32::from_bits(largest).is_finite()
}

/// The packed columns from `col` on, where a sliver begins; more than [`MAX_DOT_COLS`] of them.
pub(crate) fn packed_columns<T>(b: &[T], k: usize, col: usize) -> &[T] {
    &b[col * k..]
}

/// Packs columns `col..col + cols` of `b`, padded to `width`.
pub(crate) fn pack_sliver(
    isa: Isa,
    b: MatRef<'_>,
    (col, cols): (usize, usize),
    k: usize,
    width: usize,
    dst: &mut [f32],
) {
    debug_assert_eq!(dst.len(), k * width);
    if k == 0 {
        return;
    }
    let src = &b.data[col * b.col_stride..];
    if b.col_stride == 1 {
        match (cols, width) {
            // The widths of full slivers, as constants: a call to copy so few numbers would cost
            // as much as the copy.
            (32, 32) => copy_rows::<32>(src, b.row_stride, dst),
            (16, 16) => copy_rows::<16>(src, b.row_stride, dst),
            (8, 8) => copy_rows::<8>(src, b.row_stride, dst),
            _ => {
                for (p, out) in dst.chunks_exact_mut(width).enumerate() {
                    out[..cols].copy_from_slice(&src[p * b.row_stride..][..cols]);
                    out[cols..].fill(0.0);
                }
            }
        }
        return;
    }
    if cols < width {
        dst.fill(0.0);
    }
    if b.row_stride == 1 {
        transpose(isa, src, b.col_stride, (cols, k), dst, width);
        return;
    }
    // Runs of a few rows: what is read along a column is still in the cache when it is written
    // beside its neighbours.
    const RUN: usize = 16;
    for (run, out) in dst.chunks_mut(RUN * width).enumerate() {
        for j in 0..cols {
            let at = run * RUN * b.row_stride + j * b.col_stride;
            for (p, out) in out[j..].iter_mut().step_by(width).enumerate() {
                *out = src[at + p * b.row_stride];
            }
        }
    }
}

/// Copies runs of `W` numbers, `stride` apart, one after the other.
fn copy_rows<const W: usize>(src: &[f32], stride: usize, dst: &mut [f32]) {
    let (rows, _) = dst.as_chunks_mut::<W>();
    for (p, out) in rows.iter_mut().enumerate() {
        if let Some(row) = src[p * stride..].first_chunk::<W>() {
            *out = *row;
        }
    }
}
