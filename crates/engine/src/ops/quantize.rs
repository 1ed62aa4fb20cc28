//! QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.

use super::axes::{around, axis_of};
use super::cast::{cast_step, dtype_of};
use super::nn::conv_integer::first;
use super::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, TypeSet, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_kernels::quantize::{Scales, dequantize, dynamic_scale, limit, quantize, quantize_bytes};
use stead_kernels::requantize::Quantized;
use stead_onnx::Attributes;
use stead_tensor::{DType, Element, Shape};

/// Floats of 8 and 4 bits.
const SMALL_FLOATS: TypeSet = TypeSet::of(&[
    DType::F8E4M3FN,
    DType::F8E4M3FNUZ,
    DType::F8E5M2,
    DType::F8E5M2FNUZ,
    DType::F4E2M1,
]);
/// Integers that are quantised to.
const WHOLE: TypeSet = TypeSet::of(&[
    DType::I8,
    DType::U8,
    DType::I16,
    DType::U16,
    DType::I4,
    DType::U4,
    DType::I2,
    DType::U2,
]);
const QUANTIZED: TypeSet = WHOLE.or(SMALL_FLOATS);
/// Types that are computed with, all through f32.
const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16, DType::BF16]);
const SCALE: TypeSet = REAL.or(TypeSet::of(&[DType::F8E8M0]));

/// DequantizeLinear, DynamicQuantizeLinear, QuantizeLinear.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "QuantizeLinear",
        &[
            Param::required(0, REAL.or(TypeSet::of(&[DType::I32]))),
            Param::required(0, SCALE.or(TypeSet::of(&[DType::I32]))),
            Param::optional(0, QUANTIZED),
        ],
        &[Out::Of(quantized_type)],
        quantize_linear,
    )
    .since(10),
    OpDef::new(
        "DequantizeLinear",
        &[
            Param::required(1, QUANTIZED.or(TypeSet::of(&[DType::I32]))),
            Param::required(0, SCALE),
            Param::optional(1, QUANTIZED.or(TypeSet::of(&[DType::I32]))),
        ],
        &[Out::Of(real_type)],
        dequantize_linear,
    )
    .since(10),
    OpDef::new(
        "DynamicQuantizeLinear",
        &[Param::required(0, types::F32_ONLY)],
        &[Out::Fixed(DType::U8), Out::Fixed(DType::F32), Out::Fixed(DType::U8)],
        dynamic,
    )
    .since(11),
];

fn quantized_type(a: &Attributes, inputs: &[Option<DType>]) -> Result<DType, BuildError> {
    let zero = inputs.get(2).copied().flatten();
    let dtype = match a.int_or("output_dtype", 0)? {
        0 => zero.unwrap_or(DType::U8),
        number => dtype_of(number, "output_dtype")?,
    };
    match zero {
        Some(zero) if zero != dtype => Err(BuildError::unsupported(format!(
            "output_dtype is {dtype} but the zero point has type {zero}"
        ))),
        _ if !QUANTIZED.contains(dtype) => {
            Err(BuildError::unsupported(format!("output_dtype is {dtype}; supported: {QUANTIZED}")))
        }
        _ => Ok(dtype),
    }
}

fn real_type(a: &Attributes, inputs: &[Option<DType>]) -> Result<DType, BuildError> {
    let dtype = match a.int_or("output_dtype", 0)? {
        0 => inputs.get(1).copied().flatten().unwrap_or(DType::F32),
        number => dtype_of(number, "output_dtype")?,
    };
    if REAL.contains(dtype) {
        return Ok(dtype);
    }
    Err(BuildError::unsupported(format!("the result has type {dtype}; supported: {REAL}")))
}

/// How a tensor is cut into parts with a scale each.
#[derive(Clone, Copy)]
struct Granularity {
    axis: i64,
    block: i64,
}

impl Granularity {
    fn of(spec: &NodeSpec<'_>) -> Result<Granularity, BuildError> {
        let granularity = Granularity {
            axis: spec.attributes().int_or("axis", 1)?,
            block: spec.attributes().int_or("block_size", 0)?,
        };
        if granularity.block < 0 {
            return Err(BuildError::unsupported(format!(
                "block_size is {}; supported: 0 and more",
                granularity.block
            )));
        }
        Ok(granularity)
    }

    /// Where each scale serves, for the first input with scales and zero points in the next two.
    fn scales(self, cx: &PlanCx<'_>) -> Result<Scales, PlanError> {
        let (x, scale) = (cx.shape(0)?, cx.shape(1)?);
        if cx.has_input(2) && cx.shape(2)?.elements() != scale.elements() {
            let zero = cx.shape(2)?;
            return Err(PlanError::shape(format!(
                "the zero point has shape {zero} but the scale {scale}"
            )));
        }
        self.fit(&x, &scale).ok_or_else(|| {
            PlanError::shape(format!(
                "a scale of shape {scale} does not fit {x} along axis {} with block_size {}",
                self.axis, self.block
            ))
        })
    }

