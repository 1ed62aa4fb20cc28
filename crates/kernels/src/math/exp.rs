//! The exponential and what is made of it.

use super::horner;
use crate::simd::Arithmetic;

/// exp(x) is 0 below this (half the smallest subnormal is e^-103.97) ...
const EXP_LO: f32 = -104.0;
/// ... and infinite above this (the largest f32 is e^88.72).
const EXP_HI: f32 = 89.0;
/// ln 2 in two parts; the first has few enough bits that a product with `n` is exact.
const LN2_HI: f32 = 0.693_359_4;
const LN2_LO: f32 = -2.121_944_4e-4;

/// Minimax on [-ln 2 / 2, ln 2 / 2] for (e^r - 1 - r) / r^2, highest power first.
const EXP: [f32; 5] = [1.378_059_4e-3, 8.373_124_5e-3, 4.166_953_6e-2, 0.166_664_72, 0.499_999_85];

/// Numbers of this size have no fraction, and the last bits of this one are the bias of an exponent: what is added to it is
/// rounded, and its last bits are those of a power of two.
const WHOLE: f32 = 12_582_912.0 + 127.0;
/// Here the power of two of a sum with [`WHOLE`] has an exponent of 0, and is 0.
const NOTHING: f32 = -88.1;

/// 2^n of the sum of `n` from -127 to 128 and [`WHOLE`]; 0 for -127, and infinite for 128.
#[inline(always)]
fn exponent_of<S: Arithmetic>(s: S, biased: S::F32) -> S::F32 {
    s.bits_to_f32(s.shl_i32::<23>(s.bits(biased)))
}

/// The whole number `n` and rest `r` with `x = n ln 2 + r`, `|r| <= ln 2 / 2`.
#[inline(always)]
fn reduce<S: Arithmetic>(s: S, x: S::F32) -> (S::F32, S::F32) {
    let n = s.round(s.mul(x, s.splat(core::f32::consts::LOG2_E)));
    let r = s.fnma(n, s.splat(LN2_HI), x);
    (n, s.fnma(n, s.splat(LN2_LO), r))
}

/// e^x to 1.5 ulp, with subnormal results.
#[inline(always)]
pub fn exp<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    exp_from(s, x, EXP_LO)
}

/// The same from `lo` on; below it is e^lo.
#[inline(always)]
fn exp_from<S: Arithmetic>(s: S, x: S::F32, lo: f32) -> S::F32 {
    // The constant comes first so that a NaN in x stays.
    let x = s.max(s.splat(lo), s.min(s.splat(EXP_HI), x));
    let (n, r) = reduce(s, x);
    let p = horner(s, r, EXP);
    let p = s.fma(p, r, s.splat(1.0));
    let p = s.fma(p, r, s.splat(1.0));
    s.scale2(p, n)
}

/// e^x to 1.5 ulp from -87 on, and a normal number or 0 that is off by less than 1e-38 below: for sums of exponentials of numbers
/// that may be above 0 as well ([`exp_shifted`] is for others). Scores that a mask hides lie far below, and processors take two
/// hundred times as long for a power of two that takes a number below the normal ones, even to 0.
#[inline(always)]
pub fn exp_normal<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    /// e^-87 is the last one of whole numbers that is normal.
    const LO: f32 = -87.0;
    /// e^-87.5 is 0.998e-38.
    const HIDDEN: f32 = -87.5;
    // A NaN is not below.
    s.select(s.lt(x, s.splat(HIDDEN)), s.zero(), exp_from(s, x, LO))
}

/// e^x for `x` from [`NOTHING`] to [`EXP_HI`] to 1.5 ulp, in two thirds of the instructions of [`exp`], since 2^n is made of the
/// bits of a sum: 0 where `n` is -127, and infinite where it is 128, which is from 88.4 on.
#[inline(always)]
fn exp_bits<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    let biased = s.fma(x, s.splat(core::f32::consts::LOG2_E), s.splat(WHOLE));
    let n = s.sub(biased, s.splat(WHOLE));
    let r = s.fnma(n, s.splat(LN2_HI), x);
    let r = s.fnma(n, s.splat(LN2_LO), r);
    let p = horner(s, r, EXP);
    let p = s.fma(p, r, s.splat(1.0));
    let p = s.fma(p, r, s.splat(1.0));
    s.mul(p, exponent_of(s, biased))
}

