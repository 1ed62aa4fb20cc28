//! Batch, instance and group normalisation over `(batch, channels, inner)`.

use super::{squares, sum};
use crate::par::{Output, for_ranges};
use crate::scalar_math::Float;
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Turns the parameters of a batch normalisation into the factors of [`scale_shift`]:
/// `(x - mean) / sqrt(var + epsilon) * scale + bias = x * factor + shift`. All have one number per
/// channel.
pub fn batch_norm_affine(
    scale: &[f32],
    bias: &[f32],
    mean: &[f32],
    var: &[f32],
    epsilon: f32,
    factor: &mut [f32],
    shift: &mut [f32],
) {
    for (c, (factor, shift)) in factor.iter_mut().zip(shift).enumerate() {
        *factor = scale[c] / Float::sqrt(var[c] + epsilon);
        *shift = bias[c] - mean[c] * *factor;
    }
}

/// `dst[b, c, i] = src[b, c, i] * factor[c] + shift[c]` over `(batch, channels, inner)`.
///
/// # Panics
/// If the lengths do not fit together.
pub fn scale_shift(
    isa: Isa,
    par: &dyn Parallel,
    (batch, channels, inner): (usize, usize, usize),
    src: &[f32],
    factor: &[f32],
    shift: &[f32],
    dst: &mut [f32],
) {
    let n = batch * channels * inner;
    assert!(src.len() == n && dst.len() == n, "length of source or destination");
    assert!(factor.len() == channels && shift.len() == channels, "length of factor or shift");
    if n == 0 {
        return;
    }
    let out = Output::new(dst);
    if inner == 1 {
        for_ranges(par, batch, channels, &|from, to| {
            for b in from..to {
                // SAFETY: ranges of different tasks are disjoint.
                let dst = unsafe { out.part(b * channels, channels) };
                let src = &src[b * channels..(b + 1) * channels];
                dispatch(isa, Rows { src, factor, shift, dst });
            }
        });
    } else {
        for_ranges(par, batch * channels, inner, &|from, to| {
            for row in from..to {
                let c = row % channels;
                // SAFETY: ranges of different tasks are disjoint.
                let dst = unsafe { out.part(row * inner, inner) };
                let src = &src[row * inner..(row + 1) * inner];
                dispatch(isa, Affine { src, factor: factor[c], shift: shift[c], dst });
            }
        });
    }
}

/// Normalises each of `groups` groups of channels of each batch to mean 0 and variance 1, then
/// scales and shifts by channel: `(x - mean) / sqrt(var + epsilon) * scale[c] + bias[c]`.
/// As many groups as channels is ONNX InstanceNormalization.
///
/// # Panics
/// If the lengths do not fit together, or `groups` does not divide `channels`.
#[expect(clippy::too_many_arguments, reason = "the operands of GroupNormalization")]
pub fn group_norm(
    isa: Isa,
    par: &dyn Parallel,
    (batch, channels, inner): (usize, usize, usize),
    groups: usize,
    src: &[f32],
    scale: &[f32],
    bias: &[f32],
    epsilon: f32,
    dst: &mut [f32],
) {
    let n = batch * channels * inner;
    assert!(src.len() == n && dst.len() == n, "length of source or destination");
    assert!(scale.len() == channels && bias.len() == channels, "length of scale or bias");
    assert!(groups > 0 && channels.is_multiple_of(groups), "groups of equal size");
    if n == 0 {
        return;
    }
    let per_group = channels / groups;
    let len = per_group * inner;
    let out = Output::new(dst);
    for_ranges(par, batch * groups, len, &|from, to| {
        for g in from..to {
            let src = &src[g * len..(g + 1) * len];
            let [mean, inv] = dispatch(isa, Moments { src, epsilon });
            for c in 0..per_group {
                let channel = g % groups * per_group + c;
                let factor = scale[channel] * inv;
                let shift = bias[channel] - mean * factor;
                // SAFETY: ranges of different tasks are disjoint.
                let dst = unsafe { out.part(g * len + c * inner, inner) };
                let src = &src[c * inner..(c + 1) * inner];
                dispatch(isa, Affine { src, factor, shift, dst });
            }
        }
    });
}

struct Affine<'a> {
    src: &'a [f32],
    factor: f32,
    shift: f32,
    dst: &'a mut [f32],
}

impl SimdOp for Affine<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let (factor, shift) = (s.splat(self.factor), s.splat(self.shift));
        for (x, y) in self.src.chunks(S::LANES).zip(self.dst.chunks_mut(S::LANES)) {
            s.store_part(y, s.fma(s.load_part(x), factor, shift));
        }
    }
}

struct Rows<'a> {
    src: &'a [f32],
    factor: &'a [f32],
    shift: &'a [f32],
    dst: &'a mut [f32],
}

impl SimdOp for Rows<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let operands = self.src.chunks(S::LANES).zip(self.factor.chunks(S::LANES));
        let operands = operands.zip(self.shift.chunks(S::LANES));
        for (((x, a), b), y) in operands.zip(self.dst.chunks_mut(S::LANES)) {
            s.store_part(y, s.fma(s.load_part(x), s.load_part(a), s.load_part(b)));
        }
    }
}

struct Moments<'a> {
    src: &'a [f32],
    epsilon: f32,
}

impl SimdOp for Moments<'_> {
    /// Mean and 1 / sqrt(variance + epsilon).
    type Output = [f32; 2];
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> [f32; 2] {
        let n = self.src.len();
        // SAFETY: the slice has n numbers.
        unsafe {
            let mean = sum(s, self.src.as_ptr(), n) / n as f32;
            let variance = squares(s, self.src.as_ptr(), n, mean) / n as f32;
            [mean, 1.0 / Float::sqrt(variance + self.epsilon)]
        }
    }
}
