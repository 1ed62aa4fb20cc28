//! Layer and RMS normalisation.

use super::{squares, sum};
use crate::par::{Output, for_ranges};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Which normalisation of a row x.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowNorm {
    /// (x - mean) / sqrt(variance + epsilon)
    Layer,
    /// x / sqrt(mean of x^2 + epsilon)
    Rms,
}

/// What [`norm_rows`] found of each row, one number per row.
#[derive(Debug, Default)]
pub struct RowStats<'a> {
    /// The mean (0 for RMS).
    pub mean: Option<&'a mut [f32]>,
    /// 1 / sqrt(variance + epsilon).
    pub inv_std: Option<&'a mut [f32]>,
}

/// `dst = norm(src) * scale + bias` for each row of `cols` numbers.
///
/// ```
/// use stead_kernels::norm::{RowNorm, RowStats, norm_rows};
/// use stead_kernels::{Isa, Serial};
/// let mut y = [0.0; 2];
/// let (isa, stats) = (Isa::detect(), RowStats::default());
/// norm_rows(isa, &Serial, RowNorm::Layer, 2, &[1.0, 3.0], None, Some(&[5.0, 5.0]), 0.0, &mut y, stats);
/// assert_eq!(y, [4.0, 6.0]);
/// ```
///
/// # Panics
/// If the lengths do not fit together.
#[expect(clippy::too_many_arguments, reason = "the operands of LayerNormalization")]
pub fn norm_rows(
    isa: Isa,
    par: &dyn Parallel,
    form: RowNorm,
    cols: usize,
    src: &[f32],
    scale: Option<&[f32]>,
    bias: Option<&[f32]>,
    epsilon: f32,
    dst: &mut [f32],
    stats: RowStats<'_>,
) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    let norm = Norm::new(form, cols, scale, bias, epsilon);
    norm.each(isa, par, Some(src), dst, stats);
}

/// As [`norm_rows`], of rows that are written where they were.
///
/// # Panics
/// If the lengths do not fit together.
#[expect(clippy::too_many_arguments, reason = "the operands of LayerNormalization")]
pub fn norm_rows_in_place(
    isa: Isa,
    par: &dyn Parallel,
    form: RowNorm,
    cols: usize,
    rows: &mut [f32],
    scale: Option<&[f32]>,
    bias: Option<&[f32]>,
    epsilon: f32,
) {
    let norm = Norm::new(form, cols, scale, bias, epsilon);
    norm.each(isa, par, None, rows, RowStats::default());
}

/// What is the same for all rows.
#[derive(Clone, Copy)]
pub(super) struct Norm<'a> {
    form: RowNorm,
    pub cols: usize,
    scale: Option<&'a [f32]>,
    bias: Option<&'a [f32]>,
    epsilon: f32,
}

impl<'a> Norm<'a> {
    /// # Panics
    /// When scale or bias are not of `cols` numbers.
    pub fn new(
        form: RowNorm,
        cols: usize,
        scale: Option<&'a [f32]>,
        bias: Option<&'a [f32]>,
        epsilon: f32,
    ) -> Norm<'a> {
        assert!(scale.is_none_or(|x| x.len() == cols), "length of the scale");
        assert!(bias.is_none_or(|x| x.len() == cols), "length of the bias");
        Norm { form, cols, scale, bias, epsilon }
    }

    /// Normalises all rows of `src`, which are as many as those of `dst`, or those themselves.
    fn each(
        self,
        isa: Isa,
        par: &dyn Parallel,
        src: Option<&[f32]>,
        dst: &mut [f32],
        stats: RowStats<'_>,
    ) {
        let cols = self.cols;
        if cols == 0 {
            return;
        }
        let rows = dst.len() / cols;
        assert_eq!(dst.len(), rows * cols, "length of the rows");
        let mean = stats.mean.map(|x| {
            assert_eq!(x.len(), rows, "length of the means");
            Output::new(x)
        });
        let inv_std = stats.inv_std.map(|x| {
            assert_eq!(x.len(), rows, "length of the deviations");
            Output::new(x)
        });
        let dst = Output::new(dst);
        for_ranges(par, rows, cols, &|from, to| {
            let n = to - from;
            // SAFETY: ranges of different tasks are disjoint.
            let (mean, inv_std) = unsafe {
                (mean.as_ref().map(|x| x.part(from, n)), inv_std.as_ref().map(|x| x.part(from, n)))
            };
            let dst = dst.start().wrapping_add(from * cols);
            let src = src.map_or(dst.cast_const(), |src| src[from * cols..to * cols].as_ptr());
            dispatch(isa, Rows { norm: self, rows: n, src, dst, mean, inv_std });
        });
    }
}

