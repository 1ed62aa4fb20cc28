//! GridSample.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::cast::cast_step;
use crate::ops::{Args, NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, plan_fn, types};
use stead_kernels::sample::{Coordinate, GridSample, Interpolation, Padding, grid_sample};
use stead_tensor::{DType, Element, Shape};

/// GridSample: two dimensions until opset 19, any number since.
pub const OPS: &[OpDef] = &[OpDef::new(
    "GridSample",
    &[Param::required(0, types::NUMERIC), Param::required(0, types::FLOAT)],
    &[Out::Like(0)],
    build,
)
.since(16)];

#[derive(Debug, Clone, Copy)]
struct Options {
    interpolation: Interpolation,
    padding: Padding,
    align_corners: bool,
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let interpolation = match attributes.string_or("mode", "linear")? {
        "nearest" => Interpolation::Nearest,
        "linear" | "bilinear" => Interpolation::Linear,
        "cubic" | "bicubic" => Interpolation::Cubic,
        other => {
            return Err(BuildError::unsupported(format!(
                "mode is \"{other}\"; supported: nearest, linear, cubic"
            )));
        }
    };
    let padding = match attributes.string_or("padding_mode", "zeros")? {
        "zeros" => Padding::Zeros,
        "border" => Padding::Border,
        "reflection" => Padding::Reflection,
        other => {
            return Err(BuildError::unsupported(format!(
                "padding_mode is \"{other}\"; supported: zeros, border, reflection"
            )));
        }
    };
    let align_corners = attributes.bool_or("align_corners", false)?;
    let options = Options { interpolation, padding, align_corners };
    plan_fn(move |cx| plan(cx, options))
}

fn plan(cx: &mut PlanCx<'_>, options: Options) -> Result<(), PlanError> {
    let (x, grid) = (cx.shape(0)?, cx.shape(1)?);
    let fail = || PlanError::shape(format!("a grid of {grid} for an input of {x}"));
    let (&[batches, channels, ref spatial @ ..], &[grids, ref points @ .., coordinates]) =
        (x.dims(), grid.dims())
    else {
        return Err(fail());
    };
    let rank = spatial.len();
    if grids != batches || points.len() != rank || coordinates != rank {
        return Err(fail());
    }
    if !(1..=3).contains(&rank) {
        return Err(PlanError::shape(format!("{rank} spatial dimensions; supported: 1 to 3")));
    }
    let mut dims = [1; 3];
    dims[3 - rank..].copy_from_slice(spatial);
    let sample = GridSample {
        batches,
        channels,
        dims,
        rank,
        points: points.iter().product(),
        interpolation: options.interpolation,
        padding: options.padding,
        align_corners: options.align_corners,
    };
    let result = Shape::new(&[&[batches, channels][..], points].concat())?;
    let dtype = cx.dtype(0)?;
    // Whole numbers of 64 bits do not fit into an f32.
    let wide = match dtype {
        DType::F32 | DType::F16 | DType::BF16 => DType::F32,
        _ => DType::F64,
    };
    let reads = [operand_as(cx, 0, wide)?, operand_as(cx, 1, wide)?];
    let out = cx.output(0, result)?;
    let slot = match dtype == wide {
        true => out,
        false => cx.temp(result.byte_len(wide)),
    };
    cx.step("grid sample", &reads, &[slot], move |a| match wide {
        DType::F32 => run::<f32>(&sample, a),
        _ => run::<f64>(&sample, a),
    });
    if dtype != wide {
        let wide_result = cx.read_back(slot);
        cast_step(cx, wide_result, wide, out, dtype, result.elements())?;
    }
    Ok(())
}

fn run<T: Element + Coordinate>(sample: &GridSample, a: &mut Args<'_>) -> Result<(), RunError> {
    grid_sample(sample, a.parallel, a.read::<T>(0)?, a.read::<T>(1)?, a.write::<T>()?);
    Ok(())
}

/// An input in another type.
fn operand_as(cx: &mut PlanCx<'_>, index: usize, to: DType) -> Result<Operand, PlanError> {
    let (from, shape) = (cx.dtype(index)?, cx.shape(index)?);
    let x = cx.input(index)?;
    if from == to {
        return Ok(x);
    }
    let slot = cx.temp(shape.byte_len(to));
    cast_step(cx, x, from, slot, to, shape.elements())?;
    Ok(cx.read_back(slot))
}
