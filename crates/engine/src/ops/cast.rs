//! Cast, CastLike and BitCast.

use super::dispatch::{for_number, no_kernel};
use super::strings::numbers;
use super::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, TypeSet, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_kernels::cast::{
    E8Rounding, Saturation, Small, cast, from_small, from_truth, to_small, to_truth,
};
use stead_kernels::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use stead_onnx::Attributes;
use stead_tensor::DType;

/// Types that are cast as bytes of fixed size: all but [strings](super::strings::numbers) and complex numbers.
const CASTABLE: TypeSet = types::NUMERIC.or(types::BOOL).or(types::PACKED).or(TypeSet::of(&[
    DType::F8E4M3FN,
    DType::F8E4M3FNUZ,
    DType::F8E5M2,
    DType::F8E5M2FNUZ,
    DType::F8E8M0,
]));
const WITH_STRINGS: TypeSet = CASTABLE.or(types::STRING);
/// Types whose elements are patterns of bits: all but strings.
const PATTERNS: TypeSet = types::ANY.or(types::PACKED);

/// Cast, CastLike, BitCast.
pub const OPS: &[OpDef] = &[
    OpDef::new("Cast", &[Param::required(0, WITH_STRINGS)], &[Out::Of(cast_type)], cast_op),
    OpDef::new(
        "CastLike",
        &[Param::required(0, WITH_STRINGS), Param::required(0, WITH_STRINGS)],
        &[Out::Like(1)],
        cast_op,
    )
    .since(15),
    OpDef::new("BitCast", &[Param::required(0, PATTERNS)], &[Out::Of(pattern_type)], bit_cast)
        .since(26),
];

fn cast_type(attributes: &Attributes, _: &[Option<DType>]) -> Result<DType, BuildError> {
    let number = attributes.int("to")?.ok_or_else(|| attributes.missing("to"))?;
    match i32::try_from(number).ok().and_then(DType::from_onnx_number) {
        Some(DType::String) => Ok(DType::String),
        _ => dtype_of(number, "to"),
    }
}

fn pattern_type(attributes: &Attributes, inputs: &[Option<DType>]) -> Result<DType, BuildError> {
    let number = attributes.int("to")?.ok_or_else(|| attributes.missing("to"))?;
    let to = i32::try_from(number).ok().and_then(DType::from_onnx_number);
    let to = to.filter(|&dtype| PATTERNS.contains(dtype)).ok_or_else(|| {
        BuildError::unsupported(format!("to names element type {number}; supported: {PATTERNS}"))
    })?;
    match inputs.first().copied().flatten() {
        Some(from) if from.bits() != to.bits() => Err(BuildError::unsupported(format!(
            "BitCast takes {} bits of {from} for {} of {to}; as many are expected",
            from.bits(),
            to.bits()
        ))),
        _ => Ok(to),
    }
}

/// The same bytes under another type, wherever they lie.
fn bit_cast(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| cx.alias_bits(0, 0))
}

/// The element type that an attribute names, if it is one that tensors of numbers have.
pub(super) fn dtype_of(number: i64, attribute: &str) -> Result<DType, BuildError> {
    i32::try_from(number)
        .ok()
        .and_then(DType::from_onnx_number)
        .filter(|&dtype| CASTABLE.contains(dtype))
        .ok_or_else(|| {
            BuildError::unsupported(format!(
                "{attribute} names element type {number}; supported: {CASTABLE}"
            ))
        })
}

fn cast_op(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let saturation = match attributes.bool_or("saturate", true)? {
        true => Saturation::Limit,
        false => Saturation::Overflow,
    };
    let rounding = match attributes.string_or("round_mode", "up")? {
        "up" => E8Rounding::Up,
        "down" => E8Rounding::Down,
        "nearest" => E8Rounding::Nearest,
        other => {
            return Err(BuildError::unsupported(format!(
                "round_mode is \"{other}\"; supported: up down nearest"
            )));
        }
    };
    let Some(to) = spec.output_type(0) else { return plan_fn(|_| Ok(())) };
    plan_fn(move |cx| {
        let (shape, from) = (cx.shape(0)?, cx.dtype(0)?);
        if from == to {
            return cx.alias(0, 0, shape);
        }
        let (x, slot) = (cx.input(0)?, cx.output(0, shape)?);
        if from == DType::String || to == DType::String {
            return numbers::convert(cx, x, from, slot, to);
        }
        convert(cx, x, from, slot, to, shape.elements(), (saturation, rounding))
    })
}

