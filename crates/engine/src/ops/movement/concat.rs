//! Concat: each input is copied to its place, from wherever it lies.

use super::{axis_of, width_of};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{
    Args, NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Strided, plan_fn, types,
};
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
        if cx.input_count() == 1 {
            return cx.alias(0, 0, first);
        }
        let value = |index| Ok((cx.shape(index)?, cx.strided(index)?));
        let values = (0..cx.input_count()).map(value).collect::<Result<Vec<_>, PlanError>>()?;
        if let Some(state) = cx.appends(0, 0, axis, 1..cx.input_count()) {
            // The first input is a state that grows where it lies: only the others are copied, behind it.
            let shape = joined(&values, axis)?;
            let width = width_of(cx.dtype(0)?);
            let to = grown_strides(&shape, axis);
            let (parts, operands) = parts(values.into_iter().skip(1), axis, &to);
            let run = move |a: &mut Args<'_>| join(a, width, &parts, &to);
            cx.append("append", (state, axis), 0, (0, shape), &operands, run)?;
            return Ok(());
        }
        concatenate(cx, values, axis)
    })
}

/// Puts values side by side along an axis; they become output 0.
///
/// # Errors
/// [`PlanError::Shape`] for shapes that differ in another axis, and for no values.
pub(in crate::ops) fn concatenate(
    cx: &mut PlanCx<'_>,
    values: Vec<(Shape, Strided)>,
    axis: usize,
) -> Result<(), PlanError> {
    let shape = joined(&values, axis)?;
    let width = values.first().map_or(1, |(_, lies)| width_of(lies.operand.ty.0));
    let to = shape.strides();
    let (parts, operands) = parts(values.into_iter(), axis, &to);
    let slot = cx.output(0, shape)?;
    cx.step("concat", &operands, &[slot], move |a| join(a, width, &parts, &to));
    Ok(())
}

/// The shape of values side by side.
fn joined(values: &[(Shape, Strided)], axis: usize) -> Result<Shape, PlanError> {
    let Some(&(first, _)) = values.first() else {
        return Err(PlanError::shape("there is nothing to concatenate"));
    };
    let mut total = 0usize;
    for (shape, _) in values {
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
    Ok(first.with(axis, total)?)
}

/// Where each value goes, for those that have elements.
fn parts(
    values: impl Iterator<Item = (Shape, Strided)>,
    axis: usize,
    to: &[isize; MAX_RANK],
) -> (Vec<Part>, Vec<Operand>) {
    let (mut parts, mut operands) = (Vec::new(), Vec::new());
    let mut at = 0;
    for (shape, lies) in values {
        if shape.elements() > 0 {
            let to = at * to[axis] as usize;
            parts.push(Part { shape, offset: lies.offset, strides: lies.strides, to });
            operands.push(lies.operand);
        }
        at += shape[axis];
    }
    (parts, operands)
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
