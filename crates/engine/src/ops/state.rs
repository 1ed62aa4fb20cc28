//! Where a state of the model enters: what the caller brings, or else the model's own initial value; and the variables of
//! models that name their states themselves.

use super::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_tensor::Tensor;

/// Inputs: the state, which the caller leaves out on the first step; its initial value; and for a layer that
/// runs backwards its input, whose axis `time_axis` must have one element. Attributes: with `zeros` the
/// initial value only gives the shape; with `empty_is_absent` a state of no elements counts as left out.
/// Where there is neither a state nor an initial value the output has no value either, so that a reader for
/// which it is optional takes its default.
///
/// ReadValue and Assign read and write the variable that the attribute `variable` names. [Lifting](crate::lift) makes a State
/// of the first and an output of the second. Where nothing is lifted every run begins anew: what is read is the
/// initial value, the input, and what is written goes nowhere but into the output, which it is.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "State",
        &[
            Param::required(1, types::VIEWED),
            Param::optional(1, types::VIEWED),
            Param::optional(0, types::ANY),
        ],
        &[Out::Like(0)],
        build,
    )
    .domain("stead"),
    OpDef::new("ReadValue", &[Param::required(1, types::VIEWED)], &[Out::Like(0)], variable)
        .domain("stead"),
    OpDef::new("Assign", &[Param::required(1, types::VIEWED)], &[Out::Like(0)], variable)
        .domain("stead"),
];

fn variable(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let shape = cx.shape(0)?;
        cx.alias(0, 0, shape)
    })
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let zeros = attributes.bool_or("zeros", false)?;
    let empty_is_absent = attributes.bool_or("empty_is_absent", false)?;
    let time_axis = attributes.int("time_axis")?.and_then(|axis| usize::try_from(axis).ok());
    plan_fn(move |cx| {
        if let Some(axis) = time_axis {
            let x = cx.shape(2)?;
            if x.dims().get(axis) != Some(&1) {
                return Err(PlanError::shape(format!(
                    "a layer that runs backwards carries its state over one step only, got {x}"
                )));
            }
        }
        plan(cx, zeros, empty_is_absent)
    })
}

fn plan(cx: &mut PlanCx<'_>, zeros: bool, empty_is_absent: bool) -> Result<(), PlanError> {
    if cx.has_input(0) {
        let shape = cx.shape(0)?;
        if !(empty_is_absent && shape.elements() == 0) {
            return cx.alias(0, 0, shape);
        }
    }
    if !cx.has_input(1) {
        return Ok(());
    }
    let shape = cx.shape(1)?;
    if zeros {
        cx.set_value(0, Tensor::zeros(cx.dtype(1)?, shape)?);
        return Ok(());
    }
    cx.alias(0, 1, shape)
}
