//! Quantised operators of `com.microsoft`: floats between a dequantisation and a quantisation, which the engine's passes
//! bring back to bytes where there is a kernel, and products of bytes.
//!
//! A byte may be one off where ONNX Runtime rounds a product of scales and this rounds each of them.

mod elementwise;
mod embedding;
mod image;
mod linear;
mod product;
mod recurrent;

use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Shape};

use super::MICROSOFT;

/// The tables of this folder.
pub const TABLES: [&[OpDef]; 6] =
    [elementwise::OPS, embedding::OPS, image::OPS, linear::OPS, product::OPS, recurrent::OPS];

const BYTES: TypeSet = TypeSet::of(&[DType::U8, DType::I8]);
const BYTE: Param = Param::required(1, BYTES);
const SCALE: Param = Param::required(0, types::F32_ONLY);
const ZERO: Param = Param::optional(1, BYTES);

/// A scale or zero point as a scalar, where it is a constant vector of one number.
fn scalar(f: &mut FunctionBody<'_>, id: ValueId) -> Result<ValueId, LoadError> {
    match f.constant(id) {
        Some(tensor) if tensor.shape().rank() > 0 && tensor.shape().elements() == 1 => {
            let tensor = tensor.clone().reshaped(Shape::SCALAR)?;
            Ok(f.constant_of(tensor))
        }
        _ => Ok(id),
    }
}

/// The numbers that bytes stand for; `at` are the inputs with bytes, scale and zero point.
fn real(f: &mut FunctionBody<'_>, at: [usize; 3]) -> Result<ValueId, LoadError> {
    let (x, scale, zero) = (f.input(at[0])?, f.input(at[1])?, f.optional(at[2]));
    real_of(f, x, scale, zero)
}

fn real_of(
    f: &mut FunctionBody<'_>,
    x: ValueId,
    scale: ValueId,
    zero: Option<ValueId>,
) -> Result<ValueId, LoadError> {
    let scale = scalar(f, scale)?;
    let zero = match zero {
        Some(zero) => Some(scalar(f, zero)?),
        None => None,
    };
    only(f, "DequantizeLinear", vec![Some(x), Some(scale), zero], &[])
}

/// Bytes of the type of value `like` that stand for `x`, by the scale and zero point among the inputs.
fn bytes(
    f: &mut FunctionBody<'_>,
    x: ValueId,
    [scale, zero]: [usize; 2],
    like: ValueId,
) -> Result<ValueId, LoadError> {
    let scale = f.input(scale)?;
    let scale = scalar(f, scale)?;
    let zero = match f.optional(zero) {
        Some(zero) => scalar(f, zero)?,
        None if f.dtype(like) == DType::I8 => f.scalar(0i8)?,
        None => f.scalar(0u8)?,
    };
    f.call("QuantizeLinear", &[x, scale, zero], &[])
}

/// The one result of an operator with optional inputs.
fn only(
    f: &mut FunctionBody<'_>,
    op: &str,
    inputs: Vec<Option<ValueId>>,
    attributes: &[(&str, AttributeValue)],
) -> Result<ValueId, LoadError> {
    let result = f.call_for(op, inputs, attributes, &[true])?.into_iter().next().flatten();
    result.ok_or_else(|| f.refuse(format!("{op} has no result")))
}
