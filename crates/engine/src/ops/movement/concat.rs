//! Concat: each input is copied to its place, from wherever it lies.

use super::{axis_of, width_of, with_dim};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::movement::{Layout, copy_layout};
use stead_tensor::{MAX_RANK, Shape};

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
            if shape.rank() != first.rank() || with_dim(&shape, axis, first[axis])? != first {
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
        let shape = with_dim(&first, axis, total)?;
        let to = shape.strides();
        let width = width_of(cx.dtype(0)?);
        let (mut parts, mut operands) = (Vec::new(), Vec::new());
        let mut at = 0;
        for index in 0..cx.input_count() {
            let (shape, lies) = (cx.shape(index)?, cx.strided(index)?);
            if shape.elements() > 0 {
                let to = at * to[axis] as usize;
                parts.push(Part { shape, offset: lies.offset, strides: lies.strides, to });
                operands.push(lies.operand);
            }
            at += shape[axis];
        }
        let slot = cx.output(0, shape)?;
        cx.step("concat", &operands, &[slot], move |a| {
            let dst = a.write_bytes()?;
            for (index, part) in parts.iter().enumerate() {
                let from = Layout { offset: part.offset, strides: &part.strides };
                let to = Layout { offset: part.to, strides: &to };
                copy_layout(width, &part.shape, a.read_bytes(index)?, from, dst, to);
            }
            Ok(())
        });
        Ok(())
    })
}