/// Emits a step that casts `count` elements, with the default attributes.
pub(super) fn cast_step(
    cx: &mut PlanCx<'_>,
    from: Operand,
    from_type: DType,
    to: Slot,
    to_type: DType,
    count: usize,
) -> Result<(), PlanError> {
    convert(cx, from, from_type, to, to_type, count, (Saturation::Limit, E8Rounding::Up))
}

/// The small types, by element type.
fn small_of(dtype: DType) -> Option<Small> {
    Some(match dtype {
        DType::F8E4M3FN => Small::F8E4M3FN,
        DType::F8E4M3FNUZ => Small::F8E4M3FNUZ,
        DType::F8E5M2 => Small::F8E5M2,
        DType::F8E5M2FNUZ => Small::F8E5M2FNUZ,
        DType::F8E8M0 => Small::F8E8M0,
        DType::F4E2M1 => Small::F4E2M1,
        DType::I4 => Small::I4,
        DType::U4 => Small::U4,
        DType::I2 => Small::I2,
        DType::U2 => Small::U2,
        _ => return None,
    })
}

fn convert(
    cx: &mut PlanCx<'_>,
    read: Operand,
    from: DType,
    slot: Slot,
    to: DType,
    count: usize,
    (saturation, rounding): (Saturation, E8Rounding),
) -> Result<(), PlanError> {
    let (reads, writes) = (&[read], &[slot]);
    macro_rules! halves {
        ($a:ty => $b:ty, $f:path) => {{
            cx.step("cast", reads, writes, |a| {
                $f(a.isa, a.read::<$a>(0)?, a.write::<$b>()?);
                Ok(())
            });
            Ok(())
        }};
    }
    match (from, to) {
        (DType::F16, DType::F32) => return halves!(half::f16 => f32, f16_to_f32),
        (DType::F32, DType::F16) => return halves!(f32 => half::f16, f32_to_f16),
        (DType::BF16, DType::F32) => return halves!(half::bf16 => f32, bf16_to_f32),
        (DType::F32, DType::BF16) => return halves!(f32 => half::bf16, f32_to_bf16),
        _ => {}
    }
    match (small_of(from), small_of(to)) {
        (None, None) if from == DType::Bool => for_number!(to, B => {
            cx.step("cast", reads, writes, |a| {
                from_truth(a.read_bytes(0)?, a.write::<B>()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(to))),
        (None, None) if to == DType::Bool => for_number!(from, A => {
            cx.step("cast", reads, writes, |a| {
                to_truth(a.read::<A>(0)?, a.write_bytes()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(from))),
        (None, None) => for_number!(from, A => for_number!(to, B => {
            cx.step("cast", reads, writes, |a| {
                cast(a.read::<A>(0)?, a.write::<B>()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(to))), _ => Err(no_kernel(from))),
        (Some(small), None) if to != DType::Bool => for_number!(to, B => {
            cx.step("cast", reads, writes, move |a| {
                from_small(small, a.read_bytes(0)?, a.write::<B>()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(to))),
        (None, Some(small)) if from != DType::Bool => for_number!(from, A => {
            cx.step("cast", reads, writes, move |a| {
                to_small(small, saturation, rounding, a.read::<A>(0)?, a.write_bytes()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(from))),
        _ => {
            // Through f32, which holds every value of the small types and of bool.
            let wide = cx.temp_of::<f32>(count);
            let [read] = reads;
            let options = (saturation, rounding);
            convert(cx, read.clone(), from, wide, DType::F32, count, options)?;
            let wide = cx.read_back(wide);
            convert(cx, wide, DType::F32, slot, to, count, options)
        }
    }
}
