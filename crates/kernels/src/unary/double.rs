//! The functions in f64, one number at a time.

use super::UnaryOp;
use crate::gemm::Activation;
use crate::scalar_math::Float;

/// `dst[i] = op(src[i])`.
///
/// # Panics
/// If the lengths differ.
pub fn map_f64(op: UnaryOp, src: &[f64], dst: &mut [f64]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    for (x, y) in src.iter().zip(dst) {
        *y = eval_f64(op, *x);
    }
}

/// `op(x)` in f64, within 2 ulp.
pub fn eval_f64(op: UnaryOp, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + Float::exp(-x));
    match op {
        UnaryOp::Abs => x.abs(),
        UnaryOp::Neg => -x,
        UnaryOp::Sign if x > 0.0 => 1.0,
        UnaryOp::Sign if x < 0.0 => -1.0,
        UnaryOp::Sign => x,
        UnaryOp::Floor => Float::floor(x),
        UnaryOp::Ceil => Float::ceil(x),
        UnaryOp::Round => Float::round_even(x),
        UnaryOp::Sqrt => Float::sqrt(x),
        UnaryOp::Rsqrt => 1.0 / Float::sqrt(x),
        UnaryOp::Reciprocal => 1.0 / x,
        UnaryOp::Exp => Float::exp(x),
        UnaryOp::ExpM1 => Float::exp_m1(x),
        UnaryOp::Log => Float::ln(x),
        UnaryOp::Log1p => Float::ln_1p(x),
        UnaryOp::Erf => Float::erf(x),
        UnaryOp::Sin => Float::sin(x),
        UnaryOp::Cos => Float::cos(x),
        UnaryOp::Tan => Float::tan(x),
        UnaryOp::Asin => Float::asin(x),
        UnaryOp::Acos => Float::acos(x),
        UnaryOp::Atan => Float::atan(x),
        UnaryOp::Sinh => Float::sinh(x),
        UnaryOp::Cosh => Float::cosh(x),
        UnaryOp::Asinh => Float::asinh(x),
        UnaryOp::Acosh => Float::acosh(x),
        UnaryOp::Atanh => Float::atanh(x),
        UnaryOp::Softsign => x / (1.0 + x.abs()),
        UnaryOp::Activation(act) => match act {
            Activation::None => x,
            Activation::Relu => limit(x, 0.0, f64::INFINITY),
            Activation::Clip { lo, hi } => limit(x, lo.into(), hi.into()),
            Activation::LeakyRelu { alpha } if x < 0.0 => x * f64::from(alpha),
            Activation::Elu { alpha } if x < 0.0 => Float::exp_m1(x) * f64::from(alpha),
            Activation::LeakyRelu { .. } | Activation::Elu { .. } => x,
            Activation::Sigmoid => sigmoid(x),
            Activation::Tanh => Float::tanh(x),
            Activation::GeluErf => {
                let erf = Float::erf(x * core::f64::consts::FRAC_1_SQRT_2);
                x.max(f64::MIN) * 0.5 * (1.0 + erf)
            }
            Activation::GeluTanh => {
                const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;
                let arg = SQRT_2_OVER_PI * (x + 0.044715 * x * x * x);
                x.max(f64::MIN) * 0.5 * (1.0 + Float::tanh(arg))
            }
            Activation::Silu => swish(x, 1.0),
            Activation::Swish { alpha } => swish(x, alpha.into()),
            Activation::HardSwish => x * limit(x / 6.0 + 0.5, 0.0, 1.0),
            Activation::HardSigmoid { alpha, beta } => {
                limit(f64::from(alpha) * x + f64::from(beta), 0.0, 1.0)
            }
            Activation::Softplus => softplus(x),
            Activation::Mish => x * Float::tanh(softplus(x)),
        },
    }
}

/// `x` within bounds; NaN stays.
fn limit(x: f64, lo: f64, hi: f64) -> f64 {
    if x < lo {
        lo
    } else if x > hi {
        hi
    } else {
        x
    }
}

fn swish(x: f64, alpha: f64) -> f64 {
    // Minus infinity times 0 would be NaN.
    let gate = 1.0 / (1.0 + Float::exp(-alpha * x));
    if gate == 0.0 { 0.0 } else { x * gate }
}

fn softplus(x: f64) -> f64 {
    limit(x, 0.0, f64::INFINITY) + Float::ln_1p(Float::exp(-x.abs()))
}
