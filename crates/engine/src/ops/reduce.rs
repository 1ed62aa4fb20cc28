//! Reductions.

use super::axes::{Grouped, grouped};
use super::cast::cast_step;
use super::dispatch::{for_type, no_kernel};
use super::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, TypeSet, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_kernels::movement::copy_strided;
use stead_kernels::reduce::{ReduceOp, reduce, reduce_f32};
use stead_tensor::DType;

/// Types that have an order.
const ORDERED: TypeSet = types::NUMERIC.or(types::BOOL);

/// A reduction whose axes are an attribute.
const fn by_attribute(name: &'static str, build: super::BuildFn) -> OpDef {
    const INPUTS: &[Param] = &[Param::required(1, ORDERED)];
    OpDef::new(name, INPUTS, &[Out::Like(0)], build)
}

/// A reduction whose axes are an input.
const fn by_input(name: &'static str, build: super::BuildFn) -> OpDef {
    const INPUTS: &[Param] = &[Param::required(1, ORDERED), Param::optional(0, types::I64_ONLY)];
    OpDef::new(name, INPUTS, &[Out::Like(0)], build)
}

macro_rules! reductions {
    ($($name:literal, $op:ident, $input_since:literal;)*) => {
        /// All reductions: axes are an attribute up to opset 17 (12 for ReduceSum), an input since.
        pub const OPS: &[OpDef] = &[$(
            by_attribute($name, |spec| old(spec, ReduceOp::$op)).until($input_since - 1),
            by_input($name, |spec| new(spec, ReduceOp::$op)).since($input_since),
        )*];
    };
}

reductions! {
    "ReduceSum", Sum, 13;
    "ReduceMean", Mean, 18;
    "ReduceMax", Max, 18;
    "ReduceMin", Min, 18;
    "ReduceProd", Prod, 18;
    "ReduceL1", L1, 18;
    "ReduceL2", L2, 18;
    "ReduceSumSquare", SumSquare, 18;
    "ReduceLogSum", LogSum, 18;
    "ReduceLogSumExp", LogSumExp, 18;
}

fn check_type(spec: &NodeSpec<'_>, op: ReduceOp) -> Result<(), BuildError> {
    if spec.dtype()? == DType::Bool && !matches!(op, ReduceOp::Max | ReduceOp::Min) {
        return Err(BuildError::unsupported(format!(
            "{} of bool; supported: {}",
            spec.op_type(),
            types::NUMERIC
        )));
    }
    Ok(())
}

fn old(spec: &NodeSpec<'_>, op: ReduceOp) -> Result<OpPlan, BuildError> {
    check_type(spec, op)?;
    let keep = spec.attributes().bool_or("keepdims", true)?;
    let axes = spec.attributes().ints("axes")?.map(<[i64]>::to_vec);
    plan_fn(move |cx| plan(cx, op, axes.as_deref().unwrap_or_default(), keep, false))
}

fn new(spec: &NodeSpec<'_>, op: ReduceOp) -> Result<OpPlan, BuildError> {
    check_type(spec, op)?;
    let keep = spec.attributes().bool_or("keepdims", true)?;
    let noop = spec.attributes().bool_or("noop_with_empty_axes", false)?;
    plan_fn(move |cx| {
        let axes = if cx.has_input(1) { cx.ints(1)? } else { Vec::new() };
        plan(cx, op, &axes, keep, noop)
    })
}

/// Plans a reduction over `axes`: no axes mean all, or with `noop` none.
fn plan(
    cx: &mut PlanCx<'_>,
    op: ReduceOp,
    axes: &[i64],
    keep: bool,
    noop: bool,
) -> Result<(), PlanError> {
    let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
    let Grouped { order, dims, kept } = grouped(&shape, axes, !noop, keep)?;
    let mut read = match order {
        None => cx.input(0)?,
        Some(order) => {
            // Axes that lie apart: the kept dimensions first, then the others in one piece.
            let lies = cx.strided(0)?;
            let dims: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
            let strides: Vec<isize> = order.iter().map(|&axis| lies.strides[axis]).collect();
            let (slot, size, offset) = (cx.temp(shape.byte_len(dtype)), dtype.size(), lies.offset);
            cx.step("reorder", &[lies.operand], &[slot], move |a| {
                let (src, dst) = (a.read_bytes(0)?, a.write_bytes()?);
                copy_strided(size, src, offset, &strides, &dims, dst);
                Ok(())
            });
            cx.read_back(slot)
        }
    };
    let out = cx.output(0, kept)?;
    let wide = match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::Bool => DType::U8,
        other => other,
    };
    if wide == dtype {
        return step(cx, op, dtype, dims, read, out);
    }
    let slot = cx.temp(shape.byte_len(wide));
    cast_step(cx, read, dtype, slot, wide, shape.elements())?;
    read = cx.read_back(slot);
    let result = cx.temp(kept.byte_len(wide));
    step(cx, op, wide, dims, read, result)?;
    let result = cx.read_back(result);
    cast_step(cx, result, wide, out, dtype, kept.elements())
}

fn step(
    cx: &mut PlanCx<'_>,
    op: ReduceOp,
    dtype: DType,
    dims: (usize, usize, usize),
    read: Operand,
    slot: Slot,
) -> Result<(), PlanError> {
    if dtype == DType::F32 {
        cx.step("reduce", &[read], &[slot], move |a| {
            let (x, out) = (a.read::<f32>(0)?, a.write::<f32>()?);
            reduce_f32(a.isa, a.parallel, op, dims, x, out);
            Ok(())
        });
        return Ok(());
    }
    for_type!(dtype, [F64, I8, I16, I32, I64, U8, U16, U32, U64], T => {
        cx.step("reduce", &[read], &[slot], move |a| {
            reduce(op, dims, a.read::<T>(0)?, a.write::<T>()?);
            Ok(())
        });
        Ok(())
    }, _ => Err(no_kernel(dtype)))
}