/// Some of the rows: at `src` and at `dst` there are `rows * cols` numbers, the same or apart.
pub(super) struct Rows<'a> {
    pub norm: Norm<'a>,
    pub rows: usize,
    pub src: *const f32,
    pub dst: *mut f32,
    pub mean: Option<&'a mut [f32]>,
    pub inv_std: Option<&'a mut [f32]>,
}

impl SimdOp for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(mut self, s: S) {
        let n = self.norm.cols;
        let per = 1.0 / n as f32;
        for i in 0..self.rows {
            let (src, dst) = (self.src.wrapping_add(i * n), self.dst.wrapping_add(i * n));
            // SAFETY: the row has n numbers.
            let (mean, variance) = unsafe {
                let mean = match self.norm.form {
                    RowNorm::Layer => sum(s, src, n) * per,
                    RowNorm::Rms => 0.0,
                };
                (mean, squares(s, src, n, mean) * per)
            };
            let inv = s.div(s.splat(1.0), s.sqrt(s.splat(variance + self.norm.epsilon)));
            if let Some(out) = &mut self.mean {
                out[i] = mean;
            }
            if let Some(out) = &mut self.inv_std {
                let mut lanes = [0.0f32; 16];
                // SAFETY: no vector has more lanes.
                unsafe { s.store_ptr(lanes.as_mut_ptr(), inv) };
                out[i] = lanes[0];
            }
            let scaled = Scaled { n, src, dst, mean: s.splat(mean), inv };
            // SAFETY: the row has n numbers, and scale and bias have as many.
            unsafe {
                match (self.norm.scale, self.norm.bias) {
                    (Some(scale), Some(bias)) => {
                        scaled.write::<S, true, true>(s, scale.as_ptr(), bias.as_ptr());
                    }
                    (Some(scale), None) => {
                        scaled.write::<S, true, false>(s, scale.as_ptr(), src);
                    }
                    (None, Some(bias)) => scaled.write::<S, false, true>(s, src, bias.as_ptr()),
                    (None, None) => scaled.write::<S, false, false>(s, src, src),
                }
            }
        }
    }
}

/// One row with its moments.
struct Scaled<V> {
    n: usize,
    src: *const f32,
    dst: *mut f32,
    mean: V,
    inv: V,
}

impl<V: Copy> Scaled<V> {
    /// `(src - mean) * inv`, times the scale and plus the bias where there are such.
    ///
    /// # Safety
    /// There are `n` numbers at `src` and `dst`, and at `scale` and `bias` where these are used.
    #[inline(always)]
    unsafe fn write<S: Simd<F32 = V>, const SCALE: bool, const BIAS: bool>(
        self,
        s: S,
        scale: *const f32,
        bias: *const f32,
    ) {
        let of = |x: V, scale: V, bias: V| {
            let mut y = s.mul(s.sub(x, self.mean), self.inv);
            if SCALE {
                y = s.mul(y, scale);
            }
            if BIAS { s.add(y, bias) } else { y }
        };
        let mut j = 0;
        // SAFETY: all offsets are below n.
        unsafe {
            while j + S::LANES <= self.n {
                let scale = if SCALE { s.load_ptr(scale.add(j)) } else { self.inv };
                let bias = if BIAS { s.load_ptr(bias.add(j)) } else { self.inv };
                s.store_ptr(self.dst.add(j), of(s.load_ptr(self.src.add(j)), scale, bias));
                j += S::LANES;
            }
            if j < self.n {
                let len = self.n - j;
                let scale = if SCALE { s.load_part_ptr(scale.add(j), len) } else { self.inv };
                let bias = if BIAS { s.load_part_ptr(bias.add(j), len) } else { self.inv };
                let x = s.load_part_ptr(self.src.add(j), len);
                s.store_part_ptr(self.dst.add(j), of(x, scale, bias), len);
            }
        }
    }
}
