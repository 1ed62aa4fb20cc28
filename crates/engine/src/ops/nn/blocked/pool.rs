//! Pools of blocks: those under windows stay in blocks, the means of whole planes do not.

use super::super::window::WindowAttributes;
use super::{blocked, channels, image, means};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::Window;
use stead_kernels::blocked::{average_pool, blocks, global_average, max_pool};
use stead_kernels::pool::AverageCount;
use stead_tensor::Shape;

/// BlockedMaxPool, BlockedAveragePool, with the attributes of the pools of ONNX and `channels`;
/// BlockedGlobalAverage, which gives `[batch, channels]` and as many dimensions of 1 as the attribute `spatial`.
pub const OPS: &[OpDef] = &[
    OpDef::new("BlockedMaxPool", &[Param::required(1, types::F32_ONLY)], &[Out::Like(0)], max)
        .domain("stead"),
    OpDef::new(
        "BlockedAveragePool",
        &[Param::required(1, types::F32_ONLY)],
        &[Out::Like(0)],
        average,
    )
    .domain("stead"),
    OpDef::new(
        "BlockedGlobalAverage",
        &[Param::required(1, types::F32_ONLY)],
        &[Out::Like(0)],
        global,
    )
    .domain("stead"),
];

/// The window, the padding at the ends, the planes of blocks and the shape of the result.
fn resolve(
    cx: &PlanCx<'_>,
    attributes: &WindowAttributes,
    channels: usize,
) -> Result<(Window, [usize; 3], usize, Shape), PlanError> {
    let [batch, height, width] = image(&cx.shape(0)?, channels)?;
    let kernel = attributes.kernel(None)?;
    let (window, ends) = attributes.resolve(&[height, width], &kernel)?;
    let [_, height, width] = window.output;
    let planes = batch * blocks(channels);
    Ok((window, ends, planes, blocked(batch, channels, [height, width])?))
}

fn max(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let channels = channels(spec)?;
    plan_fn(move |cx| {
        let (window, _, planes, shape) = resolve(cx, &attributes, channels)?;
        let (x, y) = (cx.input(0)?, cx.output(0, shape)?);
        cx.step("max pool of blocks", &[x], &[y], move |a| {
            let (x, y) = (a.read::<f32>(0)?, a.write::<f32>()?);
            max_pool(a.isa, a.parallel, &window, planes, x, y);
            Ok(())
        });
        Ok(())
    })
}

fn average(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let channels = channels(spec)?;
    let count_padding = spec.attributes().bool_or("count_include_pad", false)?;
    plan_fn(move |cx| {
        let (window, ends, planes, shape) = resolve(cx, &attributes, channels)?;
        let count = if count_padding { AverageCount::Padded(ends) } else { AverageCount::Inside };
        let (x, y) = (cx.input(0)?, cx.output(0, shape)?);
        cx.step("average pool of blocks", &[x], &[y], move |a| {
            let (x, y) = (a.read::<f32>(0)?, a.write::<f32>()?);
            average_pool(a.isa, a.parallel, &window, count, planes, x, y);
            Ok(())
        });
        Ok(())
    })
}

fn global(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let channels = channels(spec)?;
    let spatial = spec.attributes().int_or("spatial", 2)?;
    plan_fn(move |cx| {
        let [batch, height, width] = image(&cx.shape(0)?, channels)?;
        let sizes = (batch, channels, height * width);
        let x = cx.input(0)?;
        let y = cx.output(0, means(batch, channels, spatial)?)?;
        cx.step("global pool of blocks", &[x], &[y], move |a| {
            let (x, y) = (a.read::<f32>(0)?, a.write::<f32>()?);
            global_average(a.isa, a.parallel, sizes, x, &mut y[..sizes.0 * sizes.1]);
            Ok(())
        });
        Ok(())
    })
}
