//! Products of few rows of `A`, which stay f32, by weights that are widened in registers.

use super::super::MatRef;
use super::super::driver::Job;
use super::super::few::{Few, Weights, few};
use super::super::tile::finish;
use super::round::{even, odd};
use crate::simd::Simd;

/// Computes a product of at most four rows.
pub fn rows(job: &Job<'_>, a: MatRef<'_>, b: &[u32]) {
    few(job, a, Pairs(b.as_ptr()));
}

/// Two rows of `B` in each number.
#[derive(Clone, Copy)]
struct Pairs(*const u32);

impl Weights for Pairs {
    #[inline(always)]
    unsafe fn strip<S: Simd, const M: usize, const G: usize, const NV: usize>(
        s: S,
        v: Few<Self>,
        sliver: usize,
        cols: usize,
    ) {
        debug_assert!(cols <= NV * S::LANES && (sliver + G - 1) * 2 * S::LANES + cols <= v.cols);
        // SAFETY: the caller's promise. Slivers before the last have two vectors, so that each begins at its first column
        // times the pairs of rows.
        unsafe {
            let pairs = v.depth.div_ceil(2);
            let stride = pairs * 2 * S::LANES;
            let mut acc = [[[s.zero(); NV]; M]; G];
            let mut b = v.b.0.add(sliver * stride);
            let mut a = v.a;
            for q in 0..pairs {
                let mut x = [[s.zero(); 2]; M];
                for (i, x) in x.iter_mut().enumerate() {
                    let at = a.wrapping_add(i * v.a_row);
                    x[0] = s.splat(*at);
                    // The row behind an odd number of them is zero in B, and is not there in A.
                    if 2 * q + 1 < v.depth {
                        x[1] = s.splat(*at.wrapping_add(v.a_col));
                    }
                }
                for (g, sums) in acc.iter_mut().enumerate() {
                    for half in 0..NV {
                        let b = s.load_i32_ptr(b.add(g * stride + half * S::LANES).cast());
                        let (lower, upper) = (even(s, b), odd(s, b));
                        for (sums, x) in sums.iter_mut().zip(x) {
                            sums[half] = s.fma(x[0], lower, sums[half]);
                        }
                        for (sums, x) in sums.iter_mut().zip(x) {
                            sums[half] = s.fma(x[1], upper, sums[half]);
                        }
                    }
                }
                a = a.wrapping_add(2 * v.a_col);
                b = b.wrapping_add(NV * S::LANES);
            }
            for (g, tile) in acc.into_iter().enumerate() {
                let col = (sliver + g) * 2 * S::LANES;
                let cols = if g + 1 == G { cols } else { NV * S::LANES };
                finish(s, tile, v.c.add(col), v.c_stride, cols, v.epilogue.at(0, col));
            }
        }
    }
}
