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
    if cols == 0 {
        return;
    }
    let rows = src.len() / cols;
    assert_eq!(src.len(), rows * cols, "length of the rows");
    assert!(scale.is_none_or(|x| x.len() == cols), "length of the scale");
    assert!(bias.is_none_or(|x| x.len() == cols), "length of the bias");
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
        let (dst, mean, inv_std) = unsafe {
            (
                dst.part(from * cols, n * cols),
                mean.as_ref().map(|x| x.part(from, n)),
                inv_std.as_ref().map(|x| x.part(from, n)),
            )
        };
        let src = &src[from * cols..to * cols];
        dispatch(isa, Rows { form, cols, src, scale, bias, epsilon, dst, mean, inv_std });
    });
}

struct Rows<'a> {
    form: RowNorm,
    cols: usize,
    src: &'a [f32],
    scale: Option<&'a [f32]>,
    bias: Option<&'a [f32]>,
    epsilon: f32,
    dst: &'a mut [f32],
    mean: Option<&'a mut [f32]>,
    inv_std: Option<&'a mut [f32]>,
}

impl SimdOp for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(mut self, s: S) {
        let n = self.cols;
        let per = 1.0 / n as f32;
        let rows = self.src.chunks_exact(n).zip(self.dst.chunks_exact_mut(n));
        for (i, (src, dst)) in rows.enumerate() {
            // SAFETY: the row has n numbers, and scale and bias have as many.
            unsafe {
                let mean = match self.form {
                    RowNorm::Layer => sum(s, src.as_ptr(), n) * per,
                    RowNorm::Rms => 0.0,
                };
                let variance = squares(s, src.as_ptr(), n, mean) * per;
                let inv = s.splat(1.0);
                let inv = s.div(inv, s.sqrt(s.splat(variance + self.epsilon)));
                let mut lanes = [0.0f32; 16];
                s.store_ptr(lanes.as_mut_ptr(), inv);
                if let Some(out) = &mut self.mean {
                    out[i] = mean;
                }
                if let Some(out) = &mut self.inv_std {
                    out[i] = lanes[0];
                }
                let mean = s.splat(mean);
                let mut j = 0;
                while j < n {
                    let len = (n - j).min(S::LANES);
                    let x = s.sub(s.load_part_ptr(src.as_ptr().add(j), len), mean);
                    let mut y = s.mul(x, inv);
                    if let Some(scale) = self.scale {
                        y = s.mul(y, s.load_part_ptr(scale.as_ptr().add(j), len));
                    }
                    if let Some(bias) = self.bias {
                        y = s.add(y, s.load_part_ptr(bias.as_ptr().add(j), len));
                    }
                    s.store_part_ptr(dst.as_mut_ptr().add(j), y, len);
                    j += len;
                }
            }
        }
    }
}
