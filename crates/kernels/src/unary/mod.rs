//! Functions of one operand over slices.

use crate::Isa;
use crate::gemm::Activation;
use crate::math::{self, TRIG_MAX};
use crate::scalar_math::Float;
use crate::simd::{Arithmetic, Simd, SimdOp, dispatch, map_row};

mod double;

pub use double::{eval_f64, map_f64};

/// A function of one number. Bounds of the error of the f32 forms stand at the functions of
/// [`crate::math`]; those without a vector form come from [`crate::scalar_math`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UnaryOp {
    /// |x|
    Abs,
    /// -x
    Neg,
    /// -1, 0 or 1; NaN for NaN
    Sign,
    /// To the next integer below
    Floor,
    /// To the next integer above
    Ceil,
    /// To the nearest integer, ties to even
    Round,
    /// Square root
    Sqrt,
    /// 1 / sqrt x
    Rsqrt,
    /// 1 / x
    Reciprocal,
    /// e^x
    Exp,
    /// e^x - 1
    ExpM1,
    /// Natural logarithm
    Log,
    /// ln(1 + x)
    Log1p,
    /// Error function
    Erf,
    /// Sine
    Sin,
    /// Cosine
    Cos,
    /// Tangent
    Tan,
    /// Inverse sine
    Asin,
    /// Inverse cosine
    Acos,
    /// Inverse tangent
    Atan,
    /// Hyperbolic sine
    Sinh,
    /// Hyperbolic cosine
    Cosh,
    /// Inverse hyperbolic sine
    Asinh,
    /// Inverse hyperbolic cosine
    Acosh,
    /// Inverse hyperbolic tangent
    Atanh,
    /// x / (1 + |x|)
    Softsign,
    /// An activation function
    Activation(Activation),
}

/// `dst[i] = op(src[i])`.
///
/// ```
/// use stead_kernels::unary::{UnaryOp, map_f32};
/// let mut y = [0.0; 2];
/// map_f32(stead_kernels::Isa::detect(), UnaryOp::Sqrt, &[4.0, 9.0], &mut y);
/// assert_eq!(y, [2.0, 3.0]);
/// ```
///
/// # Panics
/// If the lengths differ.
pub fn map_f32(isa: Isa, op: UnaryOp, src: &[f32], dst: &mut [f32]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    dispatch(isa, Map { op, src: src.as_ptr(), dst: dst.as_mut_ptr(), len: src.len() });
}

/// `x[i] = op(x[i])`.
pub fn map_f32_in_place(isa: Isa, op: UnaryOp, x: &mut [f32]) {
    let dst = x.as_mut_ptr();
    dispatch(isa, Map { op, src: dst, dst, len: x.len() });
}

/// `src` and `dst` are the same or do not overlap.
struct Map {
    op: UnaryOp,
    src: *const f32,
    dst: *mut f32,
    len: usize,
}

impl SimdOp for Map {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Map { op, src, dst, len } = self;
        macro_rules! vectors {
            (|$s:ident, $x:ident| $f:expr) => {
                // SAFETY: source and destination have `len` numbers.
                unsafe { map_row!(s, src, dst, len, |$s, $x| $f) }
            };
        }
        macro_rules! numbers {
            ($f:path) => {
                for i in 0..len {
                    // SAFETY: i < len.
                    unsafe { *dst.add(i) = $f(*src.add(i)) }
                }
            };
        }
        match op {
            UnaryOp::Abs => vectors!(|s, x| s.abs(x)),
            UnaryOp::Neg => vectors!(|s, x| s.neg(x)),
            UnaryOp::Sign => vectors!(|s, x| {
                let y = s.select(s.gt(x, s.zero()), s.splat(1.0), x);
                s.select(s.lt(x, s.zero()), s.splat(-1.0), y)
            }),
            UnaryOp::Floor => vectors!(|s, x| s.floor(x)),
            UnaryOp::Ceil => vectors!(|s, x| s.ceil(x)),
            UnaryOp::Round => vectors!(|s, x| s.round(x)),
            UnaryOp::Sqrt => vectors!(|s, x| s.sqrt(x)),
            UnaryOp::Rsqrt => vectors!(|s, x| s.div(s.splat(1.0), s.sqrt(x))),
            UnaryOp::Reciprocal => vectors!(|s, x| s.div(s.splat(1.0), x)),
            UnaryOp::Exp => vectors!(|s, x| math::exp(s, x)),
            UnaryOp::ExpM1 => vectors!(|s, x| math::exp_m1(s, x)),
            UnaryOp::Log => vectors!(|s, x| math::log(s, x)),
            UnaryOp::Log1p => vectors!(|s, x| math::log1p(s, x)),
            UnaryOp::Erf => vectors!(|s, x| math::erf(s, x)),
            UnaryOp::Softsign => vectors!(|s, x| s.div(x, s.add(s.splat(1.0), s.abs(x)))),
            // SAFETY: source and destination have `len` numbers.
            UnaryOp::Sin => unsafe { trig::<S, true>(s, src, dst, len) },
            // SAFETY: source and destination have `len` numbers.
            UnaryOp::Cos => unsafe { trig::<S, false>(s, src, dst, len) },
            UnaryOp::Tan => numbers!(Float::tan),
            UnaryOp::Asin => numbers!(Float::asin),
            UnaryOp::Acos => numbers!(Float::acos),
            UnaryOp::Atan => numbers!(Float::atan),
            UnaryOp::Sinh => numbers!(Float::sinh),
            UnaryOp::Cosh => numbers!(Float::cosh),
            UnaryOp::Asinh => numbers!(Float::asinh),
            UnaryOp::Acosh => numbers!(Float::acosh),
            UnaryOp::Atanh => numbers!(Float::atanh),
            UnaryOp::Activation(act) => {
                if act == Activation::None {
                    vectors!(|s, x| x);
                }
                crate::gemm::per_activation!(act, vectors);
            }
        }
    }
}

/// Sine or cosine; arguments beyond [`TRIG_MAX`] one by one.
///
/// # Safety
/// `src` and `dst` must have `len` numbers, and be the same or not overlap.
#[inline(always)]
unsafe fn trig<S: Simd, const SIN: bool>(s: S, src: *const f32, dst: *mut f32, len: usize) {
    let mut i = 0;
    while i < len {
        let n = (len - i).min(S::LANES);
        // SAFETY: i + n <= len.
        unsafe {
            let x = s.load_part_ptr(src.add(i), n);
            let y = if SIN { math::sin(s, x) } else { math::cos(s, x) };
            s.store_part_ptr(dst.add(i), y, n);
            if s.any(s.gt(s.abs(x), s.splat(TRIG_MAX))) {
                let mut lanes = [0.0f32; 16];
                s.store_ptr(lanes.as_mut_ptr(), x);
                for (j, x) in lanes.into_iter().enumerate().take(n) {
                    if x.abs() > TRIG_MAX {
                        *dst.add(i + j) = if SIN { Float::sin(x) } else { Float::cos(x) };
                    }
                }
            }
        }
        i += n;
    }
}

#[cfg(test)]
mod tests;
