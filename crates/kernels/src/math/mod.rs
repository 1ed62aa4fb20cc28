//! Elementary functions on vectors, the same code for every instruction set.
//!
//! Error bounds are over the whole range of finite arguments, measured against f64 by this
//! module's tests, with FMA; *ulp* is the distance between neighbouring f32 at the result.
//! Everything returns NaN for NaN, and keeps its *relative* accuracy near 0, where absolute
//! tolerances would hide a loss.

use crate::simd::Arithmetic;

mod erf;
mod exp;
mod log;
mod trig;

pub use erf::{erf, gelu_erf, gelu_tanh};
pub use exp::{exp, exp_m1, exp_normal, exp_shifted, exp_weight, sigmoid, silu, tanh};
pub use log::{log, log1p, softplus};
pub use trig::{TRIG_MAX, cos, sin};

/// `c[0] x^(N-1) + ... + c[N-1]` by Horner's rule.
#[inline(always)]
pub(crate) fn horner<S: Arithmetic, const N: usize>(s: S, x: S::F32, c: [f32; N]) -> S::F32 {
    let mut y = s.splat(c[0]);
    let mut i = 1;
    while i < N {
        y = s.fma(y, x, s.splat(c[i]));
        i += 1;
    }
    y
}

#[cfg(test)]
mod tests;
