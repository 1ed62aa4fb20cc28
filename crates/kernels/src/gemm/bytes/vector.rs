//! Products of few rows of `A` by bytes that are widened in registers.

use super::super::MatRef;
use super::super::driver::Job;
use super::super::few::{Few, Weights, few};
use super::super::tile::finish;
use super::Bytes;
use crate::simd::Simd;

/// Computes a product of at most four rows.
pub fn rows(job: &Job<'_>, a: MatRef<'_>, b: Bytes<'_>) {
    few(job, a, Scaled { numbers: b.numbers.as_ptr(), scales: b.scales.as_ptr() });
}

/// [`Bytes`] for threads.
#[derive(Clone, Copy)]
struct Scaled {
    numbers: *const i8,
    scales: *const f32,
}

impl Weights for Scaled {
    #[inline(always)]
    unsafe fn strip<S: Simd, const M: usize, const G: usize, const NV: usize>(
        s: S,
        v: Few<Self>,
        sliver: usize,
        cols: usize,
    ) {
        debug_assert!(cols <= NV * S::LANES && (sliver + G - 1) * 2 * S::LANES + cols <= v.cols);
        // SAFETY: the caller's promise. Slivers before the last have two vectors, so that each begins at its first column
        // times the depth.
        unsafe {
            let stride = v.depth * 2 * S::LANES;
            let mut acc = [[[s.zero(); NV]; M]; G];
            let mut b = v.b.numbers.add(sliver * stride);
            let mut a = v.a;
            for _ in 0..v.depth {
                let mut x = [s.zero(); M];
                for (i, x) in x.iter_mut().enumerate() {
                    *x = s.splat(*a.wrapping_add(i * v.a_row));
                }
                for (g, sums) in acc.iter_mut().enumerate() {
                    for half in 0..NV {
                        let b = s.to_f32(s.load_signed_bytes(b.add(g * stride + half * S::LANES)));
                        for (sums, x) in sums.iter_mut().zip(x) {
                            sums[half] = s.fma(x, b, sums[half]);
                        }
                    }
                }
                a = a.wrapping_add(v.a_col);
                b = b.wrapping_add(NV * S::LANES);
            }
            for (g, mut tile) in acc.into_iter().enumerate() {
                let col = (sliver + g) * 2 * S::LANES;
                let cols = if g + 1 == G { cols } else { NV * S::LANES };
                for half in 0..NV {
                    let n = cols.saturating_sub(half * S::LANES).min(S::LANES);
                    let scale = s.load_part_ptr(v.b.scales.wrapping_add(col + half * S::LANES), n);
                    for row in &mut tile {
                        row[half] = s.mul(row[half], scale);
                    }
                }
                finish(s, tile, v.c.add(col), v.c_stride, cols, v.epilogue.at(0, col));
            }
        }
    }
}
