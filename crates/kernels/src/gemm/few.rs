//! Products of few rows of `A`, which stay f32, by packed weights that are widened in registers: bound by reading `B` once, or by
//! widening it. What the numbers of `B` are is for [`Weights`] to say.

use super::MatRef;
use super::driver::{Job, Shared};
use super::epilogue::Raw;
use super::shape::part;
use super::vector::groups;
use crate::simd::{Simd, SimdOp, dispatch};

/// All of `B`, in slivers of two vectors of columns, of which the last may be one.
pub trait Weights: Copy {
    /// Computes `M` rows by `G` slivers of `NV` vectors, of which the last has `cols` columns.
    ///
    /// # Safety
    /// The slivers exist in `B`, and their columns in what goes with `B`, in `C` and in the epilogue; `A` has `M` rows of `depth`
    /// numbers. A sliver of one vector is the last.
    unsafe fn strip<S: Simd, const M: usize, const G: usize, const NV: usize>(
        s: S,
        v: Few<Self>,
        sliver: usize,
        cols: usize,
    );
}

/// Computes a product of at most four rows.
pub fn few<W: Weights>(job: &Job<'_>, a: MatRef<'_>, b: W) {
    let slivers = job.n.div_ceil(job.shape.cols());
    let whole = Shared(Few {
        rows: job.m,
        depth: job.k,
        a: a.data.as_ptr(),
        a_row: a.row_stride,
        a_col: a.col_stride,
        b,
        sliver: (0, slivers),
        c: job.c,
        c_stride: job.c_stride,
        cols: job.n,
        epilogue: job.epilogue,
    });
    let tasks = job.tasks(job.m, job.n).min(slivers);
    job.each(tasks, &|i| {
        dispatch(job.isa, Few { sliver: part(slivers, tasks, i), ..whole.get() });
    });
}

/// Some slivers of a product of `rows <= 4` rows.
#[derive(Clone, Copy)]
pub struct Few<W> {
    pub rows: usize,
    pub depth: usize,
    pub a: *const f32,
    pub a_row: usize,
    pub a_col: usize,
    pub b: W,
    pub sliver: (usize, usize),
    pub c: *mut f32,
    pub c_stride: usize,
    /// Columns of all slivers.
    pub cols: usize,
    pub epilogue: Raw,
}

impl<W: Weights> SimdOp for Few<W> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        match self.rows {
            1 => s.call(Rows::<W, 1>(self)),
            2 => s.call(Rows::<W, 2>(self)),
            3 => s.call(Rows::<W, 3>(self)),
            4 => s.call(Rows::<W, 4>(self)),
            rows => debug_assert!(rows == 0),
        }
    }
}

struct Rows<W, const M: usize>(Few<W>);

impl<W: Weights, const M: usize> SimdOp for Rows<W, M> {
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
                W::strip::<S, M, 4, 2>(s, v, sliver, width);
                sliver += 4;
            }
            while sliver + 2 <= full && wide >= 2 {
                W::strip::<S, M, 2, 2>(s, v, sliver, width);
                sliver += 2;
            }
            while sliver < full {
                W::strip::<S, M, 1, 2>(s, v, sliver, width);
                sliver += 1;
            }
            if sliver < end {
                let cols = v.cols - sliver * width;
                if cols > S::LANES {
                    W::strip::<S, M, 1, 2>(s, v, sliver, cols);
                } else {
                    W::strip::<S, M, 1, 1>(s, v, sliver, cols);
                }
            }
        }
    }
}
