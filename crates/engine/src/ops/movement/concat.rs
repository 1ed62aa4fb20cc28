//! Concat: each input is copied to its place, from wherever it lies.

use super::{axis_of, width_of};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::movement::{Layout, copy_layout};
use stead_tensor::{MAX_RANK, Shape, grown_strides};

/// Concat.
pub const OPS: &[OpDef] =
    &[OpDef::new("Concat", &[Param::variadic(1, types::ANY)], &[Out::Like(0)], concat)];

/// An input and where it goes.
struct Part {
    shape: Shape,
    offset: usize,
    strides: [isize; MAX_RANK],
    to: usize,
}

fn concat(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let axis = attributes.int("axis")?.ok_or_else(|| attributes.missing("axis"))?;
    plan_fn(move |cx| {
        let first = cx.shape(0)?;
        let axis = axis_of(axis, first.rank())?;
        let mut total = 0usize;
        for index in 0..cx.input_count() {
            let shape = cx.shape(index)?;
            let dim = shape.get(axis).copied().unwrap_or(0);
            if shape.rank() != first.rank() || shape.with(axis, first[axis])? != first {
                return Err(PlanError::shape(format!(
                    "{shape} cannot be concatenated to {first} along axis {axis}"
                )));
            }
            total = total
                .checked_add(dim)
                .ok_or_else(|| PlanError::shape("the concatenated axis is too long"))?;
        }
        if cx.input_count() == 1 {
            return cx.alias(0, 0, first);
        }
        let shape = first.with(axis, total)?;
        let width = width_of(cx.dtype(0)?);
        if let Some(state) = cx.appends(0, 0, axis, 1..cx.input_count()) {
            // The first input is a state that grows where it lies: only the others are copied, behind it.
            let to = grown_strides(&shape, axis);
            let (parts, operands) = parts(cx, 1, axis, &to)?;
            let run = move |a: &mut Args<'_>| join(a, width, &parts, &to);
            cx.append("append", (state, axis), 0, (0, shape), &operands, run)?;
            return Ok(());
        }
        let to = shape.strides();
        let (parts, operands) = parts(cx, 0, axis, &to)?;
        let slot = cx.output(0, shape)?;
        cx.step("concat", &operands, &[slot], move |a| join(a, width, &parts, &to));
        Ok(())
    })
}

/// The inputs from `first` on, and where each goes.
fn parts(
    cx: &PlanCx<'_>,
    first: usize,
    axis: usize,
    to: &[isize; MAX_RANK],
) -> Result<(Vec<Part>, Vec<Operand>), PlanError> {
    let (mut parts, mut operands) = (Vec::new(), Vec::new());
    let mut at = 0;
    for index in first..cx.input_count() {
        let (shape, lies) = (cx.shape(index)?, cx.strided(index)?);
        if shape.elements() > 0 {
            let to = at * to[axis] as usize;
            parts.push(Part { shape, offset: lies.offset, strides: lies.strides, to });
            operands.push(lies.operand);
        }
        at += shape[axis];
    }
    Ok((parts, operands))
}

fn join(
    a: &mut Args<'_>,
    width: usize,
    parts: &[Part],
    to: &[isize; MAX_RANK],
) -> Result<(), RunError> {
    let dst = a.write_bytes()?;
    for (index, part) in parts.iter().enumerate() {
        let from = Layout { offset: part.offset, strides: &part.strides };
        let to = Layout { offset: part.to, strides: to };
        copy_layout(width, &part.shape, a.read_bytes(index)?, from, dst, to);
    }
    Ok(())
}
