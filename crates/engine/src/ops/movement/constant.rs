//! Operators whose result depends on shapes alone: Constant, ConstantOfShape, Shape, Size.

use super::dim_of;
use crate::error::BuildError;
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::movement::fill;
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Shape, Tensor};

/// Constant, ConstantOfShape, Shape, Size.
pub const OPS: &[OpDef] = &[
    OpDef::new("Constant", &[], &[Out::Of(constant_type)], constant),
    OpDef::new(
        "ConstantOfShape",
        &[Param::required(0, types::I64_ONLY)],
        &[Out::Of(filler_type)],
        constant_of_shape,
    ),
    OpDef::new("Shape", &[Param::required(0, types::VIEWED)], &[Out::Fixed(DType::I64)], shape),
    OpDef::new("Size", &[Param::required(0, types::VIEWED)], &[Out::Fixed(DType::I64)], size),
];

fn constant_value(attributes: &stead_onnx::Attributes) -> Result<Tensor, BuildError> {
    let Some((name, value)) = attributes.iter().next() else {
        return Err(BuildError::unsupported("a Constant without a value"));
    };
    Ok(match value {
        AttributeValue::Tensor(t) | AttributeValue::SparseTensor(t) => t.clone(),
        AttributeValue::Float(v) => Tensor::scalar(*v)?,
        AttributeValue::Floats(v) => Tensor::from_slice(v, &[v.len()])?,
        AttributeValue::Int(v) => Tensor::scalar(*v)?,
        AttributeValue::Ints(v) => Tensor::from_slice(v, &[v.len()])?,
        AttributeValue::String(v) => Tensor::from_strings(vec![v.clone()], &[])?,
        AttributeValue::Strings(v) => Tensor::from_strings(v.clone(), &[v.len()])?,
        _ => {
            return Err(BuildError::unsupported(format!("attribute \"{name}\" of a Constant")));
        }
    })
}

fn constant_type(
    attributes: &stead_onnx::Attributes,
    _: &[Option<DType>],
) -> Result<DType, BuildError> {
    Ok(constant_value(attributes)?.dtype())
}

fn constant(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let value = constant_value(spec.attributes())?;
    plan_fn(move |cx| {
        cx.set_value(0, value.clone());
        Ok(())
    })
}

fn shape(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let start = spec.attributes().int_or("start", 0)?;
    let end = spec.attributes().int_or("end", i64::MAX)?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let rank = shape.rank() as i64;
        let clamp =
            |v: i64| (if v < 0 { v.saturating_add(rank) } else { v }).clamp(0, rank) as usize;
        let dims = shape.get(clamp(start)..clamp(end)).unwrap_or_default();
        let dims: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
        cx.set_value(0, Tensor::from_slice(&dims, &[dims.len()])?);
        Ok(())
    })
}

/// The element that ConstantOfShape repeats: 0 of `f32` unless it is given.
fn filler(attributes: &stead_onnx::Attributes) -> Result<Tensor, BuildError> {
    let value = match attributes.tensor("value")? {
        Some(value) => value.clone(),
        None => Tensor::scalar(0f32)?,
    };
    if value.shape().elements() != 1 || value.dtype() == DType::String {
        return Err(BuildError::unsupported(format!(
            "\"value\" of shape {} and type {}: one element that is no string is expected",
            value.shape(),
            value.dtype()
        )));
    }
    Ok(value)
}

fn filler_type(
    attributes: &stead_onnx::Attributes,
    _: &[Option<DType>],
) -> Result<DType, BuildError> {
    Ok(filler(attributes)?.dtype())
}

fn constant_of_shape(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let value = filler(spec.attributes())?;
    plan_fn(move |cx| {
        let dims = cx.ints(0)?.into_iter().map(dim_of).collect::<Result<Vec<_>, _>>()?;
        let shape = Shape::new(&dims)?;
        let slot = cx.output(0, shape)?;
        let value = value.clone();
        if let Some((pattern, last)) = packed_pattern(&value, shape.elements()) {
            cx.step("fill", &[], &[slot], move |a| {
                let out = a.write_bytes()?;
                fill(out, &[pattern]);
                if let Some(end) = out.last_mut() {
                    *end = last;
                }
                Ok(())
            });
            return Ok(());
        }
        cx.step("fill", &[], &[slot], move |a| {
            fill(a.write_bytes()?, value.bytes());
            Ok(())
        });
        Ok(())
    })
}

/// A byte full of one packed element, and the last byte of `count` of them, whose unused bits are 0; `None` for types of
/// whole bytes.
fn packed_pattern(value: &Tensor, count: usize) -> Option<(u8, u8)> {
    let bits = value.dtype().bits();
    let element = value.bytes().first().filter(|_| bits < 8)? & (0xff >> (8 - bits));
    let full = (0..8 / bits).fold(0, |byte, at| byte | element << (at * bits));
    let used = match count % (8 / bits) {
        0 => 8,
        rest => rest * bits,
    };
    Some((full, full & (0xff >> (8 - used))))
}

fn size(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let elements = cx.shape(0)?.elements() as i64;
        cx.set_value(0, Tensor::scalar(elements)?);
        Ok(())
    })
}
