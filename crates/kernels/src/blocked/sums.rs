//! Sums over the pixels of a block, of which global means are made.

use super::BLOCK;
use crate::simd::{Simd, SimdOp};

/// The sum of these pixels for each channel of their block.
pub(super) struct Sums<'a>(pub &'a [f32]);

/// Sums side by side, which hide the latency of an addition.
const SIDE_BY_SIDE: usize = 4;

impl SimdOp for Sums<'_> {
    type Output = [f32; BLOCK];

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> [f32; BLOCK] {
        let mut sums = [0.0; BLOCK];
        for first in (0..BLOCK).step_by(S::LANES) {
            let mut acc = [s.zero(); SIDE_BY_SIDE];
            let groups = self.0.chunks_exact(SIDE_BY_SIDE * BLOCK);
            for (acc, x) in acc.iter_mut().zip(groups.remainder().chunks_exact(BLOCK)) {
                *acc = s.load(&x[first..]);
            }
            for x in groups {
                for (acc, x) in acc.iter_mut().zip(x.chunks_exact(BLOCK)) {
                    *acc = s.add(*acc, s.load(&x[first..]));
                }
            }
            let sum = s.add(s.add(acc[0], acc[1]), s.add(acc[2], acc[3]));
            s.store(&mut sums[first..], sum);
        }
        sums
    }
}

/// Means of sums over so many pixels.
pub(super) fn means(sums: [f32; BLOCK], pixels: usize) -> [f32; BLOCK] {
    sums.map(|sum| sum / pixels as f32)
}
