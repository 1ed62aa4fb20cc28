//! Products of few rows of `A`, which stay f32, by weights that are widened in registers: bound by reading `B` once.

use super::super::MatRef;
use super::super::driver::{Job, Shared};
use super::super::epilogue::Raw;
use super::super::shape::part;
use super::super::tile::finish;
use super::super::vector::groups;
use super::round::{even, odd};
use crate::simd::{Simd, SimdOp, dispatch};

/// Computes a product of at most four rows.
pub fn rows(job: &Job<'_>, a: MatRef<'_>, b: &[u32]) {
    let width = job.shape.cols();
    let slivers = job.n.div_ceil(width);
    let whole = Shared(Vector {
        rows: job.m,
        depth: job.k,
        a: a.data.as_ptr(),
        a_row: a.row_stride,
        a_col: a.col_stride,
        b: b.as_ptr(),
        sliver: (0, slivers),
        c: job.c,
        c_stride: job.c_stride,
        cols: job.n,
        epilogue: job.epilogue,
    });
    let tasks = job.tasks(job.m, job.n).min(slivers);
    job.each(tasks, &|i| {
        dispatch(job.isa, Vector { sliver: part(slivers, tasks, i), ..whole.get() });
    });
}

/// Some slivers of a product of `rows <= 4` rows.
#[derive(Clone, Copy)]
struct Vector {
    rows: usize,
    depth: usize,
    a: *const f32,
    a_row: usize,
    a_col: usize,
    /// All of `B`.
    b: *const u32,
    sliver: (usize, usize),
    c: *mut f32,
    c_stride: usize,
    /// Columns of all slivers.
    cols: usize,
    epilogue: Raw,
}

impl SimdOp for Vector {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        match self.rows {
            1 => s.call(Rows::<1>(self)),
            2 => s.call(Rows::<2>(self)),
            3 => s.call(Rows::<3>(self)),
            4 => s.call(Rows::<4>(self)),
            rows => debug_assert!(rows == 0),
        }
    }
}

struct Rows<const M: usize>(Vector);

impl<const M: usize> SimdOp for Rows<M> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let v = self.0;
        let width = 2 * S::LANES;
        let wide = groups::<S>(M);
        let (mut sliver, end) = v.sliver;
        // Slivers whose columns all exist.
        let full = end.min(v.cols / width);
        // SAFETY: the slivers exist; those behind `full` end at or behind the last column, and the last one has a
        // single vector if its columns fit one.
        unsafe {
            while sliver + 4 <= full && wide == 4 {
                strip::<S, M, 4, 2>(s, v, sliver, width);
                sliver += 4;
            }
            while sliver + 2 <= full && wide >= 2 {
                strip::<S, M, 2, 2>(s, v, sliver, width);
                sliver += 2;
            }
            while sliver < full {
                strip::<S, M, 1, 2>(s, v, sliver, width);
                sliver += 1;
            }
            if sliver < end {
                let cols = v.cols - sliver * width;
                if cols > S::LANES {
                    strip::<S, M, 1, 2>(s, v, sliver, cols);
                } else {
                    strip::<S, M, 1, 1>(s, v, sliver, cols);
                }
            }
        }
    }
}

/// `M` rows by `G` slivers of `NV` vectors, of which the last has `cols` columns.
///
/// # Safety
/// The slivers exist in `B`, and their columns in `C` and the epilogue; `A` has `M` rows of `depth` numbers. A sliver of
/// one vector is the last.
#[inline(always)]
unsafe fn strip<S: Simd, const M: usize, const G: usize, const NV: usize>(
    s: S,
    v: Vector,
    sliver: usize,
    cols: usize,
) {
    // SAFETY: the caller's promise. Slivers before the last have two vectors, so that each begins at its first column
    // times the pairs of rows.
    unsafe {
        let pairs = v.depth.div_ceil(2);
        let stride = pairs * 2 * S::LANES;
        let mut acc = [[[s.zero(); NV]; M]; G];
        let mut b = v.b.add(sliver * stride);
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
