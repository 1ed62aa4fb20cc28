//! SplitToSequence: the parts are views.

use crate::error::{BuildError, PlanError};
use crate::ops::movement::{axis_of, dim_of};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use crate::plan::{Fact, MAX_ELEMENTS, View};
use stead_tensor::{MAX_RANK, Shape};

/// SplitToSequence.
pub const OPS: &[OpDef] = &[OpDef::new(
    "SplitToSequence",
    &[Param::required(0, types::ANY), Param::optional(0, types::INDEX)],
    &[Out::Sequence(0)],
    split,
)
.since(11)];

fn split(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let axis = attributes.int_or("axis", 0)?;
    let keeps_axis = attributes.bool_or("keepdims", true)?;
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let axis = axis_of(axis, shape.rank())?;
        let sizes = sizes(cx, shape[axis])?;
        // Only parts that nobody asked for the size of lose the axis.
        let keeps_axis = keeps_axis || cx.has_input(1);
        let whole = cx.held(0)?;
        let lies = whole.strided()?;
        let mut parts = Vec::with_capacity(sizes.len());
        let mut at = 0;
        for size in sizes {
            let offset = lies.offset as isize + at as isize * lies.strides[axis];
            let part = shape.with(axis, size)?;
            let offset = if part.elements() == 0 { 0 } else { offset.unsigned_abs() };
            let (part, strides) = match keeps_axis {
                true => (part, lies.strides),
                false => without(&part, &lies.strides, axis)?,
            };
            let view = Some(View { offset, strides });
            parts.push(Fact { shape: part, view, ..whole.clone() });
            at += size;
        }
        cx.give_sequence(0, parts)
    })
}

/// The sizes of the parts of an axis of `dim` elements.
fn sizes(cx: &PlanCx<'_>, dim: usize) -> Result<Vec<usize>, PlanError> {
    if !cx.has_input(1) {
        return even(dim, 1);
    }
    let given = cx.ints(1)?;
    if cx.shape(1)?.rank() == 0 {
        return even(dim, given.first().map_or(Ok(0), |&size| dim_of(size))?);
    }
    let sizes = given.iter().map(|&size| dim_of(size)).collect::<Result<Vec<_>, _>>()?;
    if sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size)) != Some(dim) {
        return Err(PlanError::shape(format!("an axis of {dim} cannot be split into {given:?}")));
    }
    Ok(sizes)
}

/// Parts of one size, of which the last may be smaller.
fn even(dim: usize, size: usize) -> Result<Vec<usize>, PlanError> {
    if size == 0 {
        return Err(PlanError::shape("an axis is split into parts of no elements"));
    }
    let count = dim.div_ceil(size);
    if count > MAX_ELEMENTS {
        return Err(PlanError::shape(format!(
            "an axis is split into {count} parts; at most {MAX_ELEMENTS} can be planned"
        )));
    }
    Ok((0..count).map(|part| size.min(dim - part * size)).collect())
}

/// A shape and its strides without an axis.
fn without(
    shape: &Shape,
    strides: &[isize; MAX_RANK],
    axis: usize,
) -> Result<(Shape, [isize; MAX_RANK]), PlanError> {
    let mut dims = shape.to_vec();
    dims.remove(axis);
    let mut kept = [0isize; MAX_RANK];
    let others = (0..shape.rank()).filter(|&a| a != axis);
    kept.iter_mut().zip(others).for_each(|(to, from)| *to = strides[from]);
    Ok((Shape::new(&dims)?, kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_one_size() {
        assert_eq!(even(7, 3), Ok(vec![3, 3, 1]));
        assert_eq!(even(3, 1), Ok(vec![1, 1, 1]));
        assert_eq!(even(2, usize::MAX), Ok(vec![2]));
        assert_eq!(even(0, 2), Ok(vec![]));
        assert!(even(3, 0).is_err());
        assert!(even(usize::MAX, 1).is_err());
    }
}
