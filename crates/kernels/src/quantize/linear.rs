//! Quantisation by floats.

use super::{Run, Scales, round};
use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};
use half::f16;

/// `q = round(x / scale) + zero_point`, not yet limited to a type, with ties to even. `zero` may be empty. With
/// `half` quotients are rounded to half precision before that.
///
/// # Panics
/// When the lengths do not fit.
pub fn quantize(
    isa: Isa,
    scales: &Scales,
    x: &[f32],
    scale: &[f32],
    zero: &[f32],
    half: bool,
    q: &mut [f32],
) {
    assert_eq!(x.len(), scales.elements(), "length of the source");
    assert_eq!(q.len(), x.len(), "length of the destination");
    assert_eq!(scale.len(), scales.count(), "number of scales");
    for Run { start, len, scale: at, step } in scales.runs() {
        let (x, q) = (&x[start..][..len], &mut q[start..][..len]);
        if half {
            for (i, (q, x)) in q.iter_mut().zip(x).enumerate() {
                let quotient = f16::from_f32(x / scale[at + i * step]).to_f32();
                let zero = zero.get(at + i * step).copied().unwrap_or(0.0);
                *q = round(quotient) + zero;
            }
            continue;
        }
        dispatch(isa, Quantize { x, scale: &scale[at..], zero: zero.get(at..), step, q });
    }
}

struct Quantize<'a> {
    x: &'a [f32],
    scale: &'a [f32],
    zero: Option<&'a [f32]>,
    step: usize,
    q: &'a mut [f32],
}

impl SimdOp for Quantize<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Quantize { x, scale, zero, step, q } = self;
        let n = q.len();
        let x = &x[..n];
        let zero = zero.filter(|z| !z.is_empty());
        if step == 0 {
            let (scale, zero) = (scale[0], zero.map_or(0.0, |z| z[0]));
            for i in 0..n {
                q[i] = round(x[i] / scale) + zero;
            }
            return;
        }
        let scale = &scale[..n];
        for i in 0..n {
            q[i] = round(x[i] / scale[i]);
        }
        if let Some(zero) = zero {
            let zero = &zero[..n];
            for i in 0..n {
                q[i] += zero[i];
            }
        }
    }
}

/// `x = (q - zero_point) * scale`. `zero` may be empty.
///
/// # Panics
/// When the lengths do not fit.
pub fn dequantize(
    isa: Isa,
    scales: &Scales,
    q: &[f32],
    scale: &[f32],
    zero: &[f32],
    x: &mut [f32],
) {
    assert_eq!(q.len(), scales.elements(), "length of the source");
    assert_eq!(q.len(), x.len(), "length of the destination");
    assert_eq!(scale.len(), scales.count(), "number of scales");
    for Run { start, len, scale: at, step } in scales.runs() {
        let (q, x) = (&q[start..][..len], &mut x[start..][..len]);
        dispatch(isa, Dequantize { q, scale: &scale[at..], zero: zero.get(at..), step, x });
    }
}

struct Dequantize<'a> {
    q: &'a [f32],
    scale: &'a [f32],
    zero: Option<&'a [f32]>,
    step: usize,
    x: &'a mut [f32],
}

impl SimdOp for Dequantize<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Dequantize { q, scale, zero, step, x } = self;
        let n = x.len();
        let q = &q[..n];
        let zero = zero.filter(|z| !z.is_empty());
        if step == 0 {
            let (scale, zero) = (scale[0], zero.map_or(0.0, |z| z[0]));
            for i in 0..n {
                x[i] = (q[i] - zero) * scale;
            }
            return;
        }
        let scale = &scale[..n];
        match zero {
            None => (0..n).for_each(|i| x[i] = q[i] * scale[i]),
            Some(zero) => {
                let zero = &zero[..n];
                for i in 0..n {
                    x[i] = (q[i] - zero[i]) * scale[i];
                }
            }
        }
    }
}
