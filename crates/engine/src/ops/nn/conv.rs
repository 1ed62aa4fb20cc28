//! Conv.

use super::SINGLE;
use super::precision::{self, Numbers};
use super::window::WindowAttributes;
use crate::error::{BuildError, PlanError};
use crate::ops::{
    NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, activation, plan_fn, product_flops, types,
};
use std::sync::Arc;
use stead_kernels::conv::{ConvShape, Weights, conv, conv_scratch_len, direct, pack_weights};
use stead_kernels::gemm::Activation;
use stead_tensor::{DType, Shape, Tensor};

const FLOAT: TypeSet = SINGLE.or(TypeSet::of(&[DType::F64]));

/// Conv, and its form with an activation (attributes as in [`activation`]) that passes make.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "Conv",
        &[Param::required(1, FLOAT), Param::required(1, FLOAT), Param::optional(1, FLOAT)],
        &[Out::Like(0)],
        build,
    ),
    OpDef::new(
        "Conv",
        &[
            Param::required(1, types::F32_ONLY),
            Param::required(1, types::F32_ONLY),
            Param::optional(1, types::F32_ONLY),
        ],
        &[Out::Like(0)],
        build,
    )
    .domain("stead"),
];

/// The number of groups.
pub(super) fn groups(spec: &NodeSpec<'_>) -> Result<usize, BuildError> {
    let group = spec.attributes().int_or("group", 1)?;
    usize::try_from(group)
        .ok()
        .filter(|&g| g > 0)
        .ok_or_else(|| BuildError::unsupported(format!("group {group}; supported: 1 and more")))
}

/// The sizes of a convolution of `x` with weights `w` in `groups`, and the shape of its output.
pub(super) fn resolve(
    attributes: &WindowAttributes,
    groups: usize,
    x: &Shape,
    w: &Shape,
) -> Result<(ConvShape, Shape), PlanError> {
    let fail =
        || PlanError::shape(format!("a convolution of {x} with weights {w} in {groups} groups"));
    let (&[batch, channels, ref spatial @ ..], &[outputs, in_channels, ref kernel @ ..]) =
        (x.dims(), w.dims())
    else {
        return Err(fail());
    };
    let fits = in_channels > 0 && Some(channels) == in_channels.checked_mul(groups);
    if !fits || !outputs.is_multiple_of(groups) || spatial.len() != kernel.len() {
        return Err(fail());
    }
    let kernel = attributes.kernel(Some(kernel))?;
    let (window, _) = attributes.resolve(spatial, &kernel)?;
    let mut dims = vec![batch, outputs];
    dims.extend_from_slice(&window.output[3 - spatial.len()..]);
    let out_channels = outputs / groups;
    Ok((ConvShape { batch, groups, in_channels, out_channels, window }, Shape::new(&dims)?))
}

/// Checks the shape of a bias.
pub(super) fn check_bias(cx: &PlanCx<'_>, index: usize, channels: usize) -> Result<(), PlanError> {
    if cx.has_input(index) && cx.shape(index)?.elements() != channels {
        let bias = cx.shape(index)?;
        return Err(PlanError::shape(format!("a bias of {channels} numbers expected, got {bias}")));
    }
    Ok(())
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let groups = groups(spec)?;
    let activation = activation::from_attributes(spec.attributes())?;
    if spec.dtype()? == DType::F64 {
        return plan_fn(move |cx| plan_f64(cx, &attributes, groups));
    }
    let isa = spec.isa;
    let packed = match spec.constant(1) {
        Some(w) if w.shape().rank() > 2 && w.shape()[0].is_multiple_of(groups) => {
            let layout = format!("conv, {groups} groups");
            spec.pack(1, &layout, |w| pack(isa, w, groups))?
        }
        _ => None,
    };
    plan_fn(move |cx| plan(cx, &attributes, groups, activation, packed.clone()))
}

fn pack(isa: stead_kernels::Isa, w: &Tensor, groups: usize) -> Result<Numbers, BuildError> {
    let wide = Numbers::of(isa, w)?;
    let mut packed = Numbers::zeros(wide.as_slice().len())?;
    let shape = w.shape();
    let depth = shape[1..].iter().product();
    let (m, dst) = (shape[0] / groups, packed.as_mut_slice());
    pack_weights(isa, groups, m, shape[1], depth, wide.as_slice(), dst);
    Ok(packed)
}

fn plan(
    cx: &mut PlanCx<'_>,
    attributes: &WindowAttributes,
    groups: usize,
    activation: Activation,
    packed: Option<Arc<Numbers>>,
) -> Result<(), PlanError> {
    let (shape, out) = resolve(attributes, groups, &cx.shape(0)?, &cx.shape(1)?)?;
    check_bias(cx, 2, groups * shape.out_channels)?;
    let mut reads = vec![precision::input(cx, 0)?];
    if packed.is_none() {
        reads.push(precision::input(cx, 1)?);
    }
    let bias = precision::optional(cx, 2)?.map(|bias| {
        reads.push(bias);
        reads.len() - 1
    });
    let y = precision::output(cx, 0, out)?;
    let packed_bytes = packed.as_ref().map_or(0, |packed| size_of_val(packed.as_slice()));
    let scratch = cx.temp_of::<f32>(conv_scratch_len(cx.isa, &shape, packed.is_some()));
    cx.step(step_name(&shape), &reads, &[y.slot, scratch], move |a| {
        let x = a.read::<f32>(0)?;
        let weights = match &packed {
            Some(packed) => Weights::Packed(packed.as_slice()),
            None => Weights::Rows(a.read::<f32>(1)?),
        };
        let bias = bias.map(|i| a.read::<f32>(i)).transpose()?;
        let (y, scratch) = (a.write::<f32>()?, a.write::<f32>()?);
        conv(a.isa, a.parallel, &shape, x, weights, bias, activation, y, scratch);
        Ok(())
    });
    cx.count(product_flops([1, shape.output_len(), 1, shape.depth()]), packed_bytes);
    y.finish(cx);
    Ok(())
}

fn step_name(shape: &ConvShape) -> &'static str {
    if shape.groups > 1 && shape.in_channels == 1 {
        "conv depthwise"
    } else if shape.window.is_pointwise() {
        "conv 1x1"
    } else {
        "conv"
    }
}

fn plan_f64(
    cx: &mut PlanCx<'_>,
    attributes: &WindowAttributes,
    groups: usize,
) -> Result<(), PlanError> {
    let (shape, out) = resolve(attributes, groups, &cx.shape(0)?, &cx.shape(1)?)?;
    check_bias(cx, 2, groups * shape.out_channels)?;
    let mut reads = vec![cx.input(0)?, cx.input(1)?];
    let has_bias = cx.has_input(2);
    if has_bias {
        reads.push(cx.input(2)?);
    }
    let y = cx.output(0, out)?;
    cx.step("conv f64", &reads, &[y], move |a| {
        let bias = if has_bias { Some(a.read::<f64>(2)?) } else { None };
        let (x, w) = (a.read::<f64>(0)?, a.read::<f64>(1)?);
        let operands = direct::Operands { x, x_zero: 0.0, w, w_zero: &[0.0], bias };
        let y = a.write::<f64>()?;
        direct::conv(a.isa, a.parallel, &shape, &operands, 0.0, &mut y[..shape.output_len()]);
        Ok(())
    });
    Ok(())
}
