//! InstanceNormalization and GroupNormalization.

use super::SINGLE;
use super::batch_norm::channels;
use super::precision;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn};
use stead_kernels::norm::group_norm;

/// InstanceNormalization and GroupNormalization.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "InstanceNormalization",
        &[Param::required(1, SINGLE), Param::required(1, SINGLE), Param::required(1, SINGLE)],
        &[Out::Like(0)],
        instance,
    ),
    OpDef::new(
        "GroupNormalization",
        &[Param::required(1, SINGLE), Param::required(1, SINGLE), Param::required(1, SINGLE)],
        &[Out::Like(0)],
        group,
    )
    .since(18),
];

fn instance(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let epsilon = spec.attributes().float_or("epsilon", 1e-5)?;
    plan_fn(move |cx| {
        let sizes = channels(cx, 1..3)?;
        plan(cx, sizes, sizes.1, false, epsilon)
    })
}

fn group(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let epsilon = attributes.float_or("epsilon", 1e-5)?;
    let groups = attributes.int("num_groups")?.ok_or_else(|| attributes.missing("num_groups"))?;
    let groups = usize::try_from(groups).ok().filter(|&g| g > 0).ok_or_else(|| {
        BuildError::unsupported(format!("num_groups {groups}; supported: 1 and more"))
    })?;
    // Until opset 20 scale and bias had a number for each group.
    let by_group = spec.opset() < 21;
    plan_fn(move |cx| {
        let sizes = channels(cx, if by_group { 0..0 } else { 1..3 })?;
        if !sizes.1.is_multiple_of(groups) {
            return Err(PlanError::shape(format!("{groups} groups of {} channels", sizes.1)));
        }
        for index in [1, 2] {
            if by_group && cx.shape(index)?.elements() != groups {
                let actual = cx.shape(index)?;
                return Err(PlanError::shape(format!(
                    "input {index}: {groups} numbers expected, got {actual}"
                )));
            }
        }
        plan(cx, sizes, groups, by_group, epsilon)
    })
}

fn plan(
    cx: &mut PlanCx<'_>,
    sizes: (usize, usize, usize),
    groups: usize,
    by_group: bool,
    epsilon: f32,
) -> Result<(), PlanError> {
    let (shape, channels) = (cx.shape(0)?, sizes.1);
    let count = shape.elements();
    if count == 0 {
        cx.output(0, shape)?;
        return Ok(());
    }
    let reads = [precision::input(cx, 0)?, precision::input(cx, 1)?, precision::input(cx, 2)?];
    let y = precision::output(cx, 0, shape)?;
    let room = if by_group { channels } else { 0 };
    let expanded = [cx.temp_of::<f32>(room), cx.temp_of::<f32>(room)];
    cx.step("group norm", &reads, &[y.slot, expanded[0], expanded[1]], move |a| {
        let x = &a.read::<f32>(0)?[..count];
        let (scale, bias) = (a.read::<f32>(1)?, a.read::<f32>(2)?);
        let y = &mut a.write::<f32>()?[..count];
        let (wide_scale, wide_bias) = (a.write::<f32>()?, a.write::<f32>()?);
        let (scale, bias) = if by_group {
            let each = channels / groups;
            for c in 0..channels {
                wide_scale[c] = scale[c / each];
                wide_bias[c] = bias[c / each];
            }
            (&wide_scale[..channels], &wide_bias[..channels])
        } else {
            (&scale[..channels], &bias[..channels])
        };
        group_norm(a.isa, a.parallel, sizes, groups, x, scale, bias, epsilon, y);
        Ok(())
    });
    y.finish(cx);
    Ok(())
}
