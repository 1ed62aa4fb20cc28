//! Transposed copies, a square of vectors at a time in registers.

use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// `dst[p * dst_stride + i] = src[i * src_stride + p]` for `rows` rows `i` of `cols` columns `p`.
///
/// # Panics
/// If either slice is too short.
pub fn transpose(
    isa: Isa,
    src: &[f32],
    src_stride: usize,
    (rows, cols): (usize, usize),
    dst: &mut [f32],
    dst_stride: usize,
) {
    if rows == 0 || cols == 0 {
        return;
    }
    assert!(src.len() > (rows - 1) * src_stride + cols - 1, "source too short");
    assert!(dst.len() > (cols - 1) * dst_stride + rows - 1, "destination too short");
    dispatch(isa, Transpose { src, src_stride, rows, cols, dst, dst_stride });
}

struct Transpose<'a> {
    src: &'a [f32],
    src_stride: usize,
    rows: usize,
    cols: usize,
    dst: &'a mut [f32],
    dst_stride: usize,
}

impl SimdOp for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Transpose { src, src_stride, rows, cols, dst, dst_stride } = self;
        if cols < S::LANES {
            for i in 0..rows {
                for p in 0..cols {
                    dst[p * dst_stride + i] = src[i * src_stride + p];
                }
            }
            return;
        }
        // Columns outside, so that the lines of `dst` are written once; rows of `src` are few.
        let mut col = 0;
        while col < cols {
            // The last square overlaps the one before it.
            let at = col.min(cols - S::LANES);
            let mut row = 0;
            while row < rows {
                let count = (rows - row).min(S::LANES);
                // Who transposes some rows comes to those below them next. A row is read a line at a time, far from the last one, which no
                // processor fetches ahead: a panel from beyond the second-level cache took four times as long as one from within.
                for i in 0..count {
                    s.prefetch(src.as_ptr().wrapping_add((row + i + rows) * src_stride + at));
                }
                // SAFETY: rows `row..row + count` and columns `at..at + LANES` exist in the source, and so do their
                // places in the destination: both slices reach to the last of each. Whole vectors end inside it.
                unsafe {
                    s.transpose_ptr(
                        src.as_ptr().add(row * src_stride + at),
                        src_stride,
                        count,
                        dst.as_mut_ptr().add(at * dst_stride + row),
                        dst_stride,
                        whole::<S>(count, cols - at, dst_stride),
                    );
                }
                row += count;
            }
            col += S::LANES;
        }
    }
}

/// Columns of `count` numbers, of `cols` in all, that may be stored as whole vectors: where what lies behind a column is the
/// next ones, which are written later, and not the end.
#[inline(always)]
fn whole<S: Simd>(count: usize, cols: usize, stride: usize) -> usize {
    if count == S::LANES {
        S::LANES
    } else if count == stride && cols * count >= S::LANES {
        ((cols * count - S::LANES) / count + 1).min(S::LANES)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_small_shape() {
        for isa in Isa::available() {
            every_small_shape_of(isa);
        }
    }

    fn every_small_shape_of(isa: Isa) {
        for rows in 0..35 {
            for cols in (0..35).chain([63, 64, 65, 130]) {
                for cs in [rows.max(1), rows + 1] {
                    check(isa, (rows, cols), cs);
                }
            }
        }
    }

    fn check(isa: Isa, (rows, cols): (usize, usize), cs: usize) {
        let rs = cols + 3;
        let src: Vec<f32> = (0..rows * rs + 1).map(|i| i as f32).collect();
        let mut dst = std::vec![-1.0; cols * cs + 1];
        let len = dst.len() - 1;
        transpose(isa, &src, rs, (rows, cols), &mut dst[..len], cs);
        for (at, &x) in dst.iter().enumerate() {
            let (p, i) = (at / cs, at % cs);
            let inside = i < rows && p < cols;
            let want = if inside { (i * rs + p) as f32 } else { -1.0 };
            assert_eq!(x, want, "{isa:?} {rows} x {cols} ({i}, {p}), {cs} apart");
        }
    }
}
