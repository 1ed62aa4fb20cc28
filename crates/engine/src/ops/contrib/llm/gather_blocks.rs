//! GatherBlockQuantized: rows of a table of few bits.

use super::{MICROSOFT, OWN};
use crate::error::{BuildError, LoadError, PlanError};
use crate::ir::FunctionBody;
use crate::ops::movement::axis_of;
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn, types};
use stead_kernels::quantize::{FewBits, widen_few_bits};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Shape};

const DATA: Param = Param::required(1, TypeSet::of(&[DType::U8, DType::U4, DType::I4]));
const ZEROS: Param = Param::optional(1, TypeSet::of(&[DType::U8, DType::U4, DType::I4]));
const INDICES: Param = Param::required(0, types::INDEX);
const SCALES: Param = Param::required(2, super::REAL);

/// GatherBlockQuantized; and GatherBlocks of the engine's own, whose scales are `f32`.
pub const OPS: &[OpDef] = &[
    OpDef::function(
        "GatherBlockQuantized",
        &[DATA, INDICES, SCALES, ZEROS],
        &[Out::Like(2)],
        write,
    )
    .domain(MICROSOFT),
    OpDef::new(
        "GatherBlocks",
        &[DATA, INDICES, Param::required(0, types::F32_ONLY), ZEROS],
        &[Out::Fixed(DType::F32)],
        build,
    )
    .domain(OWN),
];

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (data, indices, scales) = (f.input(0)?, f.input(1)?, f.input(2)?);
    let dtype = f.dtype(scales);
    let to = |dtype: DType| [("to", AttributeValue::Int(dtype.onnx_number().into()))];
    let single = match dtype {
        DType::F32 => scales,
        _ => f.call("Cast", &[scales], &to(DType::F32))?,
    };
    let mut own = Vec::new();
    for (name, default) in
        [("bits", 4), ("block_size", 128), ("quantize_axis", 1), ("gather_axis", 0)]
    {
        own.push((name, AttributeValue::Int(f.attributes().int_or(name, default)?)));
    }
    let inputs = vec![Some(data), Some(indices), Some(single), f.optional(3)];
    let mut y = f.call_of((OWN, "GatherBlocks"), inputs, &own)?;
    if dtype != DType::F32 {
        y = f.call("Cast", &[y], &to(dtype))?;
    }
    f.give(0, y);
    Ok(())
}

/// What the attributes say.
#[derive(Clone, Copy)]
struct Options {
    bits: usize,
    block: usize,
    quantize_axis: i64,
    gather_axis: i64,
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let a = spec.attributes();
    let (bits, block) = (a.int_or("bits", 4)?, a.int_or("block_size", 128)?);
    let is_bytes = spec.input_type(0) == Some(DType::U8);
    let bits = match bits {
        _ if !is_bytes => 4,
        2 | 4 | 8 => bits as usize,
        _ => return Err(BuildError::unsupported(format!("bits is {bits}; supported: 2, 4, 8"))),
    };
    let block = usize::try_from(block).ok().filter(|b| *b >= 16 && b.is_power_of_two());
    let block = block.ok_or_else(|| {
        let given = a.int_or("block_size", 128).unwrap_or(0);
        BuildError::unsupported(format!(
            "block_size is {given}; supported: powers of two from 16 on"
        ))
    })?;
    let options = Options {
        bits,
        block,
        quantize_axis: a.int_or("quantize_axis", 1)?,
        gather_axis: a.int_or("gather_axis", 0)?,
    };
    if is_bytes && options.gather_axis != 0 {
        let axis = options.gather_axis;
        return Err(BuildError::unsupported(format!("gather_axis is {axis}; of bytes only 0")));
    }
    plan_fn(move |cx| plan(cx, options))
}

fn plan(cx: &mut PlanCx<'_>, options: Options) -> Result<(), PlanError> {
    let (data, indices) = (cx.shape(0)?, cx.shape(1)?);
    let (scales, dtype) = (cx.shape(2)?, cx.dtype(0)?);
    let is_bytes = dtype == DType::U8;
    let mut dims = data.to_vec();
    if let Some(last) = dims.last_mut().filter(|_| is_bytes) {
        *last *= 8 / options.bits;
    }
    let along = axis_of(options.quantize_axis, dims.len())?;
    let axis = axis_of(options.gather_axis, dims.len())?;
    let mut wanted = dims.clone();
    wanted[along] = dims[along].div_ceil(options.block);
    if scales[..] != wanted[..] {
        return Err(PlanError::shape(format!("scales of {scales} for numbers of {dims:?}")));
    }
    let last = wanted.last().copied().unwrap_or(1);
    let has_zeros = cx.has_input(3);
    if has_zeros {
        let mut zeros = wanted.clone();
        if let Some(last) = zeros.last_mut().filter(|_| is_bytes) {
            *last = (*last * options.bits).div_ceil(8);
        }
        let given = cx.shape(3)?;
        if given[..] != zeros[..] {
            return Err(PlanError::shape(format!("zero points of {given}, not {zeros:?}")));
        }
    }
    let count = |dims: &[usize]| dims.iter().product::<usize>();
    let of = FewBits {
        bits: options.bits,
        signed: dtype == DType::I4,
        axis: dims[along].max(1),
        inner: count(&dims[along + 1..]).max(1),
        block: options.block,
        // Types of four bits have no gaps between rows.
        zero_row: if is_bytes { last } else { scales.elements() }.max(1),
    };
    let unset = if is_bytes { (1u32 << (options.bits - 1)) as f32 } else { 0.0 };
    let (limit, inner) = (dims[axis], count(&dims[axis + 1..]));
    let shape = Shape::new(&[&dims[..axis], &indices[..], &dims[axis + 1..]].concat())?;
    let mut reads = vec![cx.input(0)?, cx.input(1)?, cx.input(2)?];
    if has_zeros {
        reads.push(cx.input(3)?);
    }
    let (wide, each) = (cx.dtype(1)? == DType::I64, indices.elements());
    let slot = cx.output(0, shape)?;
    cx.step("gather blocks", &reads, &[slot], move |a| {
        let (packed, scales) = (a.read_bytes(0)?, a.read::<f32>(2)?);
        let zeros = if has_zeros { Some(a.read_bytes(3)?) } else { None };
        let (long, short) = match wide {
            true => (a.read::<i64>(1)?, &[][..]),
            false => (&[][..], a.read::<i32>(1)?),
        };
        let index = |at: usize| {
            let given = if wide { long[at] } else { i64::from(short[at]) };
            let given = if given < 0 { given.saturating_add(limit as i64) } else { given };
            usize::try_from(given).ok().filter(|&index| index < limit)
        };
        for (at, out) in a.write::<f32>()?.chunks_exact_mut(inner.max(1)).enumerate() {
            match index(at % each) {
                Some(index) => {
                    let first = (at / each * limit + index) * inner;
                    widen_few_bits(&of, packed, scales, (zeros, unset), first, out);
                }
                // As the operator says, unlike Gather.
                None => out.fill(0.0),
            }
        }
        Ok(())
    });
    Ok(())
}
