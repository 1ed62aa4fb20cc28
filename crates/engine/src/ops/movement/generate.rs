//! Range, EyeLike, Trilu: regular patterns.

use super::{dim_of, width_of};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn, types};
use half::{bf16, f16};
use stead_kernels::movement::trilu as trilu_kernel;
use stead_tensor::{DType, Element, Shape, Tensor};

const NUMBER: Param = Param::required(1, types::NUMERIC);

/// Range, EyeLike, Trilu.
pub const OPS: &[OpDef] = &[
    OpDef::new("Range", &[NUMBER, NUMBER, NUMBER], &[Out::Like(0)], range).since(11),
    OpDef::new("EyeLike", &[Param::required(0, types::ANY)], &[Out::Of(eye_type)], eye_like)
        .since(9),
    OpDef::new(
        "Trilu",
        &[Param::required(1, types::ANY), Param::optional(0, types::I64_ONLY)],
        &[Out::Like(0)],
        trilu,
    )
    .since(14),
];

/// One element as the widest number of its kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::ops) enum Number {
    Int(i128),
    Float(f64),
}

/// The only element of a tensor.
pub(in crate::ops) fn number(tensor: &Tensor) -> Result<Number, PlanError> {
    fn only<T: Element>(tensor: &Tensor) -> Result<T, PlanError> {
        match tensor.as_slice::<T>()? {
            [v] => Ok(*v),
            other => Err(PlanError::shape(format!("one element expected, got {}", other.len()))),
        }
    }
    Ok(match tensor.dtype() {
        DType::F32 => Number::Float(only::<f32>(tensor)?.into()),
        DType::F64 => Number::Float(only::<f64>(tensor)?),
        DType::F16 => Number::Float(only::<f16>(tensor)?.to_f64()),
        DType::BF16 => Number::Float(only::<bf16>(tensor)?.to_f64()),
        DType::I8 => Number::Int(only::<i8>(tensor)?.into()),
        DType::I16 => Number::Int(only::<i16>(tensor)?.into()),
        DType::I32 => Number::Int(only::<i32>(tensor)?.into()),
        DType::I64 => Number::Int(only::<i64>(tensor)?.into()),
        DType::U8 => Number::Int(only::<u8>(tensor)?.into()),
        DType::U16 => Number::Int(only::<u16>(tensor)?.into()),
        DType::U32 => Number::Int(only::<u32>(tensor)?.into()),
        DType::U64 => Number::Int(only::<u64>(tensor)?.into()),
        other => return Err(PlanError::shape(format!("a number expected, got {other}"))),
    })
}

fn range(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let start = number(&cx.value(0)?)?;
        let limit = number(&cx.value(1)?)?;
        let delta = number(&cx.value(2)?)?;
        let elements = range_len(start, limit, delta)
            .ok_or_else(|| PlanError::shape(format!("a range in steps of {delta:?}")))?;
        let dtype = cx.dtype(0)?;
        let slot = cx.output(0, Shape::new(&[elements])?)?;
        cx.step("range", &[], &[slot], move |a| write_range(a, dtype, start, delta));
        Ok(())
    })
}

/// `max(ceil((limit - start) / delta), 0)`; `None` when there is no such number.
fn range_len(start: Number, limit: Number, delta: Number) -> Option<usize> {
    use Number::{Float, Int};
    match (start, limit, delta) {
        (Int(start), Int(limit), Int(delta)) if delta != 0 => {
            let (span, step) =
                if delta > 0 { (limit - start, delta) } else { (start - limit, -delta) };
            usize::try_from(span.max(0).cast_unsigned().div_ceil(step.cast_unsigned())).ok()
        }
        (Float(start), Float(limit), Float(delta)) => {
            let steps = ((limit - start) / delta).ceil();
            // `isize::MAX` as a float is the first number that is too large.
            let fits = steps < isize::MAX as f64;
            (fits && delta != 0.0).then_some(steps.max(0.0) as usize)
        }
        _ => None,
    }
}

fn write_range(
    a: &mut Args<'_>,
    dtype: DType,
    start: Number,
    delta: Number,
) -> Result<(), RunError> {
    fn each<T: Element>(a: &mut Args<'_>, value: impl Fn(usize) -> T) -> Result<(), RunError> {
        a.write::<T>()?.iter_mut().enumerate().for_each(|(i, v)| *v = value(i));
        Ok(())
    }
    match (start, delta) {
        (Number::Float(start), Number::Float(delta)) => {
            let (start32, delta32) = (start as f32, delta as f32);
            let at = move |i: usize| start32 + i as f32 * delta32;
            match dtype {
                DType::F32 => each(a, at),
                DType::F64 => each(a, |i| start + i as f64 * delta),
                DType::F16 => each(a, |i| f16::from_f32(at(i))),
                _ => each(a, |i| bf16::from_f32(at(i))),
            }
        }
        (Number::Int(start), Number::Int(delta)) => {
            let at = |i: usize| start.wrapping_add((i as i128).wrapping_mul(delta));
            match width_of(dtype) {
                1 => each(a, |i| at(i) as u8),
                2 => each(a, |i| at(i) as u16),
                4 => each(a, |i| at(i) as u32),
                _ => each(a, |i| at(i) as u64),
            }
        }
        _ => Err(RunError::Internal("a range of mixed types")),
    }
}

