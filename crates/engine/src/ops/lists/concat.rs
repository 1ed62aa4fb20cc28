//! ConcatFromSequence: Concat of the elements.

use crate::error::{BuildError, PlanError};
use crate::ir::FormSet;
use crate::ops::movement::{axis_of, concatenate};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, Strided, plan_fn, types};
use crate::plan::Fact;
use stead_tensor::{MAX_RANK, Shape};

/// ConcatFromSequence.
pub const OPS: &[OpDef] = &[OpDef::new(
    "ConcatFromSequence",
    &[Param::required(1, types::ANY).in_form(FormSet::SEQUENCE)],
    &[Out::Element(0)],
    concat,
)
.since(11)];

fn concat(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let axis = attributes.int("axis")?.ok_or_else(|| attributes.missing("axis"))?;
    let new_axis = attributes.bool_or("new_axis", false)?;
    plan_fn(move |cx| {
        let elements = cx.elements(0)?;
        let Some(first) = elements.get(0) else {
            return Err(PlanError::shape("an empty sequence has nothing to concatenate"));
        };
        let axis = axis_of(axis, first.shape.rank() + usize::from(new_axis))?;
        let lying = |element: &Fact| -> Result<(Shape, Strided), PlanError> {
            let lies = element.strided()?;
            match new_axis {
                true => with_axis(&element.shape, lies, axis),
                false => Ok((element.shape, lies)),
            }
        };
        let values = elements.iter().map(lying).collect::<Result<Vec<_>, _>>()?;
        concatenate(cx, values, axis)
    })
}

/// A value with one more axis of one element.
fn with_axis(shape: &Shape, mut lies: Strided, axis: usize) -> Result<(Shape, Strided), PlanError> {
    let mut dims = shape.to_vec();
    if axis > dims.len() {
        return Err(PlanError::shape(format!("{shape} has no place for axis {axis}")));
    }
    dims.insert(axis, 1);
    let shape = Shape::new(&dims)?;
    lies.strides.copy_within(axis..MAX_RANK - 1, axis + 1);
    lies.strides[axis] = 0;
    Ok((shape, lies))
}
