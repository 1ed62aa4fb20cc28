//! RoiAlign.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::attention::{FloatOutput, single};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn, types};
use stead_kernels::detect::{RoiAlign, RoiMode, roi_align};
use stead_tensor::DType::{BF16, F16, F32};
use stead_tensor::Shape;

const X: Param = Param::required(1, TypeSet::of(&[F32, F16, BF16]));
const INPUTS: &[Param] = &[X, X, Param::required(0, types::I64_ONLY)];

/// RoiAlign; since opset 16 elements are centred at one half unless the attribute says otherwise.
pub const OPS: &[OpDef] = &[
    OpDef::new("RoiAlign", INPUTS, &[Out::Like(0)], |spec| build(spec, "output_half_pixel"))
        .since(10)
        .until(15),
    OpDef::new("RoiAlign", INPUTS, &[Out::Like(0)], |spec| build(spec, "half_pixel")).since(16),
];

/// The most points of a cell in one direction; networks have 1 to 4. Each cell has the square of it.
const MAX_SAMPLING: usize = 64;

fn build(spec: &NodeSpec<'_>, default: &str) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let size = |name: &str, default: i64, least: i64| {
        let value = attributes.int_or(name, default)?;
        let checked = usize::try_from(value).ok().filter(|_| value >= least);
        checked.ok_or_else(|| BuildError::unsupported(format!("{name} of {value}")))
    };
    let sampling = size("sampling_ratio", 0, 0)?;
    if sampling > MAX_SAMPLING {
        return Err(BuildError::unsupported(format!(
            "sampling_ratio of {sampling}; supported: up to {MAX_SAMPLING}"
        )));
    }
    let half_pixel = match attributes.string_or("coordinate_transformation_mode", default)? {
        "half_pixel" => true,
        "output_half_pixel" => false,
        other => {
            return Err(BuildError::unsupported(format!(
                "coordinate_transformation_mode is \"{other}\"; supported: half_pixel, \
                 output_half_pixel"
            )));
        }
    };
    let mode = match attributes.string_or("mode", "avg")? {
        "avg" => RoiMode::Mean,
        "max" => RoiMode::Max,
        other => {
            return Err(BuildError::unsupported(format!(
                "mode is \"{other}\"; supported: avg, max"
            )));
        }
    };
    let align = RoiAlign {
        map: [0; 3],
        batches: 0,
        cells: [size("output_height", 1, 1)?, size("output_width", 1, 1)?],
        sampling,
        scale: attributes.float_or("spatial_scale", 1.0)?,
        half_pixel,
        mode,
    };
    plan_fn(move |cx| plan(cx, align))
}

fn plan(cx: &mut PlanCx<'_>, align: RoiAlign) -> Result<(), PlanError> {
    let (x, regions, maps) = (cx.shape(0)?, cx.shape(1)?, cx.shape(2)?);
    let (&[batches, channels, height, width], &[count, 4]) = (x.dims(), regions.dims()) else {
        return Err(PlanError::shape(format!("regions of {regions} in maps of {x}")));
    };
    if maps.dims() != [count] {
        return Err(PlanError::shape(format!("batch_indices of {maps} for {count} regions")));
    }
    let align = RoiAlign { map: [channels, height, width], batches, ..align };
    let reads = [single(cx, 0)?, single(cx, 1)?, cx.input(2)?];
    let shape = Shape::new(&[count, channels, align.cells[0], align.cells[1]])?;
    let out = FloatOutput::new(cx, 0, shape)?;
    cx.step("roi align", &reads, &[out.slot], move |a| {
        let (x, regions, maps) = (a.read(0)?, a.read(1)?, a.read(2)?);
        roi_align(&align, a.parallel, x, regions, maps, a.write()?).map_err(|map| {
            RunError::value(format!("batch index {map} is out of range for {batches} maps"))
        })
    });
    out.finish(cx);
    Ok(())
}