const EYE: TypeSet = types::NUMERIC.or(types::BOOL);

fn eye_type(
    attributes: &stead_onnx::Attributes,
    inputs: &[Option<DType>],
) -> Result<DType, BuildError> {
    let dtype = match attributes.int("dtype")? {
        None => inputs.first().copied().flatten(),
        Some(number) => i32::try_from(number).ok().and_then(DType::from_onnx_number),
    };
    match dtype {
        Some(dtype) if EYE.contains(dtype) => Ok(dtype),
        other => Err(BuildError::unsupported(format!("dtype {other:?} of EyeLike"))),
    }
}

fn eye_like(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let dtype = eye_type(spec.attributes(), &[spec.input_type(0)])?;
    let k = spec.attributes().int_or("k", 0)?;
    let one = match dtype {
        DType::F32 => Tensor::scalar(1f32)?,
        DType::F64 => Tensor::scalar(1f64)?,
        DType::F16 => Tensor::scalar(f16::ONE)?,
        DType::BF16 => Tensor::scalar(bf16::ONE)?,
        _ => match width_of(dtype) {
            1 => Tensor::scalar(1u8)?,
            2 => Tensor::scalar(1u16)?,
            4 => Tensor::scalar(1u32)?,
            _ => Tensor::scalar(1u64)?,
        },
    };
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let [rows, cols] = *shape.dims() else {
            return Err(PlanError::shape(format!("a matrix is expected, got {shape}")));
        };
        let slot = cx.output(0, shape)?;
        let one = one.clone();
        // Where the diagonal meets the first row, or the first column.
        let first_row = dim_of(k.saturating_neg().max(0))?;
        let first_col = dim_of(k.max(0))?;
        let len = rows.saturating_sub(first_row).min(cols.saturating_sub(first_col));
        cx.step("eye", &[], &[slot], move |a| {
            let dst = a.write_bytes()?;
            dst.fill(0);
            let one = one.bytes();
            for i in 0..len {
                let at = ((first_row + i) * cols + first_col + i) * one.len();
                if let Some(element) = dst.get_mut(at..at + one.len()) {
                    element.copy_from_slice(one);
                }
            }
            Ok(())
        });
        Ok(())
    })
}

fn trilu(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let upper = spec.attributes().bool_or("upper", true)?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let [.., rows, cols] = *shape.dims() else {
            return Err(PlanError::shape(format!("matrices are expected, got {shape}")));
        };
        let width = width_of(cx.dtype(0)?);
        let mut operands = vec![cx.input(0)?];
        let moved = cx.has_input(1);
        if moved {
            if cx.shape(1)?.elements() != 1 {
                return Err(PlanError::shape("one diagonal is expected"));
            }
            operands.push(cx.input(1)?);
        }
        let slot = cx.output(0, shape)?;
        cx.step("triangle", &operands, &[slot], move |a| {
            let k = match moved {
                true => a.read::<i64>(1)?.first().copied().unwrap_or(0),
                false => 0,
            };
            trilu_kernel(width, a.read_bytes(0)?, rows, cols, k, upper, a.write_bytes()?);
            Ok(())
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Number::{Float, Int};

    #[test]
    fn ranges_have_as_many_elements_as_the_definition_says() {
        let max = i64::MAX as i128;
        let cases = [
            ("up", Int(3), Int(9), Int(3), Some(2)),
            ("down", Int(10), Int(4), Int(-2), Some(3)),
            ("ragged", Int(0), Int(5), Int(2), Some(3)),
            ("away", Int(5), Int(0), Int(1), Some(0)),
            ("still", Int(0), Int(5), Int(0), None),
            ("extremes", Int(-max - 1), Int(max), Int(max), Some(3)),
            ("floats", Float(1.0), Float(2.0), Float(0.3), Some(4)),
            ("floats away", Float(1.0), Float(0.0), Float(0.3), Some(0)),
            ("no float step", Float(1.0), Float(2.0), Float(0.0), None),
            ("endless", Float(0.0), Float(f64::INFINITY), Float(1.0), None),
            ("not a number", Float(0.0), Float(f64::NAN), Float(1.0), None),
        ];
        for (label, start, limit, delta, expected) in cases {
            assert_eq!(range_len(start, limit, delta), expected, "{label}");
        }
    }
}
