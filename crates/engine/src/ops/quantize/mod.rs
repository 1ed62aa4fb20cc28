//! QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and sums of quantised numbers.

mod dynamic;
mod granularity;
mod linear;
mod sum;
mod table;

use super::cast::{cast_step, dtype_of};
use super::nn::conv_integer::BYTES;
use super::{OpDef, Operand, Out, Param, PlanCx, TypeSet, types};
use crate::error::{BuildError, PlanError};
use stead_onnx::Attributes;
use stead_tensor::DType;

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

/// Two addends, each with its scale and zero point, and those of the sum.
const SUM: [Param; 8] = [
    Param::required(1, BYTES),
    Param::required(0, types::F32_ONLY),
    Param::optional(1, BYTES),
    Param::required(1, BYTES),
    Param::required(0, types::F32_ONLY),
    Param::optional(1, BYTES),
    Param::required(0, types::F32_ONLY),
    Param::optional(1, BYTES),
];

/// DequantizeLinear, DynamicQuantizeLinear, QuantizeLinear, and sums of bytes.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "QuantizeLinear",
        &[
            Param::required(0, REAL.or(TypeSet::of(&[DType::I32]))),
            Param::required(0, SCALE.or(TypeSet::of(&[DType::I32]))),
            Param::optional(0, QUANTIZED),
        ],
        &[Out::Of(quantized_type)],
        linear::quantize_linear,
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
        linear::dequantize_linear,
    )
    .since(10),
    OpDef::new(
        "DynamicQuantizeLinear",
        &[Param::required(0, types::F32_ONLY)],
        &[Out::Fixed(DType::U8), Out::Fixed(DType::F32), Out::Fixed(DType::U8)],
        dynamic::build,
    )
    .since(11),
    // What passes make of Add between bytes, with an activation that only limits (attributes as in `activation`).
    OpDef::new("QLinearAdd", &SUM, &[Out::Like(0)], sum::build).domain("stead"),
    // What passes make of functions of single bytes: the bytes that stand for all of them, by their bits.
    OpDef::new(
        "ByteTable",
        &[Param::required(1, BYTES), Param::required(2, BYTES)],
        &[Out::Like(1)],
        table::build,
    )
    .domain("stead"),
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
