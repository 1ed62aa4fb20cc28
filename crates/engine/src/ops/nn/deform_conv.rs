//! DeformConv: a convolution whose taps are moved.

use super::SINGLE;
use super::conv::{check_bias, groups, resolve};
use super::window::WindowAttributes;
use crate::error::{BuildError, PlanError};
use crate::ops::attention::{FloatOutput, single};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn, product_flops};
use stead_kernels::gemm::{Epilogue, Lhs, MatRef, Rhs, gemm, gemm_scratch_len};
use stead_kernels::sample::{Deform, deformed_columns};

const X: Param = Param::required(1, SINGLE);
const OPTION: Param = Param::optional(1, SINGLE);

/// DeformConv.
pub const OPS: &[OpDef] =
    &[OpDef::new("DeformConv", &[X, X, X, OPTION, OPTION], &[Out::Like(0)], build).since(19)];

/// Inputs after the weights by their positions.
const OFFSETS: usize = 2;
const BIAS: usize = 3;
const MASK: usize = 4;

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let groups = groups(spec)?;
    let offset_groups = spec.attributes().int_or("offset_group", 1)?;
    let offset_groups =
        usize::try_from(offset_groups).ok().filter(|&n| n > 0).ok_or_else(|| {
            BuildError::unsupported(format!(
                "offset_group of {offset_groups}; supported: 1 and more"
            ))
        })?;
    plan_fn(move |cx| plan(cx, &attributes, groups, offset_groups))
}

fn plan(
    cx: &mut PlanCx<'_>,
    attributes: &WindowAttributes,
    groups: usize,
    offset_groups: usize,
) -> Result<(), PlanError> {
    let (x, w) = (cx.shape(0)?, cx.shape(1)?);
    if x.rank() != 4 {
        let rank = x.rank().saturating_sub(2);
        return Err(PlanError::shape(format!("{rank} spatial dimensions; supported: 2")));
    }
    let (conv, result) = resolve(attributes, groups, &x, &w)?;
    check_bias(cx, BIAS, groups * conv.out_channels)?;
    let window = conv.window;
    let channels = conv.groups * conv.in_channels;
    let (taps, positions) = (window.taps(), window.output_len());
    // Groups are whatever the model says: as many as there are offsets for.
    let moved = offset_groups.checked_mul(taps).and_then(|one| Some((one, one.checked_mul(2)?)));
    let shape_of = |count: usize| [conv.batch, count, window.output[1], window.output[2]];
    let masked = cx.has_input(MASK);
    let (offsets, mask_shape) = (cx.shape(OFFSETS)?, masked.then(|| cx.shape(MASK)).transpose()?);
    let fits = channels.is_multiple_of(offset_groups)
        && moved.is_some_and(|(one, two)| {
            let fits_mask = mask_shape.as_ref().is_none_or(|mask| mask.dims() == shape_of(one));
            offsets.dims() == shape_of(two) && fits_mask
        });
    if !fits {
        return Err(PlanError::shape(format!(
            "offsets of {} or a mask do not fit {result} in {offset_groups} groups",
            cx.shape(OFFSETS)?
        )));
    }
    let mut reads = vec![single(cx, 0)?, single(cx, 1)?, single(cx, OFFSETS)?];
    let mut optional = |cx: &mut PlanCx<'_>, index: usize| {
        if !cx.has_input(index) {
            return Ok::<_, PlanError>(None);
        }
        reads.push(single(cx, index)?);
        Ok(Some(reads.len() - 1))
    };
    let (bias, mask) = (optional(cx, BIAS)?, optional(cx, MASK)?);
    let (rows, depth) = (conv.out_channels, conv.depth());
    let out = FloatOutput::new(cx, 0, result)?;
    let columns = cx.temp_of::<f32>(sizes_of([channels, taps, positions])?);
    let (nothing_a, nothing_b) =
        (Lhs::Strided(MatRef::rows(&[], depth)), Rhs::Strided(MatRef::rows(&[], positions)));
    let room = gemm_scratch_len(cx.isa, rows, positions, depth, &nothing_a, &nothing_b);
    let scratch = cx.temp_of::<f32>(room);
    let deform = Deform { window, channels, offset_groups };
    cx.step("deformed convolution", &reads, &[out.slot, columns, scratch], move |a| {
        let (x, w, offsets) = (a.read::<f32>(0)?, a.read::<f32>(1)?, a.read::<f32>(2)?);
        let bias = bias.map(|at| a.read::<f32>(at)).transpose()?;
        let mask = mask.map(|at| a.read::<f32>(at)).transpose()?;
        let (y, columns, scratch) = (a.write::<f32>()?, a.write::<f32>()?, a.write::<f32>()?);
        let part = |data: &[f32], batch: usize| {
            let size = data.len() / conv.batch.max(1);
            batch * size..(batch + 1) * size
        };
        for batch in 0..conv.batch {
            let (image, moved) = (&x[part(x, batch)], &offsets[part(offsets, batch)]);
            let mask = mask.map(|m| &m[part(m, batch)]);
            deformed_columns(&deform, image, moved, mask, columns);
            let results = &mut y[batch * groups * rows * positions..][..groups * rows * positions];
            for group in 0..groups {
                let weights = &w[group * rows * depth..][..rows * depth];
                let columns = &columns[group * depth * positions..][..depth * positions];
                let epilogue = Epilogue {
                    bias_row: bias.map(|b| &b[group * rows..][..rows]),
                    ..Epilogue::default()
                };
                let (lhs, rhs) = (
                    Lhs::Strided(MatRef::rows(weights, depth)),
                    Rhs::Strided(MatRef::rows(columns, positions)),
                );
                let result = &mut results[group * rows * positions..][..rows * positions];
                gemm(
                    a.isa, a.parallel, rows, positions, depth, lhs, rhs, result, positions,
                    &epilogue, scratch,
                );
            }
        }
        Ok(())
    });
    cx.count(product_flops([conv.batch * groups, rows, depth, positions]), 0);
    out.finish(cx);
    Ok(())
}

/// Numbers of the columns of one image.
fn sizes_of(dims: [usize; 3]) -> Result<usize, PlanError> {
    let product = dims.iter().try_fold(1usize, |all, &d| all.checked_mul(d));
    product.ok_or_else(|| PlanError::shape(format!("columns of {dims:?} are too many")))
}
