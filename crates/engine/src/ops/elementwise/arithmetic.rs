//! Functions of two numbers, and those of any number of numbers that are made of them.

use crate::error::{BuildError, PlanError};
use crate::ops::broadcasting::{aligned, broadcast_inputs, broadcast_shape, operands};
use crate::ops::dispatch::{for_float, for_number, no_kernel};
use crate::ops::{
    NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, TypeSet, plan_fn, types,
};
use stead_kernels::broadcast::Broadcast;
use stead_kernels::elementwise::{BinaryOp, Lane, Run};
use stead_tensor::{DType, Element, Shape};

const BOTH: &[Param] = &[Param::required(1, types::NUMERIC), Param::required(1, types::NUMERIC)];
const MANY: &[Param] = &[Param::variadic(1, types::NUMERIC)];
const MANY_FLOATS: &[Param] = &[Param::variadic(1, types::FLOAT)];

/// Types of which PRelu is defined.
const PRELU: TypeSet =
    types::FLOAT.or(TypeSet::of(&[DType::I32, DType::I64, DType::U32, DType::U64]));

/// Add, Div, Max, Mean, Min, Mod, Mul, PRelu, Sub, Sum.
pub const OPS: &[OpDef] = &[
    OpDef::new("Add", BOTH, &[Out::Like(0)], |_| binary(BinaryOp::Add)),
    OpDef::new("Sub", BOTH, &[Out::Like(0)], |_| binary(BinaryOp::Sub)),
    OpDef::new("Mul", BOTH, &[Out::Like(0)], |_| binary(BinaryOp::Mul)),
    OpDef::new("Div", BOTH, &[Out::Like(0)], |_| binary(BinaryOp::Div)),
    OpDef::new("Mod", BOTH, &[Out::Like(0)], modulo).since(10),
    OpDef::new("Max", MANY, &[Out::Like(0)], |_| variadic(BinaryOp::Max)),
    OpDef::new("Min", MANY, &[Out::Like(0)], |_| variadic(BinaryOp::Min)),
    OpDef::new("Sum", MANY_FLOATS, &[Out::Like(0)], |_| variadic(BinaryOp::Add)),
    OpDef::new("Mean", MANY_FLOATS, &[Out::Like(0)], mean),
    OpDef::new(
        "PRelu",
        &[Param::required(1, PRELU), Param::required(1, PRELU)],
        &[Out::Like(0)],
        prelu,
    ),
];

fn binary(op: BinaryOp) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| {
        let shape = broadcast_inputs(cx)?;
        into_output(cx, op, shape)
    })
}

fn into_output(cx: &mut PlanCx<'_>, op: BinaryOp, shape: Shape) -> Result<(), PlanError> {
    let (plan, reads) = operands(cx, [0, 1], &shape)?;
    let (dtype, slot) = (cx.dtype(0)?, cx.output(0, shape)?);
    step(cx, op, dtype, plan, &reads, slot)
}

fn step(
    cx: &mut PlanCx<'_>,
    op: BinaryOp,
    dtype: DType,
    plan: Broadcast<2>,
    reads: &[Operand; 2],
    slot: Slot,
) -> Result<(), PlanError> {
    let name = match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::Min => "min",
        BinaryOp::Max => "max",
        BinaryOp::Mod | BinaryOp::Fmod => "mod",
        BinaryOp::PRelu => "prelu",
    };
    for_number!(dtype, T => {
        cx.step(name, reads, &[slot], move |a| {
            let (x, y, out) = (a.read::<T>(0)?, a.read::<T>(1)?, a.write::<T>()?);
            Lane::binary(Run { isa: a.isa, parallel: a.parallel, plan: &plan }, op, x, y, out);
            Ok(())
        });
        Ok(())
    }, _ => Err(no_kernel(dtype)))
}

fn modulo(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    binary(match spec.attributes().int_or("fmod", 0)? {
        // Before opset 28 this is refused by the standard, but the result is the same as since then.
        0 => BinaryOp::Mod,
        1 => BinaryOp::Fmod,
        other => return Err(BuildError::unsupported(format!("fmod is {other}; supported: 0 1"))),
    })
}

fn prelu(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        // The slope is broadcast to x, never the other way round.
        let shape = cx.shape(0)?;
        into_output(cx, BinaryOp::PRelu, shape)
    })
}

fn variadic(op: BinaryOp) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| fold(cx, op, false))
}

fn mean(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(move |cx| fold(cx, BinaryOp::Add, true))
}

/// Folds the inputs from the left. Each step broadcasts only as far as it has to. With `mean` the last result
/// is divided by the number of inputs.
fn fold(cx: &mut PlanCx<'_>, op: BinaryOp, mean: bool) -> Result<(), PlanError> {
    let (count, dtype) = (cx.input_count(), cx.dtype(0)?);
    let mut shape = cx.shape(0)?;
    if count == 1 {
        return cx.alias(0, 0, shape);
    }
    let mut last: Option<Slot> = None;
    for i in 1..count {
        let next = broadcast_shape(&shape, &cx.shape(i)?)?;
        let (plan, reads) = match last {
            None => operands(cx, [0, 1], &next)?,
            Some(slot) => {
                let (_, [right]) = operands(cx, [i], &next)?;
                let right_plan = cx.strided(i)?;
                let left = aligned(&shape, &shape.strides(), &next)?;
                let right_strides = aligned(&cx.shape(i)?, &right_plan.strides, &next)?;
                let plan = Broadcast::new(&next, [&left, &right_strides], [0, right_plan.offset]);
                (plan, [cx.read_back(slot), right])
            }
        };
        let done = i + 1 == count && !mean;
        let slot = if done { cx.output(0, next)? } else { cx.temp(next.byte_len(dtype)) };
        step(cx, op, dtype, plan, &reads, slot)?;
        (last, shape) = (Some(slot), next);
    }
    if let (true, Some(sum)) = (mean, last) {
        divide(cx, dtype, sum, count, shape)?;
    }
    Ok(())
}

fn divide(
    cx: &mut PlanCx<'_>,
    dtype: DType,
    sum: Slot,
    count: usize,
    shape: Shape,
) -> Result<(), PlanError> {
    let (read, slot) = (cx.read_back(sum), cx.output(0, shape)?);
    let plan = Broadcast::new(&[shape.elements()], [&[1], &[0]], [0, 0]);
    for_float!(dtype, T => {
        let by = [of_count::<T>(count)];
        cx.step("mean", &[read], &[slot], move |a| {
            let (x, out) = (a.read::<T>(0)?, a.write::<T>()?);
            let run = Run { isa: a.isa, parallel: a.parallel, plan: &plan };
            Lane::binary(run, BinaryOp::Div, x, &by, out);
            Ok(())
        });
        Ok(())
    }, _ => Err(no_kernel(dtype)))
}

/// A small count as a float of any width.
fn of_count<T: Element + FromCount>(count: usize) -> T {
    T::from_count(count)
}

trait FromCount {
    fn from_count(count: usize) -> Self;
}

impl FromCount for f32 {
    fn from_count(count: usize) -> f32 {
        count as f32
    }
}

impl FromCount for f64 {
    fn from_count(count: usize) -> f64 {
        count as f64
    }
}

impl FromCount for half::f16 {
    fn from_count(count: usize) -> half::f16 {
        half::f16::from_f32(count as f32)
    }
}

impl FromCount for half::bf16 {
    fn from_count(count: usize) -> half::bf16 {
        half::bf16::from_f32(count as f32)
    }
}
