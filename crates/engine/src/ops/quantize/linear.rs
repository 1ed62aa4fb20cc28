//! QuantizeLinear and DequantizeLinear.

use super::granularity::Granularity;
use super::{REAL, SCALE, SMALL_FLOATS, as_f32, missing};
use crate::error::{BuildError, PlanError};
use crate::ops::cast::{cast_step, dtype_of};
use crate::ops::nn::conv_integer::first;
use crate::ops::{NodeSpec, OpPlan, Operand, PlanCx, Slot, plan_fn};
use stead_kernels::quantize::{dequantize, dequantize_bytes, limit, quantize, quantize_bytes};
use stead_kernels::requantize::Quantized;
use stead_tensor::{DType, Element, Shape};

pub(super) fn quantize_linear(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
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

pub(super) fn dequantize_linear(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let granularity = Granularity::of(spec)?;
    let Some(dtype) = spec.output_type(0) else { return plan_fn(|_| Ok(())) };
    plan_fn(move |cx| {
        let (shape, scales) = (cx.shape(0)?, granularity.scales(cx)?);
        if dtype == DType::F32 && cx.dtype(1)? == DType::F32 && scales.count() == 1 {
            match cx.dtype(0)? {
                DType::U8 => return of_bytes::<u8>(cx, shape),
                DType::I8 => return of_bytes::<i8>(cx, shape),
                _ => {}
            }
        }
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

/// Bytes to floats by one scale and zero point.
fn of_bytes<T: Element + Quantized>(cx: &mut PlanCx<'_>, shape: Shape) -> Result<(), PlanError> {
    let mut reads = vec![cx.input(0)?, cx.input(1)?];
    let has_zero = cx.has_input(2);
    if has_zero {
        reads.push(cx.input(2)?);
    }
    let out = cx.output(0, shape)?;
    cx.step("dequantize", &reads, &[out], move |a| {
        let (x, scale) = (a.read::<T>(0)?, first::<f32>(a, 1)?);
        let zero = if has_zero { first::<T>(a, 2)? } else { T::zeroed() };
        dequantize_bytes(a.isa, a.parallel, x, scale, zero, a.write::<f32>()?);
        Ok(())
    });
    Ok(())
}
