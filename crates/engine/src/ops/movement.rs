//! Operators that move elements without looking at them.

use super::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Shape, Tensor};

/// Constant, Identity, Reshape, Shape.
pub const OPS: &[OpDef] = &[
    OpDef::new("Constant", &[], &[Out::Of(constant_type)], constant),
    OpDef::new("Identity", &[Param::required(1, types::ANY)], &[Out::Like(0)], identity),
    OpDef::new(
        "Reshape",
        &[Param::required(1, types::ANY), Param::required(0, types::I64_ONLY)],
        &[Out::Like(0)],
        reshape,
    ),
    OpDef::new("Shape", &[Param::required(0, types::ANY)], &[Out::Fixed(DType::I64)], shape),
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

fn identity(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let shape = cx.shape(0)?;
        cx.alias(0, 0, shape)
    })
}

fn reshape(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let allow_zero = spec.attributes().bool_or("allowzero", false)?;
    plan_fn(move |cx| {
        let target = reshape_target(&cx.shape(0)?, &cx.ints(1)?, allow_zero)?;
        cx.alias(0, 0, target)
    })
}

/// The shape that Reshape gives: 0 copies a dimension unless `allow_zero`, one -1 takes what is left.
fn reshape_target(from: &Shape, wanted: &[i64], allow_zero: bool) -> Result<Shape, PlanError> {
    let fail = || PlanError::shape(format!("cannot reshape {from} to {wanted:?}"));
    let mut dims = Vec::with_capacity(wanted.len());
    let mut free = None;
    for (axis, &d) in wanted.iter().enumerate() {
        dims.push(match d {
            0 if !allow_zero => *from.get(axis).ok_or_else(fail)?,
            -1 if free.is_none() => {
                free = Some(axis);
                1
            }
            d => usize::try_from(d).map_err(|_| fail())?,
        });
    }
    if let Some(axis) = free {
        let rest = Shape::new(&dims)?.elements();
        dims[axis] = match rest {
            0 => 0,
            rest => from.elements() / rest,
        };
    }
    let target = Shape::new(&dims)?;
    if target.elements() == from.elements() { Ok(target) } else { Err(fail()) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reshape_targets() {
        let from = Shape::new(&[2, 3, 4]).unwrap();
        let cases: [(&[i64], bool, Option<&[usize]>); 7] = [
            (&[4, 6], false, Some(&[4, 6])),
            (&[-1, 4], false, Some(&[6, 4])),
            (&[0, -1], false, Some(&[2, 12])),
            (&[0, 12], true, None),
            (&[-1, -1], false, None),
            (&[5, -1], false, None),
            (&[-2, 12], false, None),
        ];
        for (wanted, allow_zero, expected) in cases {
            let got = reshape_target(&from, wanted, allow_zero).ok();
            assert_eq!(got.as_deref(), expected, "{wanted:?}");
        }
    }
}
