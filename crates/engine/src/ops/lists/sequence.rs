//! Operators that make, change and read sequences.

use crate::error::{BuildError, PlanError};
use crate::ir::{Form, FormSet, Typed};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_onnx::Attributes;
use stead_tensor::{DType, Tensor};

/// Elements are passed on as they are.
const SEQUENCE: Param = Param::required(1, types::VIEWED).in_form(FormSet::SEQUENCE);
const POSITION: Param = Param::optional(0, types::INDEX);

/// SequenceAt, SequenceConstruct, SequenceEmpty, SequenceErase, SequenceInsert, SequenceLength.
pub const OPS: &[OpDef] = &[
    OpDef::new("SequenceAt", &[SEQUENCE, Param::required(0, types::INDEX)], &[Out::Element(0)], at)
        .since(11),
    OpDef::new(
        "SequenceConstruct",
        &[Param::variadic(1, types::VIEWED)],
        &[Out::Sequence(0)],
        construct,
    )
    .since(11),
    OpDef::new("SequenceEmpty", &[], &[Out::Typed(empty_type)], empty).since(11),
    OpDef::new("SequenceErase", &[SEQUENCE, POSITION], &[Out::Like(0)], erase).since(11),
    OpDef::new(
        "SequenceInsert",
        &[SEQUENCE, Param::required(1, types::VIEWED), POSITION],
        &[Out::Like(0)],
        insert,
    )
    .since(11),
    OpDef::new("SequenceLength", &[SEQUENCE], &[Out::Fixed(DType::I64)], length).since(11),
];

fn construct(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let elements = (0..cx.input_count()).map(|i| cx.held(i)).collect::<Result<Vec<_>, _>>()?;
        cx.give_sequence(0, elements)
    })
}

fn empty_type(attributes: &Attributes, _: &[Option<Typed>]) -> Result<Typed, BuildError> {
    let number = attributes.int_or("dtype", DType::F32.onnx_number().into())?;
    let known = i32::try_from(number).ok().and_then(DType::from_onnx_number);
    let dtype = known.filter(|&dtype| types::VIEWED.contains(dtype)).ok_or_else(|| {
        BuildError::unsupported(format!("elements of type number {number} are not supported"))
    })?;
    Ok(Typed { dtype, form: Form::Sequence })
}

fn empty(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| cx.give_sequence(0, Vec::new()))
}

fn at(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let elements = cx.elements(0)?;
        let position = place(cx.int(1)?, elements.len())?;
        let element = elements.get(position).cloned();
        let element = element.ok_or_else(|| outside(position as i64, elements.len()))?;
        cx.give(0, element);
        Ok(())
    })
}

fn erase(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let elements = cx.elements(0)?;
        let position = if cx.has_input(1) { cx.int(1)? } else { -1 };
        let at = place(position, elements.len())?;
        let rest = elements.without(at);
        let (rest, copies) = rest.ok_or_else(|| outside(position, elements.len()))?;
        cx.give_elements(0, rest, copies)
    })
}

fn insert(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let elements = cx.elements(0)?;
        // Behind the last element, where a negative position never points.
        let at = match cx.has_input(2) {
            true => place(cx.int(2)?, elements.len())?,
            false => elements.len(),
        };
        let (more, copies) = elements.with(at, cx.held(1)?);
        cx.give_elements(0, more, copies)
    })
}

fn length(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let len = cx.elements(0)?.len();
        cx.set_value(0, Tensor::scalar(len as i64)?);
        Ok(())
    })
}

/// A position from 0 to `len`, both included; a negative one is counted from the end.
fn place(position: i64, len: usize) -> Result<usize, PlanError> {
    let from_front = if position < 0 { position.checked_add(len as i64) } else { Some(position) };
    let place = from_front.and_then(|at| usize::try_from(at).ok()).filter(|&at| at <= len);
    place.ok_or_else(|| outside(position, len))
}

fn outside(position: i64, len: usize) -> PlanError {
    PlanError::shape(format!("position {position} is outside of a sequence of {len} elements"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_counted_from_both_ends() {
        let cases = [
            (0, 0, Some(0)),
            (3, 3, Some(3)),
            (4, 3, None),
            (-1, 3, Some(2)),
            (-3, 3, Some(0)),
            (-4, 3, None),
            (-1, 0, None),
            (i64::MIN, 3, None),
            (i64::MAX, 3, None),
        ];
        for (position, len, expected) in cases {
            assert_eq!(place(position, len).ok(), expected, "{position} of {len}");
        }
    }
}
