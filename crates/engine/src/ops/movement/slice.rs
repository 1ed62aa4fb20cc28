//! Slice: a view with an offset and other strides.

use super::axes_of;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_tensor::Shape;

const BOUNDS: Param = Param::required(2, types::INDEX);
const MORE: Param = Param::optional(2, types::INDEX);

/// Slice.
pub const OPS: &[OpDef] = &[
    OpDef::new("Slice", &[Param::required(1, types::ANY)], &[Out::Like(0)], by_attributes).until(9),
    OpDef::new(
        "Slice",
        &[Param::required(1, types::ANY), BOUNDS, BOUNDS, MORE, MORE],
        &[Out::Like(0)],
        by_inputs,
    )
    .since(10),
];

/// What a node asks for, as it is written.
struct Ranges {
    starts: Vec<i64>,
    ends: Vec<i64>,
    axes: Option<Vec<i64>>,
    steps: Option<Vec<i64>>,
}

fn by_attributes(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let list = |name| Ok::<_, BuildError>(attributes.ints(name)?.map(<[i64]>::to_vec));
    let ranges = Ranges {
        starts: list("starts")?.ok_or_else(|| attributes.missing("starts"))?,
        ends: list("ends")?.ok_or_else(|| attributes.missing("ends"))?,
        axes: list("axes")?,
        steps: None,
    };
    plan_fn(move |cx| slice(cx, &ranges))
}

fn by_inputs(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let optional = |index| cx.has_input(index).then(|| cx.ints(index)).transpose();
        let ranges = Ranges {
            starts: cx.ints(1)?,
            ends: cx.ints(2)?,
            axes: optional(3)?,
            steps: optional(4)?,
        };
        slice(cx, &ranges)
    })
}

fn slice(cx: &mut PlanCx<'_>, ranges: &Ranges) -> Result<(), PlanError> {
    let shape = cx.shape(0)?;
    let Ranges { starts, ends, axes, steps } = ranges;
    let axes = match axes {
        Some(axes) => axes_of(axes, shape.rank())?,
        None => axes_of(&(0..starts.len() as i64).collect::<Vec<_>>(), shape.rank())?,
    };
    let steps = steps.clone().unwrap_or_else(|| vec![1; axes.len()]);
    if starts.len() != axes.len() || ends.len() != axes.len() || steps.len() != axes.len() {
        return Err(PlanError::shape(format!(
            "{} starts, {} ends and {} steps for {} axes",
            starts.len(),
            ends.len(),
            steps.len(),
            axes.len()
        )));
    }
    let lies = cx.strided(0)?;
    let (mut dims, mut strides) = (shape.to_vec(), lies.strides);
    let mut offset = lies.offset as isize;
    for (i, &axis) in axes.iter().enumerate() {
        let (first, len) = range(starts[i], ends[i], steps[i], dims[axis])
            .ok_or_else(|| PlanError::shape(format!("step 0 on axis {axis}")))?;
        // What is sliced away whole has no first element.
        if len > 0 {
            offset += first as isize * strides[axis];
        }
        dims[axis] = len;
        strides[axis] = if len > 1 { strides[axis] * steps[i] as isize } else { 0 };
    }
    let offset = if dims.contains(&0) { 0 } else { offset as usize };
    cx.alias_view(0, 0, Shape::new(&dims)?, offset, strides)
}

/// The first position and the number of elements of a range on an axis of `dim`; `None` for a step of 0.
/// Bounds count from the end when negative and are then clamped, as the definition of Slice says.
fn range(start: i64, end: i64, step: i64, dim: usize) -> Option<(usize, usize)> {
    let dim = dim as i64;
    let wrap = |v: i64| if v < 0 { v.saturating_add(dim) } else { v };
    if dim == 0 || step == 0 {
        return (step != 0).then_some((0, 0));
    }
    let (start, span) = if step > 0 {
        let (start, end) = (wrap(start).clamp(0, dim), wrap(end).clamp(0, dim));
        (start, end - start)
    } else {
        let (start, end) = (wrap(start).clamp(0, dim - 1), wrap(end).clamp(-1, dim - 1));
        (start, start - end)
    };
    let len = (span.max(0) as u64).div_ceil(step.unsigned_abs());
    Some((start as usize, len as usize))
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_are_clamped() {
        let (min, max) = (i64::MIN, i64::MAX);
        let cases: [(&str, [i64; 3], usize, Option<(usize, usize)>); 12] = [
            ("plain", [1, 3, 1], 5, Some((1, 2))),
            ("to the end", [2, max, 1], 5, Some((2, 3))),
            ("from the end", [-2, max, 1], 5, Some((3, 2))),
            ("all", [min, max, 1], 5, Some((0, 5))),
            ("start beyond", [7, 9, 1], 5, Some((5, 0))),
            ("every other", [0, 5, 2], 5, Some((0, 3))),
            ("reversed", [-1, min, -1], 5, Some((4, 5))),
            ("reversed in twos", [20, 0, -2], 5, Some((4, 2))),
            ("huge step", [0, 5, max], 5, Some((0, 1))),
            ("huge step back", [4, min, min], 5, Some((4, 1))),
            ("empty axis", [0, 5, -1], 0, Some((0, 0))),
            ("no step", [0, 5, 0], 5, None),
        ];
        for (label, [start, end, step], dim, expected) in cases {
            assert_eq!(range(start, end, step, dim), expected, "{label}");
        }
    }
}
