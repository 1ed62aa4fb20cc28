//! Activation functions.

use super::unary::{map, map_step, sign};
use crate::error::BuildError;
use crate::ops::cast::cast_step;
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::elementwise::{FloatLane, FloatOp, Shaped, SignOp};
use stead_kernels::gemm::Activation;
use stead_kernels::unary::UnaryOp;
use stead_tensor::DType;

const FLOAT: &[Param] = &[Param::required(1, types::FLOAT)];
const NUMBER: &[Param] = &[Param::required(1, types::NUMERIC)];
const LIKE: &[Out] = &[Out::Like(0)];

/// Celu, Elu, Gelu, HardSigmoid, HardSwish, LeakyRelu, Mish, Relu, Selu, Shrink, Sigmoid, Softplus, Swish,
/// Tanh, ThresholdedRelu.
pub const OPS: &[OpDef] = &[
    OpDef::new("Relu", NUMBER, LIKE, |_| sign(SignOp::Relu)),
    OpDef::new("Sigmoid", FLOAT, LIKE, |_| activation(Activation::Sigmoid)),
    OpDef::new("Tanh", FLOAT, LIKE, |_| activation(Activation::Tanh)),
    OpDef::new("Softplus", FLOAT, LIKE, |_| activation(Activation::Softplus)),
    OpDef::new("Mish", FLOAT, LIKE, |_| activation(Activation::Mish)).since(18),
    OpDef::new("HardSwish", FLOAT, LIKE, |_| activation(Activation::HardSwish)).since(14),
    OpDef::new("LeakyRelu", FLOAT, LIKE, leaky_relu),
    OpDef::new("Elu", FLOAT, LIKE, elu),
    OpDef::new("HardSigmoid", FLOAT, LIKE, hard_sigmoid),
    OpDef::new("Swish", FLOAT, LIKE, swish).since(24),
    OpDef::new("Gelu", FLOAT, LIKE, gelu).since(20),
    OpDef::new("Selu", FLOAT, LIKE, selu),
    OpDef::new("Celu", FLOAT, LIKE, celu).since(12),
    OpDef::new("ThresholdedRelu", FLOAT, LIKE, thresholded).since(10),
    OpDef::new("Shrink", NUMBER, LIKE, shrink).since(9),
];

fn activation(f: Activation) -> Result<OpPlan, BuildError> {
    map(UnaryOp::Activation(f))
}

fn shaped(f: Shaped) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| map_step(cx, FloatOp::Shaped(f)))
}

fn leaky_relu(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    activation(Activation::LeakyRelu { alpha: spec.attributes().float_or("alpha", 0.01)? })
}

fn elu(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    activation(Activation::Elu { alpha: spec.attributes().float_or("alpha", 1.0)? })
}

fn hard_sigmoid(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    activation(Activation::HardSigmoid {
        alpha: spec.attributes().float_or("alpha", 0.2)?,
        beta: spec.attributes().float_or("beta", 0.5)?,
    })
}

fn swish(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let alpha = spec.attributes().float_or("alpha", 1.0)?;
    activation(if alpha == 1.0 { Activation::Silu } else { Activation::Swish { alpha } })
}

fn gelu(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    activation(match spec.attributes().string_or("approximate", "none")? {
        "none" => Activation::GeluErf,
        "tanh" => Activation::GeluTanh,
        other => {
            return Err(BuildError::unsupported(format!(
                "approximate is \"{other}\"; supported: none tanh"
            )));
        }
    })
}

/// The defaults are the f32 numbers next to those of Klambauer et al., "Self-Normalizing Neural Networks",
/// 2017, as the operator's definition has them.
fn selu(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    shaped(Shaped::Selu {
        alpha: spec.attributes().float_or("alpha", 1.673_263_2)?,
        gamma: spec.attributes().float_or("gamma", 1.050_701)?,
    })
}

fn celu(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    shaped(Shaped::Celu { alpha: spec.attributes().float_or("alpha", 1.0)? })
}

fn thresholded(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    shaped(Shaped::Thresholded { alpha: spec.attributes().float_or("alpha", 1.0)? })
}

fn shrink(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let f = Shaped::Shrink {
        bias: spec.attributes().float_or("bias", 0.0)?,
        lambd: spec.attributes().float_or("lambd", 0.5)?,
    };
    if !spec.dtype()?.is_int() {
        return shaped(f);
    }
    // The bias may be a fraction: integers are moved in f64 and cut off towards zero.
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let n = shape.elements();
        let (x, out) = (cx.input(0)?, cx.output(0, shape)?);
        let (wide, moved) = (cx.temp_of::<f64>(n), cx.temp_of::<f64>(n));
        cast_step(cx, x, dtype, wide, DType::F64, n)?;
        let wide = cx.read_back(wide);
        cx.step("map", &[wide], &[moved], move |a| {
            let (x, out) = (a.read::<f64>(0)?, a.write::<f64>()?);
            FloatLane::map(a.isa, a.parallel, FloatOp::Shaped(f), x, out);
            Ok(())
        });
        let moved = cx.read_back(moved);
        cast_step(cx, moved, DType::F64, out, dtype, n)
    })
}
