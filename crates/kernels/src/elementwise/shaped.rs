//! Activations that no product applies to its result, so that they stand apart from
//! [`Activation`](crate::gemm::Activation).

use crate::Isa;
use crate::math::exp_m1;
use crate::scalar_math::Float;
use crate::simd::{Simd, SimdOp, dispatch};

/// A function of one float, with ONNX's meaning of the names and parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shaped {
    /// gamma x if x > 0, else gamma alpha (e^x - 1)
    Selu {
        /// Limit below 0 over gamma, negated
        alpha: f32,
        /// Slope above 0
        gamma: f32,
    },
    /// max(0, x) + min(0, alpha (e^(x / alpha) - 1))
    Celu {
        /// Limit below 0, negated
        alpha: f32,
    },
    /// x if x > alpha, else 0
    Thresholded {
        /// The threshold
        alpha: f32,
    },
    /// x + bias below -lambd, x - bias above lambd, else 0
    Shrink {
        /// What x is moved by
        bias: f32,
        /// The threshold
        lambd: f32,
    },
}

/// `dst[i] = op(src[i])`.
///
/// # Panics
/// When the lengths differ.
pub fn shaped_f32(isa: Isa, op: Shaped, src: &[f32], dst: &mut [f32]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    dispatch(isa, Map { op, src, dst });
}

struct Map<'a> {
    op: Shaped,
    src: &'a [f32],
    dst: &'a mut [f32],
}

impl SimdOp for Map<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Map { op, src, dst } = self;
        macro_rules! vectors {
            (|$x:ident| $f:expr) => {
                for (src, dst) in src.chunks(S::LANES).zip(dst.chunks_mut(S::LANES)) {
                    let $x = s.load_part(src);
                    s.store_part(dst, $f);
                }
            };
        }
        match op {
            Shaped::Selu { alpha, gamma } => {
                let (below, gamma) = (s.splat(alpha * gamma), s.splat(gamma));
                vectors!(|x| s.select(
                    s.gt(x, s.zero()),
                    s.mul(x, gamma),
                    s.mul(exp_m1(s, x), below)
                ))
            }
            Shaped::Celu { alpha } => {
                let alpha = s.splat(alpha);
                vectors!(|x| {
                    let bent = s.mul(alpha, exp_m1(s, s.div(x, alpha)));
                    s.add(s.max(s.zero(), x), s.min(s.zero(), bent))
                })
            }
            Shaped::Thresholded { alpha } => {
                vectors!(|x| s.select(s.le(x, s.splat(alpha)), s.zero(), x))
            }
            Shaped::Shrink { bias, lambd } => {
                let bias = s.splat(bias);
                vectors!(|x| {
                    let low = s.select(s.lt(x, s.splat(-lambd)), s.add(x, bias), s.zero());
                    s.select(s.gt(x, s.splat(lambd)), s.sub(x, bias), low)
                })
            }
        }
    }
}

/// `dst[i] = op(src[i])` in f64.
///
/// # Panics
/// When the lengths differ.
pub fn shaped_f64(op: Shaped, src: &[f64], dst: &mut [f64]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    for (y, &x) in dst.iter_mut().zip(src) {
        *y = match op {
            Shaped::Selu { gamma, .. } if x > 0.0 => x * f64::from(gamma),
            Shaped::Selu { alpha, gamma } => f64::from(alpha) * f64::from(gamma) * Float::exp_m1(x),
            Shaped::Celu { .. } if x > 0.0 => x,
            Shaped::Celu { alpha } => f64::from(alpha) * Float::exp_m1(x / f64::from(alpha)),
            Shaped::Thresholded { alpha } if x <= f64::from(alpha) => 0.0,
            Shaped::Thresholded { .. } => x,
            Shaped::Shrink { bias, lambd } if x < -f64::from(lambd) => x + f64::from(bias),
            Shaped::Shrink { bias, lambd } if x > f64::from(lambd) => x - f64::from(bias),
            Shaped::Shrink { .. } => 0.0,
        };
    }
}
