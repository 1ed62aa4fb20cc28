//! MaxRoiPool.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::attention::{FloatOutput, single};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn};
use stead_kernels::detect::{REGION, RoiPool, max_roi_pool};
use stead_tensor::DType::{BF16, F16, F32};
use stead_tensor::Shape;

const X: Param = Param::required(1, TypeSet::of(&[F32, F16, BF16]));

/// MaxRoiPool.
pub const OPS: &[OpDef] = &[OpDef::new("MaxRoiPool", &[X, X], &[Out::Like(0)], build)];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let sizes =
        attributes.ints("pooled_shape")?.ok_or_else(|| attributes.missing("pooled_shape"))?;
    let size = |n: i64| usize::try_from(n).ok().filter(|n| *n > 0);
    let cells = match sizes {
        &[height, width] => size(height).zip(size(width)),
        _ => None,
    };
    let Some((height, width)) = cells else {
        return Err(BuildError::unsupported(format!(
            "pooled_shape {sizes:?}; height and width expected"
        )));
    };
    let scale = attributes.float_or("spatial_scale", 1.0)?;
    let pool = RoiPool { map: [0; 3], batches: 0, cells: [height, width], scale };
    plan_fn(move |cx| plan(cx, pool))
}

fn plan(cx: &mut PlanCx<'_>, pool: RoiPool) -> Result<(), PlanError> {
    let (x, regions) = (cx.shape(0)?, cx.shape(1)?);
    let (&[batches, channels, height, width], &[count, REGION]) = (x.dims(), regions.dims()) else {
        return Err(PlanError::shape(format!("regions of {regions} in maps of {x}")));
    };
    let pool = RoiPool { map: [channels, height, width], batches, ..pool };
    let reads = [single(cx, 0)?, single(cx, 1)?];
    let shape = Shape::new(&[count, channels, pool.cells[0], pool.cells[1]])?;
    let out = FloatOutput::new(cx, 0, shape)?;
    cx.step("max roi pool", &reads, &[out.slot], move |a| {
        let (x, regions) = (a.read(0)?, a.read(1)?);
        max_roi_pool(&pool, a.parallel, x, regions, a.write()?).map_err(|map| {
            RunError::value(format!("batch index {map} is out of range for {batches} maps"))
        })
    });
    out.finish(cx);
    Ok(())
}
