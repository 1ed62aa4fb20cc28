//! Sine and cosine.

use super::horner;
use crate::simd::Arithmetic;

/// Largest argument for which [`sin`] and [`cos`] keep their bound: above it the three-part
/// reduction by pi/2 loses bits, and callers take a scalar function.
pub const TRIG_MAX: f32 = 8192.0;

/// x - n pi/2 in [-pi/4, pi/4] and the quadrant n. pi/2 is split so that the products with `n`
/// are exact without FMA as well (Cephes `sinf`).
#[inline(always)]
fn reduce<S: Arithmetic>(s: S, x: S::F32) -> (S::F32, S::I32) {
    const PARTS: [f32; 4] = [1.570_312_5, 4.835_129e-4, 3.138_557e-7, 6.077_100_5e-11];
    let n = s.round(s.mul(x, s.splat(core::f32::consts::FRAC_2_PI)));
    let r = s.fnma(n, s.splat(PARTS[0]), x);
    let r = s.fnma(n, s.splat(PARTS[1]), r);
    let r = s.fnma(n, s.splat(PARTS[2]), r);
    (s.fnma(n, s.splat(PARTS[3]), r), s.to_i32(n))
}

/// sin(x + q pi/2) from the reduced argument.
#[inline(always)]
fn quadrant<S: Arithmetic>(s: S, r: S::F32, q: S::I32) -> S::F32 {
    const SIN: [f32; 3] = [-1.951_529_6e-4, 8.332_161e-3, -0.166_666_55];
    const COS: [f32; 3] = [2.443_315_7e-5, -1.388_731_6e-3, 4.166_664_6e-2];
    let sq = s.mul(r, r);
    let sin = s.fma(s.mul(horner(s, sq, SIN), sq), r, r);
    let cos = s.fma(s.mul(sq, sq), horner(s, sq, COS), s.fnma(s.splat(0.5), sq, s.splat(1.0)));
    let odd = s.eq_i32(s.and_i32(q, s.splat_i32(1)), s.splat_i32(1));
    let y = s.select(odd, cos, sin);
    let sign = s.shl_i32::<30>(s.and_i32(q, s.splat_i32(2)));
    s.bits_to_f32(s.xor_i32(s.bits(y), sign))
}

/// sin(x) to 1.5e-7 absolute for `|x| <=` [`TRIG_MAX`], and 2 ulp near 0.
#[inline(always)]
pub fn sin<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    let (r, q) = reduce(s, x);
    // The reduction loses the sign of a zero.
    s.select(s.eq(x, s.zero()), x, quadrant(s, r, q))
}

/// cos(x) to 1.5e-7 absolute for `|x| <=` [`TRIG_MAX`].
#[inline(always)]
pub fn cos<S: Arithmetic>(s: S, x: S::F32) -> S::F32 {
    let (r, q) = reduce(s, x);
    quadrant(s, r, s.add_i32(q, s.splat_i32(1)))
}
