//! LayerNormalization and RMSNormalization.

use super::SINGLE;
use super::precision;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn};
use stead_kernels::norm::{RowNorm, RowStats, norm_rows};
use stead_tensor::{DType, Shape};

/// LayerNormalization and RMSNormalization.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "LayerNormalization",
        &[Param::required(1, SINGLE), Param::required(1, SINGLE), Param::optional(1, SINGLE)],
        &[Out::Like(0), Out::Fixed(DType::F32), Out::Fixed(DType::F32)],
        layer_norm,
    ),
    OpDef::new(
        "RMSNormalization",
        &[Param::required(0, SINGLE), Param::required(0, SINGLE)],
        &[Out::Like(1)],
        rms_norm,
    ),
];

fn layer_norm(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    build(spec, RowNorm::Layer)
}

fn rms_norm(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    build(spec, RowNorm::Rms)
}

/// The axis as one from the front, which may be the rank where `end` says so.
pub(super) fn axis_of(axis: i64, rank: usize) -> Result<usize, PlanError> {
    let from_front = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    usize::try_from(from_front)
        .ok()
        .filter(|&a| a < rank)
        .ok_or_else(|| PlanError::shape(format!("axis {axis} of {rank} dimensions")))
}

fn build(spec: &NodeSpec<'_>, form: RowNorm) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let axis = attributes.int_or("axis", -1)?;
    let epsilon = attributes.float_or("epsilon", 1e-5)?;
    // Computed in f32 in any case; other types would be less exact, never more.
    let stash = attributes.int_or("stash_type", 1)?;
    let known = [DType::F32, DType::F16, DType::BF16].map(|t| i64::from(t.onnx_number()));
    if !known.contains(&stash) {
        return Err(BuildError::unsupported(format!("stash_type {stash}; supported: {known:?}")));
    }
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let axis = axis_of(axis, shape.rank())?;
        let (outer, inner) = shape.split_at(axis);
        let cols = inner.iter().product::<usize>();
        for index in [1, 2] {
            if cx.has_input(index) && cx.shape(index)?.elements() != cols {
                let actual = cx.shape(index)?;
                return Err(PlanError::shape(format!(
                    "input {index}: {cols} numbers expected, got {actual}"
                )));
            }
        }
        let mut stats = vec![1; shape.rank()];
        stats[..axis].copy_from_slice(outer);
        let stats_shape = Shape::new(&stats)?;
        let (count, rows) = (shape.elements(), stats_shape.elements());
        let mut reads = vec![precision::input(cx, 0)?, precision::input(cx, 1)?];
        let bias = precision::optional(cx, 2)?;
        let has_bias = bias.is_some();
        reads.extend(bias);
        let y = precision::output(cx, 0, shape)?;
        let mut writes = vec![y.slot];
        let wants = [cx.wants(1), cx.wants(2)];
        for output in [1, 2] {
            if cx.wants(output) {
                writes.push(cx.output(output, stats_shape)?);
            }
        }
        let name = if form == RowNorm::Rms { "rms norm" } else { "layer norm" };
        cx.step(name, &reads, &writes, move |a| {
            let (x, scale) = (&a.read::<f32>(0)?[..count], &a.read::<f32>(1)?[..cols]);
            let bias = if has_bias { Some(&a.read::<f32>(2)?[..cols]) } else { None };
            let y = &mut a.write::<f32>()?[..count];
            let mut stat = |wanted: bool| {
                if wanted { a.write::<f32>().map(|s| Some(&mut s[..rows])) } else { Ok(None) }
            };
            let stats = RowStats { mean: stat(wants[0])?, inv_std: stat(wants[1])? };
            let scale = Some(scale);
            norm_rows(a.isa, a.parallel, form, cols, x, scale, bias, epsilon, y, stats);
            Ok(())
        });
        y.finish(cx);
        Ok(())
    })
}
