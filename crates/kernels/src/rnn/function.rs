//! The activation functions of recurrent cells.

use crate::Isa;
use crate::gemm::{Activation, activate_slice};
use crate::simd::{Simd, SimdOp, dispatch};

/// A function of ONNX's recurrent operators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Function {
    /// One that products know as well.
    Of(Activation),
    /// alpha x + beta
    Affine {
        /// Factor
        alpha: f32,
        /// Offset
        beta: f32,
    },
    /// x if x >= alpha, else 0
    ThresholdedRelu {
        /// Threshold
        alpha: f32,
    },
    /// alpha tanh(beta x)
    ScaledTanh {
        /// Factor of the result
        alpha: f32,
        /// Factor of the argument
        beta: f32,
    },
    /// x / (1 + |x|)
    Softsign,
}

impl Function {
    /// The logistic function.
    pub const SIGMOID: Function = Function::Of(Activation::Sigmoid);
    /// The hyperbolic tangent.
    pub const TANH: Function = Function::Of(Activation::Tanh);
}

/// Applies the function to every element, limited to `-clip..=clip` before.
pub(super) fn apply(isa: Isa, function: Function, clip: Option<f32>, x: &mut [f32]) {
    if let Some(clip) = clip {
        activate_slice(isa, Activation::Clip { lo: -clip, hi: clip }, x);
    }
    match function {
        Function::Of(activation) => activate_slice(isa, activation, x),
        Function::ScaledTanh { alpha, beta } => {
            dispatch(isa, Map(|x| x * beta, x));
            activate_slice(isa, Activation::Tanh, x);
            dispatch(isa, Map(|x| x * alpha, x));
        }
        Function::Affine { alpha, beta } => dispatch(isa, Map(|x| alpha * x + beta, x)),
        Function::ThresholdedRelu { alpha } => {
            dispatch(isa, Map(|x| if x >= alpha { x } else { 0.0 }, x));
        }
        Function::Softsign => dispatch(isa, Map(|x: f32| x / (1.0 + x.abs()), x)),
    }
}

struct Map<'a, F>(F, &'a mut [f32]);

impl<F: Fn(f32) -> f32> SimdOp for Map<'_, F> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for x in self.1 {
            *x = (self.0)(*x);
        }
    }
}
