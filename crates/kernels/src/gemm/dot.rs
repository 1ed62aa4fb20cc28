//! Products as dot products: rows of `A` and columns of `B` that both lie contiguous in memory.

use super::epilogue::Raw;
use super::tile::Partial;
use crate::simd::{Simd, SimdOp};

/// `C[i, j] = dot(a + i a_row, b + j b_col)` over `depth` elements.
#[derive(Clone, Copy)]
pub struct Dots {
    pub rows: usize,
    pub cols: usize,
    pub depth: usize,
    pub a: *const f32,
    pub a_row: usize,
    pub b: *const f32,
    pub b_col: usize,
    pub c: *mut f32,
    pub c_stride: usize,
    pub epilogue: Raw,
    /// Whether the columns are rows that were [turned](Dots::turned).
    pub is_turned: bool,
}

/// Columns whose sums are collected before the epilogue runs over them. Tasks get whole batches, so
/// that the order of additions does not depend on their number.
pub const BATCH: usize = 64;

impl Dots {
    /// A column as the row that it is in memory, if it is: several rows of `A` are taken at a time then, and the epilogue by vectors.
    /// Each keeps the order of its sums, so that a row of many has the bits of the same row alone.
    pub fn turned(self) -> Dots {
        let e = self.epilogue;
        let is_row = self.c_stride == 1 && (e.residual.is_null() || e.residual_stride == 1);
        if self.cols != 1 || self.rows == 1 || !is_row {
            return self;
        }
        Dots {
            rows: 1,
            cols: self.rows,
            a: self.b,
            a_row: 0,
            b: self.a,
            b_col: self.a_row,
            epilogue: Raw { bias_col: e.bias_row, bias_row: e.bias_col, ..e },
            is_turned: true,
            ..self
        }
    }
}

impl SimdOp for Dots {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let mut sums = [0.0f32; BATCH];
        for i in 0..self.rows {
            let mut col = 0;
            while col < self.cols {
                let n = (self.cols - col).min(BATCH);
                // SAFETY: row i and columns col..col + n exist in all operands; n <= BATCH.
                unsafe {
                    let a = self.a.add(i * self.a_row);
                    let b = self.b.add(col * self.b_col);
                    let mut j = 0;
                    while j + 4 <= n {
                        let b = b.add(j * self.b_col);
                        let x = if self.is_turned {
                            dots::<S, 4, 4>(s, a, b, self.b_col, self.depth)
                        } else {
                            dots::<S, 4, 2>(s, a, b, self.b_col, self.depth)
                        };
                        sums[j..j + 4].copy_from_slice(&x);
                        j += 4;
                    }
                    while j < n {
                        let b = b.add(j * self.b_col);
                        [sums[j]] = dots::<S, 1, 4>(s, a, b, self.b_col, self.depth);
                        j += 1;
                    }
                    s.call(Partial {
                        sums: sums.as_ptr(),
                        sums_stride: 0,
                        rows: 1,
                        cols: n,
                        c: self.c.add(i * self.c_stride + col),
                        c_stride: self.c_stride,
                        epilogue: self.epilogue.at(i, col),
                    });
                }
                col += n;
            }
        }
    }
}

/// `C` dot products of one row with `U` accumulators each, to hide the latency of additions.
///
/// # Safety
/// `a` and each of the `C` columns must be readable for `depth` numbers.
#[inline(always)]
pub unsafe fn dots<S: Simd, const C: usize, const U: usize>(
    s: S,
    a: *const f32,
    b: *const f32,
    b_col: usize,
    depth: usize,
) -> [f32; C] {
    let mut acc = [[s.zero(); U]; C];
    let mut p = 0;
    // SAFETY: p + what is read stays within depth.
    unsafe {
        while p + U * S::LANES <= depth {
            for u in 0..U {
                let x = s.load_ptr(a.add(p + u * S::LANES));
                for (j, acc) in acc.iter_mut().enumerate() {
                    let y = s.load_ptr(b.add(j * b_col + p + u * S::LANES));
                    acc[u] = s.fma(x, y, acc[u]);
                }
            }
            p += U * S::LANES;
        }
        while p < depth {
            let n = (depth - p).min(S::LANES);
            let x = s.load_part_ptr(a.add(p), n);
            for (j, acc) in acc.iter_mut().enumerate() {
                acc[0] = s.fma(x, s.load_part_ptr(b.add(j * b_col + p), n), acc[0]);
            }
            p += n;
        }
    }
    let mut out = [0.0; C];
    for (out, acc) in out.iter_mut().zip(acc) {
        let mut sum = acc[0];
        for x in acc.iter().skip(1) {
            sum = s.add(sum, *x);
        }
        *out = s.sum(sum);
    }
    out
}
