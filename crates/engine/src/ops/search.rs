//! ArgMax, ArgMin and TopK.

use super::axes::{around, axis_of, grouped};
use super::dispatch::{for_number, no_kernel};
use super::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_kernels::along::{arg_extreme, top_k};
use stead_tensor::{DType, Shape};

const NUMBER: &[Param] = &[Param::required(1, types::NUMERIC)];
const POSITION: &[Out] = &[Out::Fixed(DType::I64)];
const BOTH: &[Out] = &[Out::Like(0), Out::Fixed(DType::I64)];

/// ArgMax, ArgMin, TopK: `k` is an attribute up to opset 9, an input since.
pub const OPS: &[OpDef] = &[
    OpDef::new("ArgMax", NUMBER, POSITION, |spec| arg(spec, true)),
    OpDef::new("ArgMin", NUMBER, POSITION, |spec| arg(spec, false)),
    OpDef::new("TopK", NUMBER, BOTH, top_k_old).until(9),
    OpDef::new(
        "TopK",
        &[Param::required(1, types::NUMERIC), Param::required(0, types::I64_ONLY)],
        BOTH,
        top_k_new,
    )
    .since(10),
];

fn arg(spec: &NodeSpec<'_>, largest: bool) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", 0)?;
    let keep = spec.attributes().bool_or("keepdims", true)?;
    let last = spec.attributes().bool_or("select_last_index", false)?;
    plan_fn(move |cx| {
        let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
        let (dims, kept) = match shape.rank() {
            0 => ((1, 1, 1), shape),
            rank => {
                let dims = around(&shape, axis_of(axis, rank)?);
                (dims, grouped(&shape, &[axis], true, keep)?.kept)
            }
        };
        if dims.1 == 0 && kept.elements() > 0 {
            return Err(PlanError::shape(format!("axis {axis} of {shape} is empty")));
        }
        let (x, slot) = (cx.input(0)?, cx.output(0, kept)?);
        for_number!(dtype, T => {
            cx.step("arg_extreme", &[x], &[slot], move |a| {
                arg_extreme(largest, last, dims, a.read::<T>(0)?, a.write::<i64>()?);
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(dtype)))
    })
}

fn top_k_old(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let axis = attributes.int_or("axis", -1)?;
    let k = attributes.int("k")?.ok_or_else(|| attributes.missing("k"))?;
    plan_fn(move |cx| plan_top_k(cx, axis, k, true))
}

/// With `sorted` 0 the order is free: it is the same.
fn top_k_new(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", -1)?;
    let largest = spec.attributes().bool_or("largest", true)?;
    plan_fn(move |cx| {
        let k = cx.int(1)?;
        plan_top_k(cx, axis, k, largest)
    })
}

fn plan_top_k(cx: &mut PlanCx<'_>, axis: i64, k: i64, largest: bool) -> Result<(), PlanError> {
    let (shape, dtype) = (cx.shape(0)?, cx.dtype(0)?);
    let axis = axis_of(axis, shape.rank())?;
    let dims = around(&shape, axis);
    let k = usize::try_from(k).ok().filter(|&k| k <= dims.1).ok_or_else(|| {
        PlanError::shape(format!("k is {k} for the {} elements along axis {axis}", dims.1))
    })?;
    let mut found = shape.to_vec();
    found[axis] = k;
    let found = Shape::new(&found)?;
    let x = cx.input(0)?;
    let slots = [cx.output(0, found)?, cx.output(1, found)?, cx.temp_of::<i64>(dims.1)];
    for_number!(dtype, T => {
        cx.step("top_k", &[x], &slots, move |a| {
            let (x, values) = (a.read::<T>(0)?, a.write::<T>()?);
            let (indices, scratch) = (a.write::<i64>()?, a.write::<i64>()?);
            top_k(largest, k, dims, x, values, indices, scratch);
            Ok(())
        });
        Ok(())
    }, _ => Err(no_kernel(dtype)))
}
