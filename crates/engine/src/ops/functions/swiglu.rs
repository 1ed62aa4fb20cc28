//! SwiGLU: a gate through Swish, times another value.

use crate::error::LoadError;
use crate::ir::FunctionBody;
use crate::ops::{OpDef, Out, Param, types};
use stead_onnx::AttributeValue;

/// SwiGLU. Kernels of both operators run over the elements once each; the gate is the epilogue of the product that
/// makes it, where there is one.
pub const OPS: &[OpDef] = &[OpDef::function(
    "SwiGLU",
    &[Param::required(1, types::FLOAT), Param::required(1, types::FLOAT)],
    &[Out::Like(0)],
    write,
)
.since(28)];

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let alpha = f.attributes().float_or("alpha", 1.0)?;
    let (gate, value) = (f.input(0)?, f.input(1)?);
    let gate = f.call("Swish", &[gate], &[("alpha", AttributeValue::Float(alpha))])?;
    let product = f.call("Mul", &[gate, value], &[])?;
    f.give(0, product);
    Ok(())
}
