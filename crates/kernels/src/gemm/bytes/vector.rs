//! Products of few rows of `A` by bytes that are widened in registers: bound by reading `B` once, or by widening it.

use super::super::MatRef;
use super::super::driver::{Job, Shared};
use super::super::epilogue::Raw;
use super::super::shape::part;
use super::super::tile::finish;
use super::super::vector::groups;
use super::Bytes;
use crate::simd::{Simd, SimdOp, dispatch};

/// Computes a product of at most four rows.
pub fn rows(job: &Job<'_>, a: MatRef<'_>, b: Bytes<'_>) {
    let slivers = job.n.div_ceil(job.shape.cols());
    let whole = Shared(Vector {
        rows: job.m,
        depth: job.k,
        a: a.data.as_ptr(),
        a_row: a.row_stride,
        a_col: a.col_stride,
        b: b.numbers.as_ptr(),
        scales: b.scales.as_ptr(),
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
    b: *const i8,
    scales: *const f32,
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
/// The slivers exist in `B`, and their columns in the scales, `C` and the epilogue; `A` has `M` rows of `depth` numbers. A
/// sliver of one vector is the last.
#[inline(always)]
unsafe fn strip<S: Simd, const M: usize, const G: usize, const NV: usize>(
    s: S,
    v: Vector,
    sliver: usize,
    cols: usize,
) {
    debug_assert!(cols <= NV * S::LANES && (sliver + G - 1) * 2 * S::LANES + cols <= v.cols);
    // SAFETY: the caller's promise. Slivers before the last have two vectors, so that each begins at its first column
    // times the depth.
    unsafe {
        let stride = v.depth * 2 * S::LANES;
        let mut acc = [[[s.zero(); NV]; M]; G];
        let mut b = v.b.add(sliver * stride);
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
                let scale = s.load_part_ptr(v.scales.wrapping_add(col + half * S::LANES), n);
                for row in &mut tile {
                    row[half] = s.mul(row[half], scale);
                }
            }
            finish(s, tile, v.c.add(col), v.c_stride, cols, v.epilogue.at(0, col));
        }
    }
}
