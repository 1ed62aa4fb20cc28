//! What all products of bf16 by tiles of AMX begin and end with: rows of `A` in steps of tiles, and the epilogue of their sums.

use super::MatRef;
use super::epilogue::Raw;
use super::tile::{Partial, finish};
use super::transpose::transpose;
use crate::Isa;
use crate::amx::{LANES, ROWS, SUMS_STRIDE};
use crate::simd::{Simd, SimdOp};

/// Numbers of a row of `A` in a row of a tile.
pub const STEP: usize = 2 * LANES;

/// Calls `f` with each step of 32 columns of `from..to`, each of the rows `start..start + rows` of `A`, no more than a tile has, and its
/// numbers there, filled up with zeros.
#[inline(always)]
pub fn steps_of_rows(
    a: MatRef<'_>,
    (start, rows): (usize, usize),
    (from, to): (usize, usize),
    mut f: impl FnMut(usize, usize, &[f32; STEP]),
) {
    let mut copy = [0.0; ROWS * STEP];
    for step in 0..(to - from).div_ceil(STEP) {
        let first = from + step * STEP;
        let depth = STEP.min(to - first);
        let numbers = &a.data[start * a.row_stride + first * a.col_stride..];
        let (numbers, stride) = if a.col_stride == 1 && depth == STEP {
            (numbers, a.row_stride)
        } else {
            if depth < STEP {
                copy.fill(0.0);
            }
            if a.row_stride == 1 {
                transpose(Isa::Avx512, numbers, a.col_stride, (depth, rows), &mut copy, STEP);
            } else {
                for (i, row) in copy.chunks_exact_mut(STEP).enumerate().take(rows) {
                    for (p, x) in row.iter_mut().enumerate().take(depth) {
                        *x = numbers[i * a.row_stride + p * a.col_stride];
                    }
                }
            }
            (&copy[..], STEP)
        };
        for row in 0..rows {
            if let Some(numbers) = numbers[row * stride..].first_chunk() {
                f(step, row, numbers);
            }
        }
    }
}

/// The epilogue of the sums of a tile of rows.
#[derive(Clone, Copy)]
pub struct Stored<'a> {
    pub sums: *const f32,
    pub rows: usize,
    pub cols: usize,
    pub c: *mut f32,
    pub c_stride: usize,
    /// Of a block of tiles, and the tile's place in it: see `gemm::tile::Operands`.
    pub epilogue: &'a Raw,
    pub at: (usize, usize),
}

impl SimdOp for Stored<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Stored { sums, rows, cols, c, c_stride, .. } = self;
        if !cols.is_multiple_of(S::LANES) {
            // SAFETY: the tile lies in the operands.
            let epilogue = unsafe { self.epilogue.at(self.at.0, self.at.1) };
            s.call(Partial { sums, sums_stride: SUMS_STRIDE, rows, cols, c, c_stride, epilogue });
            return;
        }
        let mut row = 0;
        // SAFETY: whoever builds the struct promises rows and columns, in whole vectors.
        unsafe {
            while row < rows {
                let rest = rows - row;
                row += match (cols > S::LANES, rest >= 4) {
                    (true, true) => some_rows::<S, 4, 2>(s, &self, row),
                    (true, false) => some_rows::<S, 1, 2>(s, &self, row),
                    (false, true) => some_rows::<S, 4, 1>(s, &self, row),
                    (false, false) => some_rows::<S, 1, 1>(s, &self, row),
                };
            }
        }
    }
}

/// The epilogue of `MR` rows from `row` on, of `NV` whole vectors; returns `MR`.
///
/// # Safety
/// These rows must exist, with as many columns.
#[inline(always)]
unsafe fn some_rows<S: Simd, const MR: usize, const NV: usize>(
    s: S,
    t: &Stored<'_>,
    row: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        let mut acc = [[s.zero(); NV]; MR];
        for (i, acc) in acc.iter_mut().enumerate() {
            for (v, acc) in acc.iter_mut().enumerate() {
                *acc = s.load_ptr(t.sums.add((row + i) * SUMS_STRIDE + v * S::LANES));
            }
        }
        let c = t.c.add(row * t.c_stride);
        let epilogue = t.epilogue.at(t.at.0 + row, t.at.1);
        finish(s, acc, c, t.c_stride, NV * S::LANES, epilogue);
    }
    MR
}
