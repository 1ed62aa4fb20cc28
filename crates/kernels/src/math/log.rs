//! Natural logarithms.

use super::{exp, horner};
use crate::simd::Arithmetic;

/// ln(x) to 1.5 ulp, subnormals included; minus infinity at 0, NaN below.
///
/// Cephes `logf`: with x = 2^e (1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1].
#[inline(always)]
pub fn log<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    const P: [f32; 9] = [
        7.037_683_6e-2,
        -0.115_146_1,
        0.116_769_98,
        -0.124_201_41,
        0.142_493_23,
        -0.166_680_57,
        0.200_007_14,
        -0.249_999_94,
        0.333_333_3,
    ];
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    const TWO_23: f32 = 8_388_608.0;

    let tiny = s.lt(x, s.splat(f32::MIN_POSITIVE));
    let scaled = s.select(tiny, s.mul(x, s.splat(TWO_23)), x);
    // Taking away the bits of sqrt(1/2) makes the exponent field that of x / sqrt(1/2).
    let bits = s.sub_i32(s.bits(scaled), s.splat_i32(0x3f35_04f3));
    let e = s.shr_i32::<23>(bits);
    // The field is signed: fold 256.. back below zero.
    let e = s.select_i32(s.gt_i32(e, s.splat_i32(255)), s.sub_i32(e, s.splat_i32(512)), e);
    let m = s.add_i32(s.and_i32(bits, s.splat_i32(0x007f_ffff)), s.splat_i32(0x3f35_04f3));
    let f = s.sub(s.bits_to_f32(m), s.splat(1.0));
    let e = s.sub(s.to_f32(e), s.select(tiny, s.splat(23.0), s.zero()));

    let sq = s.mul(f, f);
    let y = s.mul(s.mul(sq, f), horner(s, f, P));
    let y = s.fma(e, s.splat(LN2_LO), y);
    let y = s.fnma(s.splat(0.5), sq, y);
    let y = s.fma(e, s.splat(LN2_HI), s.add(f, y));

    let y = s.select(s.eq(x, s.splat(f32::INFINITY)), x, y);
    let y = s.select(s.eq(x, s.zero()), s.splat(f32::NEG_INFINITY), y);
    // Negative and NaN: everything that is not >= 0.
    s.select(s.ge(x, s.zero()), y, s.splat(f32::NAN))
}

/// ln(1 + x) to 3 ulp.
#[inline(always)]
pub fn log1p<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    // Goldberg's correction: log(u) x / (u - 1) with u = 1 + x rounded is accurate since the
    // rounding of u cancels.
    let one = s.splat(1.0);
    let u = s.add(one, x);
    let d = s.sub(u, one);
    let y = s.mul(log(s, u), s.div(x, d));
    let y = s.select(s.eq(d, s.zero()), x, y);
    let whole = s.mask_or(s.eq(u, s.splat(f32::INFINITY)), s.eq(u, s.zero()));
    s.select(whole, log(s, u), y)
}

/// ln(1 + e^x) to 4 ulp.
#[inline(always)]
pub fn softplus<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    // max(x, 0) + ln(1 + e^-|x|) never overflows.
    let tail = log1p(s, exp(s, s.neg(s.abs(x))));
    s.add(s.max(s.zero(), x), tail)
}