    fn fit(self, x: &Shape, scale: &Shape) -> Option<Scales> {
        if self.block == 0 && scale.elements() == 1 {
            return Some(Scales::single(x.elements()));
        }
        let at = axis_of(self.axis, x.rank()).ok()?;
        let (outer, axis, inner) = around(x, at);
        if self.block == 0 {
            let fits = scale.rank() == 1 && scale[0] == axis;
            return fits.then_some(Scales { outer, axis, inner, block: 1, whole: false });
        }
        let block = usize::try_from(self.block).ok()?;
        let along = axis.div_ceil(block);
        let fits = scale.rank() == x.rank()
            && (0..x.rank()).all(|a| scale[a] == if a == at { along } else { x[a] });
        fits.then_some(Scales { outer, axis, inner, block, whole: true })
    }
}

/// An input as f32; `None` when it is absent.
fn as_f32(cx: &mut PlanCx<'_>, index: usize) -> Result<Option<Operand>, PlanError> {
    if !cx.has_input(index) {
        return Ok(None);
    }
    let (dtype, count) = (cx.dtype(index)?, cx.shape(index)?.elements());
    let operand = cx.input(index)?;
    if dtype == DType::F32 {
        return Ok(Some(operand));
    }
    let slot = cx.temp_of::<f32>(count);
    cast_step(cx, operand, dtype, slot, DType::F32, count)?;
    Ok(Some(cx.read_back(slot)))
}

fn missing() -> PlanError {
    PlanError::shape("a required input is missing")
}

fn quantize_linear(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let granularity = Granularity::of(spec)?;
    let saturates = spec.attributes().bool_or("saturate", true)?;
    let precision = match spec.attributes().int_or("precision", 0)? {
        0 => spec.input_type(1),
        number => Some(dtype_of(number, "precision")?),
    };
    if let Some(other) = precision.filter(|p| !SCALE.contains(*p) && *p != DType::I32) {
        return Err(BuildError::unsupported(format!("precision is {other}; supported: {REAL}")));
    }
    let half = precision == Some(DType::F16);
    let Some(dtype) = spec.output_type(0) else { return plan_fn(|_| Ok(())) };
    if !saturates && SMALL_FLOATS.contains(dtype) {
        return Err(BuildError::unsupported("saturate is 0; supported: 1".to_owned()));
    }
    plan_fn(move |cx| {
        let (shape, scales) = (cx.shape(0)?, granularity.scales(cx)?);
        let is_single = cx.dtype(0)? == DType::F32 && cx.dtype(1)? == DType::F32;
        if is_single && !half && scales.count() == 1 {
            match dtype {
                DType::U8 => return bytes_of_one_scale::<u8>(cx, shape),
                DType::I8 => return bytes_of_one_scale::<i8>(cx, shape),
                _ => {}
            }
        }
        let x = as_f32(cx, 0)?.ok_or_else(missing)?;
        let scale = as_f32(cx, 1)?.ok_or_else(missing)?;
        let zero = as_f32(cx, 2)?;
        let has_zero = zero.is_some();
        let reads: Vec<Operand> = [x, scale].into_iter().chain(zero).collect();
        let (count, out) = (shape.elements(), cx.output(0, shape)?);
        if SMALL_FLOATS.contains(dtype) {
            // Floats are not rounded to integers first: they are the quotient itself, rounded by the cast.
            let quotient = cx.temp_of::<f32>(count);
            cx.step("quantize", &reads, &[quotient], move |a| {
                let (x, scale) = (a.read::<f32>(0)?, a.read::<f32>(1)?);
                let zero = if has_zero { a.read::<f32>(2)? } else { &[] };
                scales.divide(x, scale, zero, a.write::<f32>()?);
                Ok(())
            });
            let quotient = cx.read_back(quotient);
            return cast_step(cx, quotient, DType::F32, out, dtype, count);
        }
        let whole = cx.temp_of::<f32>(count);
        cx.step("quantize", &reads, &[whole], move |a| {
            let (x, scale) = (a.read::<f32>(0)?, a.read::<f32>(1)?);
            let zero = if has_zero { a.read::<f32>(2)? } else { &[] };
            quantize(a.isa, &scales, x, scale, zero, half, a.write::<f32>()?);
            Ok(())
        });
        let whole = cx.read_back(whole);
        limit_step(cx, whole, out, dtype, count)
    })
}

