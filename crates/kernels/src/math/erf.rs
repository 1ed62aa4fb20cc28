//! The error function and the two forms of GELU.

use super::{horner, tanh};
use crate::simd::Arithmetic;

/// erf(x) to 8 ulp, or 1e-42 where products underflow.
///
/// Rational function of degree 13 over 8 (Eigen's); beyond 4 the result rounds to 1.
#[inline(always)]
pub fn erf<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    const LIMIT: f32 = 4.0;
    const P: [f32; 7] = [
        -2.726_142_3e-10,
        2.770_681_4e-8,
        -2.101_024e-6,
        -5.692_506_4e-5,
        -7.349_906_3e-4,
        -2.954_6e-3,
        -1.609_603_4e-2,
    ];
    const Q: [f32; 5] =
        [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329_2e-3, -1.426_473_9e-2];
    let sq = s.mul(x, x);
    let y = s.div(s.mul(x, horner(s, sq, P)), horner(s, sq, Q));
    s.select(s.ge(s.abs(x), s.splat(LIMIT)), s.copysign(s.splat(1.0), x), y)
}

/// GELU(x) = x (1 + erf(x / sqrt 2)) / 2, to 3e-7 |x| absolute.
#[inline(always)]
pub fn gelu_erf<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    // Minus infinity would give inf * 0.
    let x = s.max(s.splat(f32::MIN), x);
    let e = erf(s, s.mul(x, s.splat(core::f32::consts::FRAC_1_SQRT_2)));
    s.mul(s.mul(x, s.splat(0.5)), s.add(s.splat(1.0), e))
}

/// GELU's tanh form, x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, to 3e-7 |x| absolute.
#[inline(always)]
pub fn gelu_tanh<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    const SQRT_2_OVER_PI: f32 = 0.797_884_6;
    let x = s.max(s.splat(f32::MIN), x);
    let cubic = s.mul(s.mul(x, x), s.splat(SQRT_2_OVER_PI * 0.044715));
    let arg = s.mul(x, s.add(s.splat(SQRT_2_OVER_PI), cubic));
    s.mul(s.mul(x, s.splat(0.5)), s.add(s.splat(1.0), tanh(s, arg)))
}
