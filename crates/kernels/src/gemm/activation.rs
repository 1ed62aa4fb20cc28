//! Activation functions that a product or convolution can apply to its result.

use crate::Isa;
use crate::simd::{Arithmetic, Simd, SimdOp, dispatch, map_row};

/// An element-wise function, with ONNX's meaning of each name and its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Activation {
    /// x
    #[default]
    None,
    /// max(0, x)
    Relu,
    /// min(hi, max(lo, x))
    Clip {
        /// Lower bound
        lo: f32,
        /// Upper bound
        hi: f32,
    },
    /// x if x >= 0, else alpha x
    LeakyRelu {
        /// Slope below 0
        alpha: f32,
    },
    /// x if x >= 0, else alpha (e^x - 1)
    Elu {
        /// Limit below 0, negated
        alpha: f32,
    },
    /// 1 / (1 + e^-x)
    Sigmoid,
    /// tanh x
    Tanh,
    /// x (1 + erf(x / sqrt 2)) / 2
    GeluErf,
    /// x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2
    GeluTanh,
    /// x sigmoid(x)
    Silu,
    /// x sigmoid(alpha x); 1.702 for QuickGelu
    Swish {
        /// Steepness
        alpha: f32,
    },
    /// x max(0, min(1, x / 6 + 1 / 2))
    HardSwish,
    /// max(0, min(1, alpha x + beta))
    HardSigmoid {
        /// Slope
        alpha: f32,
        /// Offset
        beta: f32,
    },
    /// ln(1 + e^x)
    Softplus,
    /// x tanh(ln(1 + e^x))
    Mish,
}

impl Activation {
    /// The bounds, if the function only limits its argument.
    #[inline(always)]
    pub(crate) fn bounds(self) -> Option<(f32, f32)> {
        match self {
            Activation::None => Some((f32::NEG_INFINITY, f32::INFINITY)),
            Activation::Relu => Some((0.0, f32::INFINITY)),
            Activation::Clip { lo, hi } => Some((lo, hi)),
            _ => None,
        }
    }
}

/// Calls `$each!(|s, v| f)` for the activation: `f` is its function of what `v` is bound to, in the arithmetic that `s` is bound to.
macro_rules! per_activation {
    ($act:expr, $each:ident) => {{
        match $act {
            $crate::gemm::Activation::None => {}
            $crate::gemm::Activation::Relu => $each!(|s, v| s.max(s.zero(), v)),
            $crate::gemm::Activation::Clip { lo, hi } => {
                $each!(|s, v| s.min(s.splat(hi), s.max(s.splat(lo), v)))
            }
            $crate::gemm::Activation::LeakyRelu { alpha } => {
                $each!(|s, v| s.select(s.lt(v, s.zero()), s.mul(v, s.splat(alpha)), v))
            }
            $crate::gemm::Activation::Elu { alpha } => $each!(|s, v| s.select(
                s.lt(v, s.zero()),
                s.mul($crate::math::exp_m1(s, v), s.splat(alpha)),
                v
            )),
            $crate::gemm::Activation::Sigmoid => $each!(|s, v| $crate::math::sigmoid(s, v)),
            $crate::gemm::Activation::Tanh => $each!(|s, v| $crate::math::tanh(s, v)),
            $crate::gemm::Activation::GeluErf => $each!(|s, v| $crate::math::gelu_erf(s, v)),
            $crate::gemm::Activation::GeluTanh => $each!(|s, v| $crate::math::gelu_tanh(s, v)),
            $crate::gemm::Activation::Silu => $each!(|s, v| $crate::math::silu(s, v)),
            $crate::gemm::Activation::Swish { alpha } => $each!(|s, v| {
                // Minus infinity times 0 would be NaN.
                let x = s.max(s.splat(f32::MIN), v);
                s.mul(x, $crate::math::sigmoid(s, s.mul(x, s.splat(alpha))))
            }),
            $crate::gemm::Activation::HardSwish => $each!(|s, v| {
                let gate = s.fma(v, s.splat(1.0 / 6.0), s.splat(0.5));
                s.mul(v, s.max(s.zero(), s.min(s.splat(1.0), gate)))
            }),
            $crate::gemm::Activation::HardSigmoid { alpha, beta } => $each!(|s, v| {
                let gate = s.fma(v, s.splat(alpha), s.splat(beta));
                s.max(s.zero(), s.min(s.splat(1.0), gate))
            }),
            $crate::gemm::Activation::Softplus => $each!(|s, v| $crate::math::softplus(s, v)),
            $crate::gemm::Activation::Mish => {
                $each!(|s, v| s.mul(v, $crate::math::tanh(s, $crate::math::softplus(s, v))))
            }
        }
    }};
}
pub(crate) use per_activation;

/// The function of one vector. In a loop the choice is made again for each vector: use
/// [`activate_slice`] for more than a few.
#[inline(always)]
pub fn activate<S: Simd>(s: S, act: Activation, x: S::F32) -> S::F32 {
    let mut y = x;
    macro_rules! one {
        (|$s:ident, $v:ident| $f:expr) => {{
            let ($s, $v) = (s, x);
            y = $f;
        }};
    }
    per_activation!(act, one);
    y
}

/// Applies the function to `rows` runs of `cols` numbers, `stride` apart.
pub(crate) struct ActivateRows {
    pub act: Activation,
    pub data: *mut f32,
    pub rows: usize,
    pub cols: usize,
    pub stride: usize,
}

impl SimdOp for ActivateRows {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        macro_rules! each {
            (|$s:ident, $v:ident| $f:expr) => {
                for i in 0..self.rows {
                    // SAFETY: whoever builds the struct owns `rows` runs of `cols` numbers.
                    unsafe {
                        let row = self.data.add(i * self.stride);
                        map_row!(s, row, row, self.cols, |$s, $v| $f);
                    }
                }
            };
        }
        per_activation!(self.act, each);
    }
}

/// Applies the function to every element in place.
pub fn activate_slice(isa: Isa, act: Activation, x: &mut [f32]) {
    let cols = x.len();
    dispatch(isa, ActivateRows { act, data: x.as_mut_ptr(), rows: 1, cols, stride: cols });
}
