//! Into blocks and back.

use super::{blocked, channels, image};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, types};
use stead_kernels::blocked::{from_blocks, to_blocks};
use stead_tensor::Shape;

/// ToBlocks, FromBlocks.
pub const OPS: &[OpDef] = &[
    OpDef::new("ToBlocks", &[Param::required(1, types::F32_ONLY)], &[Out::Like(0)], to)
        .domain("stead"),
    OpDef::new("FromBlocks", &[Param::required(1, types::F32_ONLY)], &[Out::Like(0)], from)
        .domain("stead"),
];

fn to(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let x = cx.shape(0)?;
        let &[batch, channels, height, width] = x.dims() else {
            return Err(PlanError::shape(format!("[batch, channels, height, width] for {x}")));
        };
        let sizes = (batch, channels, height * width);
        let source = cx.input(0)?;
        let y = cx.output(0, blocked(batch, channels, [height, width])?)?;
        cx.step("to blocks", &[source], &[y], move |a| {
            to_blocks(a.isa, a.parallel, sizes, a.read::<f32>(0)?, a.write::<f32>()?);
            Ok(())
        });
        Ok(())
    })
}

fn from(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let channels = channels(spec)?;
    plan_fn(move |cx| {
        let [batch, height, width] = image(&cx.shape(0)?, channels)?;
        let sizes = (batch, channels, height * width);
        let x = cx.input(0)?;
        let y = cx.output(0, Shape::new(&[batch, channels, height, width])?)?;
        cx.step("from blocks", &[x], &[y], move |a| {
            from_blocks(a.isa, a.parallel, sizes, a.read::<f32>(0)?, a.write::<f32>()?);
            Ok(())
        });
        Ok(())
    })
}
