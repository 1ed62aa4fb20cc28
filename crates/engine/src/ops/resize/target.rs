//! The extents and scales that a Resize node asks for.

use super::PlanCx;
use super::axis::{Axis, Coordinates};
use super::options::{Aspect, Options, Wanted};
use crate::error::PlanError;
use half::{bf16, f16};
use stead_tensor::{DType, Shape, Tensor};

/// The input with the parts of the axes that are seen.
const ROI_INPUT: usize = 1;

/// What is to be done with each axis.
pub(super) fn axes(cx: &PlanCx<'_>, options: &Options) -> Result<Vec<Axis>, PlanError> {
    let shape = cx.shape(0)?;
    let chosen = chosen(options, &shape)?;
    let mut list: Vec<Axis> = shape
        .iter()
        .map(|&d| Axis {
            from: d,
            to: d,
            scale: 1.0,
            crop: (0.0, 1.0),
            coordinates: options.coordinates,
        })
        .collect();
    match wanted(cx, options)? {
        Extents::Scales(scales) => {
            check(scales.len(), chosen.len(), "scales")?;
            for (&axis, &scale) in chosen.iter().zip(&scales) {
                let axis = &mut list[axis];
                axis.scale = scale;
                axis.to = extent(axis.from as f32 * scale, scale)?;
            }
        }
        Extents::Sizes(sizes) => {
            check(sizes.len(), chosen.len(), "sizes")?;
            by_sizes(&mut list, &chosen, &sizes, options.aspect)?;
        }
    }
    if options.coordinates == Coordinates::TfCropAndResize {
        let roi = floats(&cx.value(ROI_INPUT)?)?;
        check(roi.len(), 2 * chosen.len(), "bounds of the roi")?;
        for (i, &axis) in chosen.iter().enumerate() {
            list[axis].crop = (roi[i], roi[chosen.len() + i]);
        }
    }
    Ok(list)
}

/// The axes that the lists of the node are about.
fn chosen(options: &Options, shape: &Shape) -> Result<Vec<usize>, PlanError> {
    let Some(axes) = &options.axes else { return Ok((0..shape.rank()).collect()) };
    let mut chosen = Vec::with_capacity(axes.len());
    for &axis in axes {
        let wrapped = if axis < 0 { axis.saturating_add(shape.rank() as i64) } else { axis };
        match usize::try_from(wrapped) {
            Ok(at) if at < shape.rank() && !chosen.contains(&at) => chosen.push(at),
            _ => return Err(PlanError::shape(format!("axis {axis} of {axes:?} for {shape}"))),
        }
    }
    Ok(chosen)
}

enum Extents {
    Scales(Vec<f32>),
    Sizes(Vec<i64>),
}

fn wanted(cx: &PlanCx<'_>, options: &Options) -> Result<Extents, PlanError> {
    // Versions of opset 11 and 12 give an empty tensor where they mean none.
    let given =
        |index: usize| cx.has_input(index) && cx.shape(index).is_ok_and(|s| s.elements() > 0);
    Ok(match &options.wanted {
        Wanted::Fixed(scales) => Extents::Scales(scales.clone()),
        Wanted::Scales(index) => Extents::Scales(floats(&cx.value(*index)?)?),
        Wanted::ScalesOrSizes(scales, _) if given(*scales) => {
            Extents::Scales(floats(&cx.value(*scales)?)?)
        }
        Wanted::ScalesOrSizes(_, sizes) if given(*sizes) => Extents::Sizes(cx.ints(*sizes)?),
        Wanted::ScalesOrSizes(..) if cx.shape(0)?.rank() == 0 => Extents::Scales(Vec::new()),
        Wanted::ScalesOrSizes(..) => {
            return Err(PlanError::shape("neither scales nor sizes are given"));
        }
    })
}

fn by_sizes(
    list: &mut [Axis],
    chosen: &[usize],
    sizes: &[i64],
    aspect: Aspect,
) -> Result<(), PlanError> {
    for (&axis, &size) in chosen.iter().zip(sizes) {
        let axis = &mut list[axis];
        axis.to = usize::try_from(size)
            .map_err(|_| PlanError::shape(format!("an axis cannot be resized to {size}")))?;
        axis.scale = if axis.from == 0 { 1.0 } else { axis.to as f32 / axis.from as f32 };
    }
    let scales = chosen.iter().map(|&axis| list[axis].scale);
    let scale = match aspect {
        Aspect::Stretch => return Ok(()),
        Aspect::NotLarger => scales.fold(f32::INFINITY, f32::min),
        Aspect::NotSmaller => scales.fold(0.0, f32::max),
    };
    for &axis in chosen {
        let axis = &mut list[axis];
        axis.scale = scale;
        axis.to = extent((axis.from as f32 * scale).round(), scale)?;
    }
    Ok(())
}

fn extent(value: f32, scale: f32) -> Result<usize, PlanError> {
    // The first number beyond what `isize` holds.
    let limit = isize::MAX as f32;
    if scale > 0.0 && (0.0..limit).contains(&value) {
        Ok(value.floor() as usize)
    } else {
        Err(PlanError::shape(format!("an axis cannot be resized by {scale}")))
    }
}

fn check(have: usize, wanted: usize, what: &str) -> Result<(), PlanError> {
    if have == wanted {
        return Ok(());
    }
    Err(PlanError::shape(format!("{wanted} {what} are expected, got {have}")))
}

fn floats(tensor: &Tensor) -> Result<Vec<f32>, PlanError> {
    Ok(match tensor.dtype() {
        DType::F64 => tensor.as_slice::<f64>()?.iter().map(|&v| v as f32).collect(),
        DType::F16 => tensor.as_slice::<f16>()?.iter().map(|v| v.to_f32()).collect(),
        DType::BF16 => tensor.as_slice::<bf16>()?.iter().map(|v| v.to_f32()).collect(),
        _ => tensor.as_slice::<f32>()?.to_vec(),
    })
}
