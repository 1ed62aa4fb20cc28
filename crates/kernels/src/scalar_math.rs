//! Elementary functions of single numbers, which `core` does not have.
//!
//! Within 1 ulp for most functions (the `libm` crate, a port of musl's). Vectors are an order of
//! magnitude faster: see [`crate::math`] and [`crate::unary`].

/// f32 or f64.
///
/// ```
/// use stead_kernels::scalar_math::Float;
/// assert_eq!(Float::sqrt(2.25f32), 1.5);
/// assert_eq!(Float::round_even(2.5f64), 2.0);
/// ```
pub trait Float: Copy + PartialOrd + Send + Sync {
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// The nearest number to `x`.
    fn of(x: f64) -> Self;
    /// The same number, exactly.
    fn wide(self) -> f64;
    /// Square root
    fn sqrt(self) -> Self;
    /// e^x
    fn exp(self) -> Self;
    /// 2^x
    fn exp2(self) -> Self;
    /// e^x - 1
    fn exp_m1(self) -> Self;
    /// Natural logarithm
    fn ln(self) -> Self;
    /// Logarithm to base 2
    fn log2(self) -> Self;
    /// Logarithm to base 10
    fn log10(self) -> Self;
    /// ln(1 + x)
    fn ln_1p(self) -> Self;
    /// x^y
    fn pow(self, y: Self) -> Self;
    /// Sine
    fn sin(self) -> Self;
    /// Cosine
    fn cos(self) -> Self;
    /// Tangent
    fn tan(self) -> Self;
    /// Inverse sine
    fn asin(self) -> Self;
    /// Inverse cosine
    fn acos(self) -> Self;
    /// Inverse tangent
    fn atan(self) -> Self;
    /// Angle of the point (x, self)
    fn atan2(self, x: Self) -> Self;
    /// Hyperbolic sine
    fn sinh(self) -> Self;
    /// Hyperbolic cosine
    fn cosh(self) -> Self;
    /// Hyperbolic tangent
    fn tanh(self) -> Self;
    /// Inverse hyperbolic sine
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent
    fn atanh(self) -> Self;
    /// Error function
    fn erf(self) -> Self;
    /// To the next integer below
    fn floor(self) -> Self;
    /// To the next integer above
    fn ceil(self) -> Self;
    /// To the next integer towards zero
    fn trunc(self) -> Self;
    /// To the nearest integer, ties to even (ONNX Round)
    fn round_even(self) -> Self;
    /// To the nearest integer, ties away from zero
    fn round_away(self) -> Self;
    /// C's `fmod`: the remainder with the sign of `self`
    fn fmod(self, y: Self) -> Self;
    /// `self * a + b`, rounded once
    fn fma(self, a: Self, b: Self) -> Self;
}

macro_rules! float {
    ($t:ty, $($name:ident($($arg:ident),*) = $f:path;)*) => {
        impl Float for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            #[inline]
            fn of(x: f64) -> $t { x as $t }
            #[inline]
            fn wide(self) -> f64 { f64::from(self) }
            $(#[inline]
            fn $name(self $(, $arg: $t)*) -> $t { $f(self $(, $arg)*) })*
        }
    };
}

float! { f32,
    sqrt() = libm::sqrtf; exp() = libm::expf; exp2() = libm::exp2f; exp_m1() = libm::expm1f;
    ln() = libm::logf; log2() = libm::log2f; log10() = libm::log10f; ln_1p() = libm::log1pf;
    pow(y) = libm::powf; sin() = libm::sinf; cos() = libm::cosf; tan() = libm::tanf;
    asin() = libm::asinf; acos() = libm::acosf; atan() = libm::atanf; atan2(x) = libm::atan2f;
    sinh() = libm::sinhf; cosh() = libm::coshf; tanh() = libm::tanhf; asinh() = libm::asinhf;
    acosh() = libm::acoshf; atanh() = libm::atanhf; erf() = libm::erff; floor() = libm::floorf;
    ceil() = libm::ceilf; trunc() = libm::truncf; round_even() = libm::rintf;
    round_away() = libm::roundf; fmod(y) = libm::fmodf; fma(a, b) = libm::fmaf;
}

float! { f64,
    sqrt() = libm::sqrt; exp() = libm::exp; exp2() = libm::exp2; exp_m1() = libm::expm1;
    ln() = libm::log; log2() = libm::log2; log10() = libm::log10; ln_1p() = libm::log1p;
    pow(y) = libm::pow; sin() = libm::sin; cos() = libm::cos; tan() = libm::tan;
    asin() = libm::asin; acos() = libm::acos; atan() = libm::atan; atan2(x) = libm::atan2;
    sinh() = libm::sinh; cosh() = libm::cosh; tanh() = libm::tanh; asinh() = libm::asinh;
    acosh() = libm::acosh; atanh() = libm::atanh; erf() = libm::erf; floor() = libm::floor;
    ceil() = libm::ceil; trunc() = libm::trunc; round_even() = libm::rint;
    round_away() = libm::round; fmod(y) = libm::fmod; fma(a, b) = libm::fma;
}
