//! Random operators: what they draw, of numbers of equal chance from 0 to below 1.

use crate::error::{BuildError, LoadError};
use crate::ir::{FunctionBody, ValueId};
use crate::ops::cast::dtype_of;
use crate::ops::{OpDef, Out, Param, types};
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::DType;

const LIKE: &[Param] = &[Param::required(0, types::ANY)];
const CHANCES: &[Param] = &[Param::required(0, types::FLOAT)];

/// RandomUniform, RandomNormal, what draws as many as another tensor has elements, Bernoulli, Multinomial.
pub const OPS: &[OpDef] = &[
    OpDef::function("RandomUniform", &[], &[Out::Of(said_or_single)], uniform),
    OpDef::function("RandomUniformLike", LIKE, &[Out::Of(said_or_same)], uniform),
    OpDef::function("RandomNormal", &[], &[Out::Of(said_or_single)], normal),
    OpDef::function("RandomNormalLike", LIKE, &[Out::Of(said_or_same)], normal),
    OpDef::function("Bernoulli", CHANCES, &[Out::Of(said_or_same)], bernoulli).since(15),
    OpDef::function("Multinomial", CHANCES, &[Out::Of(said_or_index)], multinomial),
];

fn said(attributes: &Attributes) -> Result<Option<DType>, BuildError> {
    attributes.int("dtype")?.map(|number| dtype_of(number, "dtype")).transpose()
}

fn said_or_single(attributes: &Attributes, _: &[Option<DType>]) -> Result<DType, BuildError> {
    Ok(said(attributes)?.unwrap_or(DType::F32))
}

fn said_or_same(attributes: &Attributes, inputs: &[Option<DType>]) -> Result<DType, BuildError> {
    Ok(said(attributes)?.or(inputs.first().copied().flatten()).unwrap_or(DType::F32))
}

fn said_or_index(attributes: &Attributes, _: &[Option<DType>]) -> Result<DType, BuildError> {
    Ok(said(attributes)?.unwrap_or(DType::I32))
}

/// The type of the result of the call, where that of its input is `like`.
fn result(f: &FunctionBody<'_>, like: DType) -> Result<DType, LoadError> {
    said(f.attributes()).map(|dtype| dtype.unwrap_or(like)).map_err(|e| f.refuse(e.to_string()))
}

/// Numbers in a shape, in double precision for a result of that; those of each `part` of a call are other ones.
fn drawn(
    f: &mut FunctionBody<'_>,
    shape: ValueId,
    wide: bool,
    part: i64,
) -> Result<ValueId, LoadError> {
    let dtype = if wide { DType::F64 } else { DType::F32 };
    let mut attributes = vec![
        ("dtype", AttributeValue::Int(dtype.onnx_number().into())),
        ("part", AttributeValue::Int(part)),
    ];
    if let Some(seed) = f.attributes().float("seed")? {
        attributes.push(("seed", AttributeValue::Float(seed)));
    }
    f.call_of(("stead", "Random"), vec![Some(shape)], &attributes)
}

/// The shape that the call names, or that of its input.
fn shape(f: &mut FunctionBody<'_>) -> Result<ValueId, LoadError> {
    match f.optional(0) {
        Some(like) => f.call("Shape", &[like], &[]),
        None => {
            let sizes = f.attributes().ints("shape")?;
            let sizes = sizes.ok_or_else(|| f.attributes().missing("shape"))?.to_vec();
            f.ints(&sizes)
        }
    }
}

/// The type that results without a said one have.
fn like(f: &FunctionBody<'_>) -> DType {
    f.optional(0).map_or(DType::F32, |input| f.dtype(input))
}

/// Gives a value as the result of the call, in its type.
fn give(f: &mut FunctionBody<'_>, value: ValueId, dtype: DType) -> Result<(), LoadError> {
    let to = AttributeValue::Int(dtype.onnx_number().into());
    let result = f.call("Cast", &[value], &[("to", to)])?;
    f.give(0, result);
    Ok(())
}

/// `value * factor + level`.
fn moved(
    f: &mut FunctionBody<'_>,
    value: ValueId,
    factor: f32,
    level: f32,
) -> Result<ValueId, LoadError> {
    let [factor, level] = [f.number(factor.into(), value)?, f.number(level.into(), value)?];
    let value = f.call("Mul", &[value, factor], &[])?;
    f.call("Add", &[value, level], &[])
}

