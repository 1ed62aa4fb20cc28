//! What can be computed lane by lane.

/// Arithmetic on f32 and i32 lanes, each by itself: what the functions of [`crate::math`] are made of, so that they are written
/// once for a vector of an instruction set ([`Simd`](super::Simd)) and for several of them ([`Together`](super::Together)).
///
/// `min` and `max` return their *second* operand when either is NaN; comparisons with NaN are
/// false; conversions to i32 of values out of range are unspecified but not undefined.
pub trait Arithmetic: Copy {
    /// A vector of f32.
    type F32: Copy + Send + Sync;
    /// A vector of i32 with as many lanes.
    type I32: Copy + Send + Sync;
    /// The result of a comparison, one truth value per lane.
    type Mask: Copy + Send + Sync;

    /// All lanes `x`.
    fn splat(self, x: f32) -> Self::F32;
    /// All lanes `x`.
    fn splat_i32(self, x: i32) -> Self::I32;

    /// `a + b`
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a - b`
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b`
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a / b`, correctly rounded
    fn div(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b + c`, rounded once (twice on [`super::Scalar`])
    fn fma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// `c - a * b`, rounded once (twice on [`super::Scalar`])
    fn fnma(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// The smaller; `b` if either is NaN
    fn min(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The larger; `b` if either is NaN
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// Square root, correctly rounded
    fn sqrt(self, a: Self::F32) -> Self::F32;
    /// To the nearest integer, ties to even
    fn round(self, a: Self::F32) -> Self::F32;
    /// To the next integer below
    fn floor(self, a: Self::F32) -> Self::F32;
    /// To the next integer above
    fn ceil(self, a: Self::F32) -> Self::F32;
    /// To the next integer towards zero
    fn trunc(self, a: Self::F32) -> Self::F32;

    /// `a < b`
    fn lt(self, a: Self::F32, b: Self::F32) -> Self::Mask;
    /// `a <= b`
    fn le(self, a: Self::F32, b: Self::F32) -> Self::Mask;
    /// `a == b`
    fn eq(self, a: Self::F32, b: Self::F32) -> Self::Mask;
    /// Both
    fn mask_and(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either
    fn mask_or(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Neither `a`
    fn mask_not(self, a: Self::Mask) -> Self::Mask;
    /// `a` where `m` holds, else `b`
    fn select(self, m: Self::Mask, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a` where `m` holds, else `b`
    fn select_i32(self, m: Self::Mask, a: Self::I32, b: Self::I32) -> Self::I32;

    /// To the nearest integer, ties to even
    fn to_i32(self, a: Self::F32) -> Self::I32;
    /// Towards zero
    fn to_i32_trunc(self, a: Self::F32) -> Self::I32;
    /// Exact below 2^24, else nearest
    fn to_f32(self, a: Self::I32) -> Self::F32;
    /// The same bits
    fn bits(self, a: Self::F32) -> Self::I32;
    /// The same bits
    fn bits_to_f32(self, a: Self::I32) -> Self::F32;
    /// `a + b`, wrapping
    fn add_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a - b`, wrapping
    fn sub_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a * b`, low half
    fn mul_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// Bit-wise and
    fn and_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// Bit-wise or
    fn or_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// Bit-wise exclusive or
    fn xor_i32(self, a: Self::I32, b: Self::I32) -> Self::I32;
    /// `a << N`
    fn shl_i32<const N: i32>(self, a: Self::I32) -> Self::I32;
    /// `a >> N`, filling with zeros
    fn shr_i32<const N: i32>(self, a: Self::I32) -> Self::I32;
    /// `a == b`
    fn eq_i32(self, a: Self::I32, b: Self::I32) -> Self::Mask;
    /// `a > b`
    fn gt_i32(self, a: Self::I32, b: Self::I32) -> Self::Mask;

    /// `a * 2^n` for whole `n` in -252 to 254, with at most one rounding when the result is
    /// normal.
    #[inline(always)]
    fn scale2(self, a: Self::F32, n: Self::F32) -> Self::F32 {
        let half = self.round(self.mul(n, self.splat(0.5)));
        let bias = self.splat_i32(127);
        let first = self.shl_i32::<23>(self.add_i32(self.to_i32(half), bias));
        let rest = self.shl_i32::<23>(self.add_i32(self.to_i32(self.sub(n, half)), bias));
        self.mul(self.mul(a, self.bits_to_f32(first)), self.bits_to_f32(rest))
    }

    /// All lanes 0.
    #[inline(always)]
    fn zero(self) -> Self::F32 {
        self.splat(0.0)
    }

    /// `-a`, signed zeros and NaN included
    #[inline(always)]
    fn neg(self, a: Self::F32) -> Self::F32 {
        self.bits_to_f32(self.xor_i32(self.bits(a), self.splat_i32(i32::MIN)))
    }

    /// `|a|`
    #[inline(always)]
    fn abs(self, a: Self::F32) -> Self::F32 {
        self.bits_to_f32(self.and_i32(self.bits(a), self.splat_i32(i32::MAX)))
    }

    /// The magnitude of `a` with the sign of `b`
    #[inline(always)]
    fn copysign(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        let sign = self.and_i32(self.bits(b), self.splat_i32(i32::MIN));
        let magnitude = self.and_i32(self.bits(a), self.splat_i32(i32::MAX));
        self.bits_to_f32(self.or_i32(sign, magnitude))
    }

    /// `a > b`
    #[inline(always)]
    fn gt(self, a: Self::F32, b: Self::F32) -> Self::Mask {
        self.lt(b, a)
    }

    /// `a >= b`
    #[inline(always)]
    fn ge(self, a: Self::F32, b: Self::F32) -> Self::Mask {
        self.le(b, a)
    }
}
