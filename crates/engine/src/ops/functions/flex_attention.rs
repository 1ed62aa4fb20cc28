//! FlexAttention: attention whose scores and probabilities pass through graphs of the model.

use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::cast::dtype_of;
use crate::ops::{OpDef, Out, Param, types};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const TENSOR: Param = Param::required(1, types::FLOAT);

/// FlexAttention.
pub const OPS: &[OpDef] =
    &[OpDef::function("FlexAttention", &[TENSOR, TENSOR, TENSOR], &[Out::Like(0)], write)
        .domain("ai.onnx.preview")];

/// `softmax(score_mod(scale * Q K')) V` over `[batch, heads, positions, width]`, the probabilities through `prob_mod`.
///
/// Query heads that share a head of K and V follow each other, so that their positions are taken for positions of one
/// head: nothing is repeated.
fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (q, k, v) = (f.input(0)?, f.input(1)?, f.input(2)?);
    let own = f.dtype(q);
    let default = if own == DType::F64 { DType::F64 } else { DType::F32 };
    let precision = match f.attributes().int("softmax_precision")? {
        Some(number) => {
            dtype_of(number, "softmax_precision").map_err(|reason| f.refuse(reason.to_string()))?
        }
        None => default,
    };
    let scale = f.attributes().float("scale")?;
    let (batch, heads) = (size(f, q, 0)?, size(f, k, 1)?);
    let (width, rest) = (size(f, q, 3)?, f.ints(&[-1])?);
    let grouped = joined(f, &[batch, heads, rest, width])?;
    let rows = f.call("Reshape", &[q, grouped], &[])?;
    let scores = scores(f, rows, k, width, scale)?;
    let scores = cast(f, scores, precision)?;
    let (queries, keys) = (shape(f, q, 0, 3)?, size(f, k, 2)?);
    let per_head = joined(f, &[queries, keys])?;
    let mut scores = f.call("Reshape", &[scores, per_head], &[])?;
    if let Some(changed) = f.inlined("score_mod", &[scores])? {
        scores = only(f, "score_mod", &changed, scores)?;
    }
    let axis = [("axis", AttributeValue::Int(-1))];
    let mut shares = f.call("Softmax", &[scores], &axis)?;
    if let Some(changed) = f.inlined("prob_mod", &[shares])? {
        shares = only(f, "prob_mod", &changed, shares)?;
    }
    let grouped = joined(f, &[batch, heads, rest, keys])?;
    let shares = f.call("Reshape", &[shares, grouped], &[])?;
    let v_wide = cast(f, v, precision)?;
    let sums = f.call("MatMul", &[shares, v_wide], &[])?;
    let v_width = size(f, v, 3)?;
    let result = joined(f, &[queries, v_width])?;
    let sums = f.call("Reshape", &[sums, result], &[])?;
    let sums = cast(f, sums, own)?;
    f.give(0, sums);
    Ok(())
}

/// Both operands are scaled by the root of the scale, as the standard does: half floats overflow less.
fn scores(
    f: &mut FunctionBody<'_>,
    q: ValueId,
    k: ValueId,
    width: ValueId,
    scale: Option<f32>,
) -> Result<ValueId, LoadError> {
    let own = f.dtype(q);
    let single = if own == DType::F64 { DType::F64 } else { DType::F32 };
    let (q, k) = match scale {
        // A negative scale has no root.
        Some(scale) if scale < 0.0 => {
            let factor = f.number(scale.into(), q)?;
            (f.call("Mul", &[q, factor], &[])?, k)
        }
        scale => {
            let root = match scale {
                Some(scale) => f.number(f64::from(scale).sqrt(), q)?,
                None => {
                    let width = cast(f, width, single)?;
                    let exponent = f.number(-0.25, width)?;
                    let root = f.call("Pow", &[width, exponent], &[])?;
                    cast(f, root, own)?
                }
            };
            (f.call("Mul", &[q, root], &[])?, f.call("Mul", &[k, root], &[])?)
        }
    };
    let perm = AttributeValue::Ints(vec![0, 1, 3, 2]);
    let keys = f.call("Transpose", &[k], &[("perm", perm)])?;
    f.call("MatMul", &[q, keys], &[])
}

/// The one output of a graph, of the type of its input.
fn only(
    f: &FunctionBody<'_>,
    name: &str,
    outputs: &[ValueId],
    input: ValueId,
) -> Result<ValueId, LoadError> {
    match *outputs {
        [one] if f.dtype(one) == f.dtype(input) => Ok(one),
        [one] => Err(f.refuse(format!("{name} turns {} into {}", f.dtype(input), f.dtype(one)))),
        _ => Err(f.refuse(format!("{name} has {} outputs, 1 expected", outputs.len()))),
    }
}

fn cast(f: &mut FunctionBody<'_>, x: ValueId, to: DType) -> Result<ValueId, LoadError> {
    if f.dtype(x) == to {
        return Ok(x);
    }
    f.call("Cast", &[x], &[("to", AttributeValue::Int(to.onnx_number().into()))])
}

/// The sizes of axes `start` to `end`, as a vector.
fn shape(f: &mut FunctionBody<'_>, x: ValueId, start: i64, end: i64) -> Result<ValueId, LoadError> {
    let range = [("start", AttributeValue::Int(start)), ("end", AttributeValue::Int(end))];
    f.call("Shape", &[x], &range)
}

fn size(f: &mut FunctionBody<'_>, x: ValueId, axis: i64) -> Result<ValueId, LoadError> {
    shape(f, x, axis, axis + 1)
}

fn joined(f: &mut FunctionBody<'_>, parts: &[ValueId]) -> Result<ValueId, LoadError> {
    f.call("Concat", parts, &[("axis", AttributeValue::Int(0))])
}