fn uniform(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (low, high) = (f.attributes().float_or("low", 0.0)?, f.attributes().float_or("high", 1.0)?);
    let dtype = result(f, like(f))?;
    let shape = shape(f)?;
    let drawn = drawn(f, shape, dtype == DType::F64, 0)?;
    let value = moved(f, drawn, high - low, low)?;
    give(f, value, dtype)
}

/// By G. Box and M. Muller (1958), one number of each pair.
fn normal(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let mean = f.attributes().float_or("mean", 0.0)?;
    let scale = f.attributes().float_or("scale", 1.0)?;
    let dtype = result(f, like(f))?;
    let shape = shape(f)?;
    let wide = dtype == DType::F64;
    let (near, turn) = (drawn(f, shape, wide, 0)?, drawn(f, shape, wide, 1)?);
    // Above 0, of which there is no logarithm, up to 1.
    let near = moved(f, near, -1.0, 1.0)?;
    let near = f.call("Log", &[near], &[])?;
    let minus_two = f.number(-2.0, near)?;
    let near = f.call("Mul", &[near, minus_two], &[])?;
    let near = f.call("Sqrt", &[near], &[])?;
    let full = f.number(std::f64::consts::TAU, turn)?;
    let turn = f.call("Mul", &[turn, full], &[])?;
    let turn = f.call("Cos", &[turn], &[])?;
    let value = f.call("Mul", &[near, turn], &[])?;
    let value = moved(f, value, scale, mean)?;
    give(f, value, dtype)
}

/// 1 with the chance that the input says, else 0.
fn bernoulli(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let chances = f.input(0)?;
    let dtype = result(f, f.dtype(chances))?;
    let shape = shape(f)?;
    let wide = f.dtype(chances) == DType::F64;
    let drawn = drawn(f, shape, wide, 0)?;
    let to = AttributeValue::Int(f.dtype(drawn).onnx_number().into());
    let chances = f.call("Cast", &[chances], &[("to", to)])?;
    let is_one = f.call("Less", &[drawn, chances], &[])?;
    give(f, is_one, dtype)
}

/// Classes by the logarithms of their chances, `[batch, classes]` to `[batch, sample_size]`: the first class up to which the chances
/// sum up to more than a number.
fn multinomial(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let samples = f.attributes().int_or("sample_size", 1)?;
    let dtype = result(f, DType::I32)?;
    if !matches!(dtype, DType::I32 | DType::I64) {
        return Err(f.refuse(format!("dtype {dtype}; supported: i32, i64")));
    }
    let logits = f.input(0)?;
    let wide = f.dtype(logits) == DType::F64;
    let to = if wide { DType::F64 } else { DType::F32 };
    let to = AttributeValue::Int(to.onnx_number().into());
    let logits = f.call("Cast", &[logits], &[("to", to)])?;
    let chances = f.call("Softmax", &[logits], &[("axis", AttributeValue::Int(-1))])?;
    let last = f.scalar(-1_i64)?;
    let sums = f.call("CumSum", &[chances, last], &[])?;

    let sizes = f.call("Shape", &[logits], &[])?;
    let [zero, one] = [f.ints(&[0])?, f.ints(&[1])?];
    let batch = f.call("Slice", &[sizes, zero, one], &[])?;
    let samples = f.ints(&[samples])?;
    let shape = f.call("Concat", &[batch, samples], &[("axis", AttributeValue::Int(0))])?;
    let drawn = drawn(f, shape, wide, 0)?;

    // Rounding may leave the sum of all below a number: the last class ends with 1 in any case, and is not counted.
    let [middle, end, minus_one] = [f.ints(&[1])?, f.ints(&[2])?, f.ints(&[-1])?];
    let sums = f.call("Slice", &[sums, zero, minus_one, one], &[])?;
    let sums = f.call("Unsqueeze", &[sums, middle], &[])?;
    let drawn = f.call("Unsqueeze", &[drawn, end], &[])?;
    let is_above = f.call("GreaterOrEqual", &[drawn, sums], &[])?;
    let index = AttributeValue::Int(DType::I64.onnx_number().into());
    let is_above = f.call("Cast", &[is_above], &[("to", index)])?;
    let class = f.call("ReduceSum", &[is_above, end], &[("keepdims", AttributeValue::Int(0))])?;
    give(f, class, dtype)
}
