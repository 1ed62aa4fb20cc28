//! Binarizer, FeatureVectorizer, Imputer, Normalizer and Scaler: features that become other features.

use super::{FEATURES, ML};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, TypeSet};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

const X: Param = Param::required(1, FEATURES);
const F32: &[Out] = &[Out::Fixed(DType::F32)];

/// Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler.
pub const OPS: &[OpDef] = &[
    OpDef::function("Binarizer", &[X], &[Out::Like(0)], binarizer).domain(ML),
    OpDef::function("FeatureVectorizer", &[Param::variadic(0, FEATURES)], F32, vectorizer)
        .domain(ML),
    OpDef::function(
        "Imputer",
        &[Param::required(1, TypeSet::of(&[DType::F32, DType::I64]))],
        &[Out::Like(0)],
        imputer,
    )
    .domain(ML),
    OpDef::function("Normalizer", &[X], F32, normalizer).domain(ML),
    OpDef::function("Scaler", &[X], F32, scaler).domain(ML),
];

fn cast(f: &mut FunctionBody<'_>, x: ValueId, to: DType) -> Result<ValueId, LoadError> {
    let to = AttributeValue::Int(to.onnx_number().into());
    f.call("Cast", &[x], &[("to", to)])
}

/// 1 for what is greater than the threshold, else 0.
fn binarizer(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let x = f.input(0)?;
    let own = f.dtype(x);
    let threshold = f.attributes().float_or("threshold", 0.0)?;
    // Integers are compared as floats: the threshold may be a fraction.
    let compared = if own.is_int() { cast(f, x, DType::F64)? } else { x };
    let threshold = f.number(threshold.into(), compared)?;
    let greater = f.call("Greater", &[compared, threshold], &[])?;
    let y = cast(f, greater, own)?;
    f.give(0, y);
    Ok(())
}

fn vectorizer(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    if let Some(sizes) = f.attributes().ints("inputdimensions")?
        && sizes.len() != f.input_count()
    {
        let text =
            format!("inputdimensions has {} sizes for {} inputs", sizes.len(), f.input_count());
        return Err(f.refuse(text));
    }
    let mut parts = Vec::with_capacity(f.input_count());
    for index in 0..f.input_count() {
        let x = f.input(index)?;
        parts.push(cast(f, x, DType::F32)?);
    }
    let y = f.call("Concat", &parts, &[("axis", AttributeValue::Int(1))])?;
    f.give(0, y);
    Ok(())
}

/// Replaces one value, NaN perhaps, by another for each feature.
fn imputer(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let x = f.input(0)?;
    let attributes = f.attributes();
    let (values, hit) = if f.dtype(x) == DType::F32 {
        let values = attributes.floats("imputed_value_floats")?.unwrap_or_default();
        let replaced = attributes.float_or("replaced_value_float", 0.0)?;
        let values = Tensor::from_slice(values, &[values.len()])?;
        let hit = if replaced.is_nan() {
            f.call("IsNaN", &[x], &[])?
        } else {
            let replaced = f.scalar(replaced)?;
            f.call("Equal", &[x, replaced], &[])?
        };
        (values, hit)
    } else {
        let values = attributes.ints("imputed_value_int64s")?.unwrap_or_default();
        let replaced = attributes.int_or("replaced_value_int64", 0)?;
        let values = Tensor::from_slice(values, &[values.len()])?;
        let replaced = f.scalar(replaced)?;
        (values, f.call("Equal", &[x, replaced], &[])?)
    };
    if values.shape().elements() == 0 {
        return Err(f.refuse(format!("no imputed values for inputs of {}", f.dtype(x))));
    }
    let values = f.constant_of(values);
    let y = f.call("Where", &[hit, values, x], &[])?;
    f.give(0, y);
    Ok(())
}

/// Each row divided by its greatest number, the sum of absolute values or the Euclidean length; one of zeros stays.
fn normalizer(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let op = match f.attributes().string_or("norm", "MAX")? {
        "MAX" => "ReduceMax",
        "L1" => "ReduceL1",
        "L2" => "ReduceL2",
        other => {
            let text = format!("norm is \"{other}\"; supported: MAX L1 L2");
            return Err(f.refuse(text));
        }
    };
    let x = f.input(0)?;
    let x = cast(f, x, DType::F32)?;
    let axis = f.ints(&[-1])?;
    let size = f.call(op, &[x, axis], &[])?;
    let (zero, one) = (f.scalar(0.0f32)?, f.scalar(1.0f32)?);
    let is_zero = f.call("Equal", &[size, zero], &[])?;
    let divisor = f.call("Where", &[is_zero, one, size], &[])?;
    let y = f.call("Div", &[x, divisor], &[])?;
    f.give(0, y);
    Ok(())
}

/// `(x - offset) * scale`.
fn scaler(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let list = |name| -> Result<Tensor, LoadError> {
        let values = f.attributes().floats(name)?.unwrap_or_default();
        if values.is_empty() {
            return Err(f.attributes().missing(name).into());
        }
        Ok(Tensor::from_slice(values, &[values.len()])?)
    };
    let (offset, scale) = (list("offset")?, list("scale")?);
    if offset.shape() != scale.shape() {
        return Err(f.refuse(format!("{} offsets and {} scales", offset.shape(), scale.shape())));
    }
    let x = f.input(0)?;
    let x = cast(f, x, DType::F32)?;
    let (offset, scale) = (f.constant_of(offset), f.constant_of(scale));
    let moved = f.call("Sub", &[x, offset], &[])?;
    let y = f.call("Mul", &[moved, scale], &[])?;
    f.give(0, y);
    Ok(())
}
