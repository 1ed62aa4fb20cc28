//! Weighted sums along one axis: interpolation with weights that were computed before.

use crate::chunks::{split_chunks, tasks};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};
use core::ops::{AddAssign, Mul, Range};

/// The position of a tap that makes its element the value outside of the axis instead.
pub const OUTSIDE: usize = usize::MAX;

/// Which elements each output is made of: `count` positions and weights for each.
#[derive(Debug, Clone, Copy)]
pub struct Taps<'a, T> {
    /// Positions and weights of an output.
    pub count: usize,
    /// Positions in the source. [`OUTSIDE`] as the first stands for the value outside.
    pub positions: &'a [usize],
    /// The weights.
    pub weights: &'a [T],
}

/// Resamples the middle axis of `src`, of `(outer, from, inner)` elements in row-major order, to as many
/// positions as `taps` has.
///
/// # Panics
/// If a slice has another length, or a position lies beyond the axis.
pub fn resample<T>(
    isa: Isa,
    par: &dyn Parallel,
    (outer, from, inner): (usize, usize, usize),
    taps: Taps<'_, T>,
    outside: T,
    src: &[T],
    dst: &mut [T],
) where
    T: Copy + Default + AddAssign + Mul<Output = T> + Send + Sync,
{
    let to = taps.positions.len() / taps.count.max(1);
    let rows = outer * to;
    assert_eq!(src.len(), outer * from * inner, "length of the source");
    assert_eq!(dst.len(), rows * inner, "length of the destination");
    if dst.is_empty() {
        return;
    }
    let tasks = tasks(par, rows.saturating_mul(inner).saturating_mul(taps.count), rows);
    split_chunks(par, tasks, rows, dst, inner, &|range, dst| {
        dispatch(isa, Rows { range, from, inner, taps, outside, src, dst });
    });
}

struct Rows<'a, T> {
    range: Range<usize>,
    from: usize,
    inner: usize,
    taps: Taps<'a, T>,
    outside: T,
    src: &'a [T],
    dst: &'a mut [T],
}

impl<T: Copy + Default + AddAssign + Mul<Output = T>> SimdOp for Rows<'_, T> {
    type Output = ();

    /// Plain loops: the compiler makes vectors of them for the instruction set.
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Rows { range, from, inner, taps, outside, src, dst } = self;
        let to = taps.positions.len() / taps.count;
        for (row, dst) in range.zip(dst.chunks_exact_mut(inner)) {
            let at = row % to * taps.count;
            let positions = &taps.positions[at..at + taps.count];
            let weights = &taps.weights[at..at + taps.count];
            if positions.first() == Some(&OUTSIDE) {
                dst.fill(outside);
                continue;
            }
            let base = row / to * from;
            if let [dst] = dst {
                let mut sum = T::default();
                for (&p, &w) in positions.iter().zip(weights) {
                    sum += src[base + p] * w;
                }
                *dst = sum;
                continue;
            }
            for (tap, (&p, &w)) in positions.iter().zip(weights).enumerate() {
                let src = &src[(base + p) * inner..][..inner];
                if tap == 0 {
                    dst.iter_mut().zip(src).for_each(|(d, &s)| *d = s * w);
                } else {
                    dst.iter_mut().zip(src).for_each(|(d, &s)| *d += s * w);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn outputs_are_weighted_sums() {
        let taps = Taps {
            count: 2,
            positions: &[0, 1, 1, 1, OUTSIDE, 0],
            weights: &[0.5f32, 0.5, 0.25, 0.25, 1.0, 1.0],
        };
        for isa in Isa::available() {
            let mut dst = [0.0; 3];
            resample(isa, &Serial, (1, 2, 1), taps, 9.0, &[2.0, 4.0], &mut dst);
            assert_eq!(dst, [3.0, 2.0, 9.0], "one element, {isa:?}");
            let mut dst = [0.0; 6];
            resample(isa, &Serial, (1, 2, 2), taps, 9.0, &[2.0, 4.0, 6.0, 8.0], &mut dst);
            assert_eq!(dst, [4.0, 6.0, 3.0, 4.0, 9.0, 9.0], "rows, {isa:?}");
        }
    }
}
