//! BatchNormalization.

use super::SINGLE;
use super::precision;
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, plan_fn};
use stead_kernels::norm::{batch_norm_affine, channel_stats, scale_shift};
use stead_tensor::Shape;

/// BatchNormalization.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "BatchNormalization",
        &[
            Param::required(1, SINGLE),
            Param::required(1, SINGLE),
            Param::required(1, SINGLE),
            Param::required(1, SINGLE),
            Param::required(1, SINGLE),
        ],
        &[Out::Like(0), Out::Like(0), Out::Like(0), Out::Like(0), Out::Like(0)],
        build_old,
    )
    .until(13),
    OpDef::new(
        "BatchNormalization",
        &[
            Param::required(1, SINGLE),
            Param::required(2, SINGLE),
            Param::required(2, SINGLE),
            Param::required(3, SINGLE),
            Param::required(3, SINGLE),
        ],
        &[Out::Like(0), Out::Like(3), Out::Like(3)],
        build,
    )
    .since(14),
];

/// Up to opset 13 training was asked for by wanting more outputs.
fn build_old(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    if spec.attributes().int_or("spatial", 1)? != 1 {
        return Err(BuildError::unsupported("spatial 0; supported: 1"));
    }
    if (1..spec.output_count()).any(|o| spec.output_type(o).is_some()) {
        return Err(BuildError::unsupported("outputs of training; supported: the first"));
    }
    build_inference(spec)
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    if spec.attributes().bool_or("training_mode", false)? {
        build_training(spec)
    } else {
        build_inference(spec)
    }
}

/// Batch, channels and what is inside, after a check of the parameters, which have a number for each channel.
pub(super) fn channels(
    cx: &PlanCx<'_>,
    parameters: std::ops::Range<usize>,
) -> Result<(usize, usize, usize), PlanError> {
    let x = cx.shape(0)?;
    let &[batch, channels, ref inner @ ..] = x.dims() else {
        return Err(PlanError::shape(format!("batch and channels expected, got {x}")));
    };
    for index in parameters {
        let actual = cx.shape(index)?;
        if actual.elements() != channels {
            return Err(PlanError::shape(format!(
                "input {index}: {channels} numbers expected, got {actual}"
            )));
        }
    }
    Ok((batch, channels, inner.iter().product()))
}

fn build_inference(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let epsilon = spec.attributes().float_or("epsilon", 1e-5)?;
    plan_fn(move |cx| {
        let sizes = channels(cx, 1..5)?;
        let (count, channels) = (cx.shape(0)?.elements(), sizes.1);
        let mut reads = Vec::new();
        for index in 0..5 {
            reads.push(precision::input(cx, index)?);
        }
        let shape = cx.shape(0)?;
        let y = precision::output(cx, 0, shape)?;
        let (factor, shift) = (cx.temp_of::<f32>(channels), cx.temp_of::<f32>(channels));
        cx.step("batch norm", &reads, &[y.slot, factor, shift], move |a| {
            let of = |i: usize| a.read::<f32>(i).map(|v| &v[..channels]);
            let (scale, bias, mean, var) = (of(1)?, of(2)?, of(3)?, of(4)?);
            let x = &a.read::<f32>(0)?[..count];
            let y = &mut a.write::<f32>()?[..count];
            let factor = &mut a.write::<f32>()?[..channels];
            let shift = &mut a.write::<f32>()?[..channels];
            batch_norm_affine(scale, bias, mean, var, epsilon, factor, shift);
            scale_shift(a.isa, a.parallel, sizes, x, factor, shift, y);
            Ok(())
        });
        y.finish(cx);
        Ok(())
    })
}

fn build_training(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let epsilon = spec.attributes().float_or("epsilon", 1e-5)?;
    let momentum = spec.attributes().float_or("momentum", 0.9)?;
    plan_fn(move |cx| {
        let sizes = channels(cx, 1..5)?;
        let (count, channels) = (cx.shape(0)?.elements(), sizes.1);
        let mut reads = Vec::new();
        for index in 0..5 {
            reads.push(precision::input(cx, index)?);
        }
        let shape = cx.shape(0)?;
        let y = precision::output(cx, 0, shape)?;
        let per_channel = Shape::new(&[channels])?;
        let running =
            [precision::output(cx, 1, per_channel)?, precision::output(cx, 2, per_channel)?];
        let mut writes = vec![y.slot, running[0].slot, running[1].slot];
        writes.extend([0; 4].map(|_| cx.temp_of::<f32>(channels)));
        cx.step("batch norm of training", &reads, &writes, move |a| {
            let of = |i: usize| a.read::<f32>(i).map(|v| &v[..channels]);
            let (scale, bias, old) = (of(1)?, of(2)?, [of(3)?, of(4)?]);
            let x = &a.read::<f32>(0)?[..count];
            let y = &mut a.write::<f32>()?[..count];
            let mut next = || a.write::<f32>().map(|v| &mut v[..channels]);
            let (running, now, affine) =
                ([next()?, next()?], [next()?, next()?], [next()?, next()?]);
            let [mean, var] = now;
            channel_stats(a.isa, a.parallel, sizes, x, mean, var);
            for (running, (old, now)) in running.into_iter().zip(old.iter().zip([&*mean, &*var])) {
                for (out, (old, now)) in running.iter_mut().zip(old.iter().zip(now)) {
                    *out = old * momentum + now * (1.0 - momentum);
                }
            }
            let [factor, shift] = affine;
            batch_norm_affine(scale, bias, mean, var, epsilon, factor, shift);
            scale_shift(a.isa, a.parallel, sizes, x, factor, shift, y);
            Ok(())
        });
        y.finish(cx);
        running.into_iter().for_each(|r| r.finish(cx));
        Ok(())
    })
}