/// e^x for `x` up to 0 to 1.5 ulp from -87 on, off by less than 1e-38 below, and exactly 0 from -88.1 on: [`exp_normal`] for what a
/// row's largest number was taken from, in two thirds of its instructions.
#[inline(always)]
pub fn exp_shifted<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    // The constant comes first so that a NaN in x stays.
    exp_bits(s, s.max(s.splat(NOTHING), x))
}

/// e^x for `x` up to 0 to 2 ulp and `|x|` 2^-23 of itself, or 1e-38 below -87, and exactly 0 from -88.1 on: for the weights of an
/// attention, whose scores are off by more than that themselves, in two thirds of the instructions of [`exp_normal`].
#[inline(always)]
pub fn exp_weight<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    /// Minimax on [-1/2, 1/2] for (2^-r - 1) / r, highest power first.
    #[expect(clippy::approx_constant, reason = "fitted like the others, not ln 2")]
    const P: [f32; 5] = [-1.326_472_7e-3, 9.671_513e-3, -5.550_733_6e-2, 0.240_222_42, -0.693_147];
    let log2_e = s.splat(core::f32::consts::LOG2_E);
    // The constant comes first so that a NaN in x stays.
    let x = s.max(s.splat(NOTHING), x);
    let biased = s.fma(x, log2_e, s.splat(WHOLE));
    let r = s.fnma(x, log2_e, s.sub(biased, s.splat(WHOLE)));
    let p = s.fma(horner(s, r, P), r, s.splat(1.0));
    s.mul(p, exponent_of(s, biased))
}

/// e^x - 1 to 3 ulp.
#[inline(always)]
pub fn exp_m1<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    /// Taylor coefficients of (e^x - 1 - x) / x^2: the next term is 2^-25 of the sum at 1/2.
    const NEAR: [f32; 7] =
        [1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 1.0 / 2.0];
    let p = horner(s, x, NEAR);
    let near = s.fma(s.mul(x, x), p, x);
    let far = s.sub(exp(s, x), s.splat(1.0));
    s.select(s.lt(s.abs(x), s.splat(0.5)), near, far)
}

/// 1 + e^-x, infinite from 88.4 below 0 on. Processors take sixty cycles for a subnormal number and two for others, which large
/// arguments would meet: far above them the sum is 1 already.
#[inline(always)]
fn one_and_exp_neg<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    const LO: f32 = -40.0;
    // The constant comes first so that a NaN in x stays.
    let x = s.max(s.splat(LO), s.min(s.splat(EXP_HI), s.neg(x)));
    s.add(s.splat(1.0), exp_bits(s, x))
}

/// 1 / (1 + e^-x) to 3 ulp; 0 below -88.4, where the true value is under 1e-38.
#[inline(always)]
pub fn sigmoid<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    s.div(s.splat(1.0), one_and_exp_neg(s, x))
}

/// x / (1 + e^-x) to 4 ulp; 0 below -88.4.
#[inline(always)]
pub fn silu<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    // Minus infinity would give inf / inf.
    let x = s.max(s.splat(f32::MIN), x);
    s.div(x, one_and_exp_neg(s, x))
}

/// tanh(x) to 5 ulp, or 1e-42 where products underflow.
///
/// The rational function of degree 13 over 6 that Eigen and ONNX Runtime use, which is above 1 where arguments end: beyond 9
/// the result rounds to 1.
#[inline(always)]
pub fn tanh<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    const LIMIT: f32 = 9.6;
    const P: [f32; 7] = [
        -2.760_768_5e-16,
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297e-8,
        1.485_722_3e-5,
        6.372_619e-4,
        4.893_524_6e-3,
    ];
    const Q: [f32; 4] = [1.198_258_4e-6, 1.185_347_1e-4, 2.268_434_6e-3, 4.893_525e-3];
    // The constants come first so that a NaN in x stays.
    let x = s.max(s.splat(-LIMIT), s.min(s.splat(LIMIT), x));
    let sq = s.mul(x, x);
    let y = s.div(s.mul(x, horner(s, sq, P)), horner(s, sq, Q));
    s.max(s.splat(-1.0), s.min(s.splat(1.0), y))
}
