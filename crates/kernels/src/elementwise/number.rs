//! The arithmetic of the plain element types.

use crate::scalar_math::Float;

/// A number that loops can be compiled for.
pub trait Number: Copy + PartialOrd + Send + Sync + 'static {
    /// Whether loops over this type are compiled for every instruction set. The others are rare in models and
    /// would only make the program larger.
    const COMMON: bool;
    /// 0
    const ZERO: Self;
    /// Sum; integers wrap
    fn plus(self, y: Self) -> Self;
    /// Difference; integers wrap
    fn minus(self, y: Self) -> Self;
    /// Product; integers wrap
    fn times(self, y: Self) -> Self;
    /// Quotient; of integers towards zero, 0 for division by zero
    fn over(self, y: Self) -> Self;
    /// `x - floor(x / y) * y`, with the sign of `y`; 0 for integers modulo zero
    fn modulo(self, y: Self) -> Self;
    /// `x - trunc(x / y) * y`, with the sign of `x`; 0 for integers modulo zero
    fn remainder(self, y: Self) -> Self;
    /// |x|; the smallest signed integer stays
    fn magnitude(self) -> Self;
    /// -x; integers wrap
    fn negated(self) -> Self;
    /// -1, 0 or 1; NaN for NaN
    fn sign(self) -> Self;

    /// The smaller; NaN if either is
    #[inline(always)]
    #[allow(clippy::eq_op)] // only NaN differs from itself
    fn smaller(self, y: Self) -> Self {
        if self < y || self != self { self } else { y }
    }
    /// The larger; NaN if either is
    #[inline(always)]
    #[allow(clippy::eq_op)] // only NaN differs from itself
    fn larger(self, y: Self) -> Self {
        if self > y || self != self { self } else { y }
    }
    /// `x` if it is not negative, else `slope * x`
    #[inline(always)]
    fn prelu(self, slope: Self) -> Self {
        if self < Self::ZERO { self.times(slope) } else { self }
    }
}

macro_rules! integers {
    ($($t:ty, $common:literal, $abs:expr, $sign:expr;)*) => {$(
        impl Number for $t {
            const COMMON: bool = $common;
            const ZERO: Self = 0;
            #[inline(always)]
            fn plus(self, y: Self) -> Self { self.wrapping_add(y) }
            #[inline(always)]
            fn minus(self, y: Self) -> Self { self.wrapping_sub(y) }
            #[inline(always)]
            fn times(self, y: Self) -> Self { self.wrapping_mul(y) }
            #[inline(always)]
            fn over(self, y: Self) -> Self { if y == 0 { 0 } else { self.wrapping_div(y) } }
            #[inline(always)]
            #[allow(unused_comparisons)] // of unsigned numbers with 0
            fn modulo(self, y: Self) -> Self {
                let r = self.remainder(y);
                if r != 0 && (r < 0) != (y < 0) { r.wrapping_add(y) } else { r }
            }
            #[inline(always)]
            fn remainder(self, y: Self) -> Self { if y == 0 { 0 } else { self.wrapping_rem(y) } }
            #[inline(always)]
            fn magnitude(self) -> Self { $abs(self) }
            #[inline(always)]
            fn negated(self) -> Self { self.wrapping_neg() }
            #[inline(always)]
            fn sign(self) -> Self { $sign(self) }
        }
    )*};
}

integers! {
    i8, false, i8::wrapping_abs, i8::signum;
    i16, false, i16::wrapping_abs, i16::signum;
    i32, true, i32::wrapping_abs, i32::signum;
    i64, true, i64::wrapping_abs, i64::signum;
    u8, false, core::convert::identity, |x: u8| x.min(1);
    u16, false, core::convert::identity, |x: u16| x.min(1);
    u32, false, core::convert::identity, |x: u32| x.min(1);
    u64, false, core::convert::identity, |x: u64| x.min(1);
}

macro_rules! floats {
    ($($t:ty, $common:literal;)*) => {$(
        impl Number for $t {
            const COMMON: bool = $common;
            const ZERO: Self = 0.0;
            #[inline(always)]
            fn plus(self, y: Self) -> Self { self + y }
            #[inline(always)]
            fn minus(self, y: Self) -> Self { self - y }
            #[inline(always)]
            fn times(self, y: Self) -> Self { self * y }
            #[inline(always)]
            fn over(self, y: Self) -> Self { self / y }
            #[inline(always)]
            fn modulo(self, y: Self) -> Self {
                let r = Float::fmod(self, y);
                if r == 0.0 {
                    (0.0 as $t).copysign(y)
                } else if (r < 0.0) != (y < 0.0) {
                    r + y
                } else {
                    r
                }
            }
            #[inline(always)]
            fn remainder(self, y: Self) -> Self { Float::fmod(self, y) }
            #[inline(always)]
            fn magnitude(self) -> Self { self.abs() }
            #[inline(always)]
            fn negated(self) -> Self { -self }
            #[inline(always)]
            fn sign(self) -> Self {
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else { self }
            }
        }
    )*};
}

floats! {
    f32, true;
    f64, false;
}
