//! LRN, MeanVarianceNormalization, LpNormalization.

use super::SINGLE;
use super::batch_norm::channels;
use super::precision;
use super::row_norm::axis_of;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn};
use stead_kernels::norm::{
    LocalResponse, channel_stats, local_response, lp_normalize, scale_shift,
};
use stead_tensor::Shape;

/// LRN, MeanVarianceNormalization, LpNormalization.
pub const OPS: &[OpDef] = &[
    OpDef::new("LRN", &[Param::required(1, SINGLE)], &[Out::Like(0)], lrn),
    OpDef::new(
        "MeanVarianceNormalization",
        &[Param::required(1, SINGLE)],
        &[Out::Like(0)],
        mean_variance,
    ),
    OpDef::new("LpNormalization", &[Param::required(1, SINGLE)], &[Out::Like(0)], lp),
];

fn lrn(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let size = attributes.int("size")?.ok_or_else(|| attributes.missing("size"))?;
    let size = usize::try_from(size)
        .ok()
        .filter(|s| (1..1 << 32).contains(s))
        .ok_or_else(|| BuildError::unsupported(format!("size {size}; supported: 1 and more")))?;
    let form = LocalResponse {
        size,
        alpha: attributes.float_or("alpha", 1e-4)?,
        beta: attributes.float_or("beta", 0.75)?,
        bias: attributes.float_or("bias", 1.0)?,
    };
    plan_fn(move |cx| {
        let (sizes, shape) = (channels(cx, 0..0)?, cx.shape(0)?);
        let count = shape.elements();
        let x = precision::input(cx, 0)?;
        let y = precision::output(cx, 0, shape)?;
        cx.step("lrn", &[x], &[y.slot], move |a| {
            let (x, y) = (&a.read::<f32>(0)?[..count], &mut a.write::<f32>()?[..count]);
            local_response(a.parallel, form, sizes, x, y);
            Ok(())
        });
        y.finish(cx);
        Ok(())
    })
}

/// The dimensions as (reduced, kept, reduced), if the kept ones follow each other.
fn kept_block(shape: &Shape, axes: &[i64]) -> Result<(usize, usize, usize), PlanError> {
    let mut reduced = vec![false; shape.rank()];
    for &axis in axes {
        reduced[axis_of(axis, shape.rank())?] = true;
    }
    let first = reduced.iter().position(|r| !r).unwrap_or(reduced.len());
    let len = reduced[first..].iter().position(|&r| r).unwrap_or(reduced.len() - first);
    if reduced[first + len..].iter().any(|r| !r) {
        return Err(PlanError::shape(format!(
            "mean over axes {axes:?} of {shape}; supported: axes that leave neighbouring ones"
        )));
    }
    let product = |dims: &[usize]| dims.iter().product::<usize>();
    Ok((
        product(&shape[..first]),
        product(&shape[first..first + len]),
        product(&shape[first + len..]),
    ))
}

fn mean_variance(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axes = spec.attributes().ints("axes")?.unwrap_or(&[0, 2, 3]).to_vec();
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let sizes = kept_block(&shape, &axes)?;
        let (count, kept) = (shape.elements(), sizes.1);
        let x = precision::input(cx, 0)?;
        let y = precision::output(cx, 0, shape)?;
        let stats = [cx.temp_of::<f32>(kept), cx.temp_of::<f32>(kept)];
        cx.step("mean variance norm", &[x], &[y.slot, stats[0], stats[1]], move |a| {
            let (x, y) = (&a.read::<f32>(0)?[..count], &mut a.write::<f32>()?[..count]);
            let (mean, factor) = (&mut a.write::<f32>()?[..kept], &mut a.write::<f32>()?[..kept]);
            channel_stats(a.isa, a.parallel, sizes, x, mean, factor);
            for (mean, factor) in mean.iter_mut().zip(factor.iter_mut()) {
                // What ONNX adds to the deviation.
                *factor = 1.0 / (factor.sqrt() + 1e-9);
                *mean *= -*factor;
            }
            scale_shift(a.isa, a.parallel, sizes, x, factor, mean, y);
            Ok(())
        });
        y.finish(cx);
        Ok(())
    })
}

fn lp(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let axis = spec.attributes().int_or("axis", -1)?;
    let euclidean = match spec.attributes().int_or("p", 2)? {
        1 => false,
        2 => true,
        p => return Err(BuildError::unsupported(format!("p of {p}; supported: 1, 2"))),
    };
    plan_fn(move |cx| {
        let shape = cx.shape(0)?;
        let at = axis_of(axis, shape.rank())?;
        let product = |dims: &[usize]| dims.iter().product::<usize>();
        let sizes = (product(&shape[..at]), shape[at], product(&shape[at + 1..]));
        let count = shape.elements();
        let x = precision::input(cx, 0)?;
        let y = precision::output(cx, 0, shape)?;
        cx.step("lp norm", &[x], &[y.slot], move |a| {
            let (x, y) = (&a.read::<f32>(0)?[..count], &mut a.write::<f32>()?[..count]);
            lp_normalize(sizes, euclidean, x, y);
            Ok(())
        });
        y.finish(cx);
        Ok(())
    })
}