/// Floats to bytes by one scale and zero point.
fn bytes_of_one_scale<T: Element + Quantized>(
    cx: &mut PlanCx<'_>,
    shape: Shape,
) -> Result<(), PlanError> {
    let mut reads = vec![cx.input(0)?, cx.input(1)?];
    let has_zero = cx.has_input(2);
    if has_zero {
        reads.push(cx.input(2)?);
    }
    let out = cx.output(0, shape)?;
    cx.step("quantize", &reads, &[out], move |a| {
        let (x, scale) = (a.read::<f32>(0)?, first::<f32>(a, 1)?);
        let zero = if has_zero { first::<T>(a, 2)? } else { T::zeroed() };
        quantize_bytes(a.isa, a.parallel, x, scale, zero, a.write::<T>()?);
        Ok(())
    });
    Ok(())
}

/// Limits whole numbers to an integer type.
fn limit_step(
    cx: &mut PlanCx<'_>,
    whole: Operand,
    out: Slot,
    dtype: DType,
    count: usize,
) -> Result<(), PlanError> {
    macro_rules! emit {
        ($t:ty) => {{
            cx.step("limit", &[whole], &[out], |a| {
                limit(a.read::<f32>(0)?, a.write::<$t>()?);
                Ok(())
            });
            return Ok(());
        }};
    }
    let bounds = match dtype {
        DType::I8 => emit!(i8),
        DType::U8 => emit!(u8),
        DType::I16 => emit!(i16),
        DType::U16 => emit!(u16),
        DType::I4 => [-8.0, 7.0],
        DType::U4 => [0.0, 15.0],
        DType::I2 => [-2.0, 1.0],
        _ => [0.0, 3.0],
    };
    let limited = cx.temp_of::<f32>(count);
    cx.step("limit", &[whole], &[limited], move |a| {
        let [lo, hi] = bounds.map(Some);
        let (x, out) = (a.read::<f32>(0)?, a.write::<f32>()?);
        stead_kernels::elementwise::clip(a.isa, a.parallel, [lo, hi], x, out);
        Ok(())
    });
    let limited = cx.read_back(limited);
    cast_step(cx, limited, DType::F32, out, dtype, count)
}

fn dequantize_linear(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let granularity = Granularity::of(spec)?;
    let Some(dtype) = spec.output_type(0) else { return plan_fn(|_| Ok(())) };
    plan_fn(move |cx| {
        let (shape, scales) = (cx.shape(0)?, granularity.scales(cx)?);
        let x = as_f32(cx, 0)?.ok_or_else(missing)?;
        let scale = as_f32(cx, 1)?.ok_or_else(missing)?;
        let zero = as_f32(cx, 2)?;
        let has_zero = zero.is_some();
        let reads: Vec<Operand> = [x, scale].into_iter().chain(zero).collect();
        let (count, out) = (shape.elements(), cx.output(0, shape)?);
        let wide = if dtype == DType::F32 { out } else { cx.temp_of::<f32>(count) };
        cx.step("dequantize", &reads, &[wide], move |a| {
            let (x, scale) = (a.read::<f32>(0)?, a.read::<f32>(1)?);
            let zero = if has_zero { a.read::<f32>(2)? } else { &[] };
            dequantize(a.isa, &scales, x, scale, zero, a.write::<f32>()?);
            Ok(())
        });
        if dtype == DType::F32 {
            return Ok(());
        }
        let wide = cx.read_back(wide);
        cast_step(cx, wide, DType::F32, out, dtype, count)
    })
}

fn dynamic(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let shape = cx.shape(0)?;
        let x = cx.input(0)?;
        let (y, scale) = (cx.output(0, shape)?, cx.output(1, Shape::SCALAR)?);
        let zero = cx.output(2, Shape::SCALAR)?;
        cx.step("dynamic_quantize", &[x], &[y, scale, zero], |a| {
            let x = a.read::<f32>(0)?;
            let (y, scale, zero) = (a.write::<u8>()?, a.write::<f32>()?, a.write::<u8>()?);
            let (step, from) = dynamic_scale(a.isa, x);
            quantize_bytes(a.isa, a.parallel, x, step, from, y);
            scale.fill(step);
            zero.fill(from);
            Ok(())
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_fit_by_shape() {
        let cases: [(&str, &[usize], &[usize], i64, i64, bool); 8] = [
            ("scalar", &[2, 3], &[], 1, 0, true),
            ("one element", &[2, 3], &[1], 1, 0, true),
            ("along the axis", &[2, 3], &[3], -1, 0, true),
            ("wrong count", &[2, 3], &[2], 1, 0, false),
            ("blocked", &[2, 5], &[2, 2], 1, 3, true),
            ("wrong blocks", &[2, 5], &[2, 3], 1, 3, false),
            ("no such axis", &[2, 3], &[3], 2, 0, false),
            ("scalar input", &[], &[], 1, 0, true),
        ];
        for (label, x, scale, axis, block, fits) in cases {
            let shape = |dims| Shape::new(dims).unwrap();
            let got = Granularity { axis, block }.fit(&shape(x), &shape(scale));
            assert_eq!(got.is_some(), fits, "{label}");
            let count = got.map_or(0, |s| s.count());
            assert!(!fits || count == shape(scale).elements(), "{label}");
        }
    }
}
