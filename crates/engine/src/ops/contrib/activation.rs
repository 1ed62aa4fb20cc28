//! BiasGelu, BiasSoftmax, FastGelu, Gelu, QuickGelu, Trilu, and the activations that fused operators name.

use super::MICROSOFT;
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, types};
use stead_onnx::AttributeValue;

const X: Param = Param::required(1, types::FLOAT);
const LIKE: &[Out] = &[Out::Like(0)];

/// BiasGelu, BiasSoftmax, FastGelu, Gelu, QuickGelu, Trilu.
pub const OPS: &[OpDef] = &[
    OpDef::function("BiasGelu", &[X, X], LIKE, bias_gelu).domain(MICROSOFT),
    OpDef::function("BiasSoftmax", &[X, X], LIKE, bias_softmax).domain(MICROSOFT),
    OpDef::function("FastGelu", &[X, Param::optional(1, types::FLOAT)], LIKE, fast_gelu)
        .domain(MICROSOFT),
    OpDef::function("Gelu", &[X], LIKE, gelu).domain(MICROSOFT),
    OpDef::function("QuickGelu", &[X], LIKE, quick_gelu).domain(MICROSOFT),
    OpDef::function(
        "Trilu",
        &[Param::required(1, types::NUMERIC.or(types::BOOL)), Param::optional(0, types::I64_ONLY)],
        LIKE,
        trilu,
    )
    .domain(MICROSOFT),
];

fn gelu(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let x = f.input(0)?;
    let y = f.call("Gelu", &[x], &[])?;
    f.give(0, y);
    Ok(())
}

fn bias_gelu(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (x, bias) = (f.input(0)?, f.input(1)?);
    let sum = f.call("Add", &[x, bias], &[])?;
    let y = f.call("Gelu", &[sum], &[])?;
    f.give(0, y);
    Ok(())
}

fn fast_gelu(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let mut x = f.input(0)?;
    if let Some(bias) = f.optional(1) {
        x = f.call("Add", &[x, bias], &[])?;
    }
    let tanh = AttributeValue::String(b"tanh".to_vec());
    let y = f.call("Gelu", &[x], &[("approximate", tanh)])?;
    f.give(0, y);
    Ok(())
}

/// `x * sigmoid(alpha x)`.
fn quick_gelu(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let x = f.input(0)?;
    let alpha = f.attributes().float_or("alpha", 1.702)?;
    let y = f.call("Swish", &[x], &[("alpha", AttributeValue::Float(alpha))])?;
    f.give(0, y);
    Ok(())
}

/// The softmax of the sum over all dimensions from `axis` on together, as Softmax was before opset 13.
fn bias_softmax(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (x, bias) = (f.input(0)?, f.input(1)?);
    let axis = f.attributes().int_or("axis", 1)?;
    // Says which dimensions of the bias are one; its shape, which has all dimensions, says it too.
    f.attributes().int("is_inner_broadcast")?;
    let sum = f.call("Add", &[x, bias], &[])?;
    let last = [("axis", AttributeValue::Int(-1))];
    let y = if axis == -1 {
        f.call("Softmax", &[sum], &last)?
    } else {
        let rows = f.call("Flatten", &[sum], &[("axis", AttributeValue::Int(axis))])?;
        let shares = f.call("Softmax", &[rows], &last)?;
        let shape = f.call("Shape", &[sum], &[])?;
        f.call("Reshape", &[shares, shape], &[])?
    };
    f.give(0, y);
    Ok(())
}

fn trilu(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (x, k) = (f.input(0)?, f.optional(1));
    let upper = AttributeValue::Int(f.attributes().int_or("upper", 1)?);
    let y = f.call_for("Trilu", vec![Some(x), k], &[("upper", upper)], &[true])?;
    if let Some(y) = y.into_iter().next().flatten() {
        f.give(0, y);
    }
    Ok(())
}

/// `x` through the activation that an attribute names; parameters that are absent are those of the operator of that name.
///
/// # Errors
/// [`LoadError::Node`] for a name or a number of parameters that is not known.
pub(super) fn activated(
    f: &mut FunctionBody<'_>,
    x: ValueId,
    name: &str,
    parameters: &[Option<f32>],
) -> Result<ValueId, LoadError> {
    let names: &[&str] = match name {
        "" => return Ok(x),
        "Relu" | "Sigmoid" | "Tanh" | "Softplus" | "Softsign" | "HardSwish" => &[],
        "LeakyRelu" | "Elu" | "ThresholdedRelu" => &["alpha"],
        "HardSigmoid" => &["alpha", "beta"],
        "Clip" => {
            let &[Some(low), Some(high), ..] = parameters else {
                return Err(f.refuse("activation Clip takes two parameters"));
            };
            let (low, high) = (f.number(low.into(), x)?, f.number(high.into(), x)?);
            return f.call("Clip", &[x, low, high], &[]);
        }
        other => return Err(f.refuse(format!("activation \"{other}\" is not supported"))),
    };
    let given = names.iter().zip(parameters);
    let attributes: Vec<_> =
        given.filter_map(|(name, v)| v.map(|v| (*name, AttributeValue::Float(v)))).collect();
    f.call(name, &[x], &attributes)
}
