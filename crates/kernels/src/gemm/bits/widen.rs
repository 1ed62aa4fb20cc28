//! Weights of few bits as f32.

use super::{COLS, WIDE, Weights};
use crate::par::{Output, for_ranges};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Writes `cols` columns from `first`, a multiple of [`COLS`], on as rows of [`WIDE`] numbers.
pub(super) fn columns(
    isa: Isa,
    par: &dyn Parallel,
    weights: &Weights<'_>,
    first: usize,
    cols: usize,
    dst: &mut [f32],
) {
    let of = &weights.of;
    debug_assert!(first.is_multiple_of(COLS) && cols <= WIDE && dst.len() >= of.k * WIDE);
    let out = Output::new(dst);
    for_ranges(par, of.blocks(), of.block * cols, &|from, to| {
        let (start, end) = (from * of.block, (to * of.block).min(of.k));
        // SAFETY: ranges of blocks are ranges of rows, and disjoint.
        let dst = unsafe { out.part(start * WIDE, (end - start) * WIDE) };
        for at in (0..cols).step_by(COLS) {
            let (first, dst) = (first + at, &mut dst[at..]);
            dispatch(isa, Blocks { weights, first, from, to, dst });
        }
    });
}

struct Blocks<'a> {
    weights: &'a Weights<'a>,
    first: usize,
    from: usize,
    to: usize,
    dst: &'a mut [f32],
}

impl SimdOp for Blocks<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let of = &self.weights.of;
        let (blocks, words, per) = (of.blocks(), of.words(), 32 / of.bits);
        let width = of.sliver(self.first);
        let mask = (1u32 << of.bits) - 1;
        let middle = [(1u32 << (of.bits - 1)) as f32; COLS];
        let lanes = &self.weights.words[self.first * blocks * words..][..width * blocks * words];
        let scales = &self.weights.scales[self.first * blocks..][..width * blocks];
        let zeros = self.weights.zeros.map(|z| &z[self.first * blocks..][..width * blocks]);
        let mut rows = self.dst.chunks_mut(WIDE);
        for block in self.from..self.to {
            let scales = &scales[block * width..][..width];
            let zeros = zeros.map_or(&middle[..width], |zeros| &zeros[block * width..][..width]);
            let numbers = of.block.min(of.k - block * of.block);
            for number in 0..numbers {
                let Some(row) = rows.next() else { return };
                let lanes = &lanes[(block * words + number / per) * width..][..width];
                let shift = (number % per * of.bits) as u32;
                let row = &mut row[..width];
                for j in 0..width {
                    let q = (lanes[j] as u32 >> shift) & mask;
                    row[j] = scales[j] * (q as i32 as f32 - zeros[j]);
                }
            }
        }
    }
}
