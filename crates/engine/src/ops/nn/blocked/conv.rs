//! Convolutions of blocks.

use super::super::conv::{groups, resolve};
use super::super::precision::Numbers;
use super::super::window::WindowAttributes;
use super::{blocked, image, means};
use crate::error::{BuildError, PlanError};
use crate::ops::broadcasting::{aligned, broadcast_shape};
use crate::ops::{
    NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, activation, plan_fn, product_flops,
    types,
};
use std::sync::Arc;
use stead_kernels::Isa;
use stead_kernels::blocked::{
    BLOCK, Conv, Depthwise, Factors, Source, affine, blocks, conv, conv_scratch_len, depthwise,
    pack_depthwise, pack_weights, packed_len,
};
use stead_kernels::broadcast::Broadcast;
use stead_kernels::conv::ConvShape;
use stead_kernels::elementwise::{BinaryOp, Lane, Run};
use stead_kernels::gemm::{Activation, activate_slice};
use stead_tensor::{Shape, Tensor};

/// BlockedConv: a convolution over two dimensions with constant weights and bias, of one group or of as many as
/// channels. Input 3 is added to the result before the activation; input 4 has a factor for each channel of the input, or
/// for each of each image. Output 1, of as many groups as channels, has the means of the channels of output 0 as
/// [BlockedGlobalAverage](super::pool::OPS) gives them. The attribute `planes` says that the input lies
/// in planes; others are those of Conv, of [`activation`] and of that pool.
pub const OPS: &[OpDef] = &[OpDef::new(
    "BlockedConv",
    &[
        Param::required(1, types::F32_ONLY),
        Param::required(1, types::F32_ONLY),
        Param::optional(1, types::F32_ONLY),
        Param::optional(1, types::F32_ONLY),
        Param::optional(1, types::F32_ONLY),
    ],
    &[Out::Like(0), Out::Like(0)],
    build,
)
.domain("stead")];

/// What is known of a node before shapes are.
struct Layer {
    attributes: WindowAttributes,
    groups: usize,
    /// `[outputs, inputs of a group, height, width]`.
    dims: [usize; 4],
    source: Source,
    activation: Activation,
    /// Dimensions of 1 of the means.
    spatial: i64,
    weights: Arc<Numbers>,
    bias: Arc<Numbers>,
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let (groups, isa) = (groups(spec)?, spec.isa);
    let planes = spec.attributes().bool_or("planes", false)?;
    let source = if planes { Source::Planes } else { Source::Blocks };
    let constant = || BuildError::unsupported("weights that are no constants of four dimensions");
    let weights = spec.constant(1).ok_or_else(constant)?;
    let &dims = <&[usize; 4]>::try_from(weights.shape().dims()).map_err(|_| constant())?;
    let is_depthwise = groups > 1;
    let is_mixed = dims[0] != groups || dims[1] != 1;
    let has_more = spec.has_input(3) || spec.has_input(4);
    if is_depthwise && (is_mixed || planes || has_more) || planes && spec.has_input(4) {
        return Err(BuildError::unsupported(
            "groups of several channels, something added to channels that stand alone, or factors of these or of planes",
        ));
    }
    let layout = format!("blocked conv, {groups} groups, {source:?}");
    let weights = spec.pack(1, &layout, |w| pack(isa, w, dims, source, is_depthwise))?;
    let lanes = blocks(dims[0]) * BLOCK;
    let bias = match spec.has_input(2) {
        true => spec.pack(2, "bias of blocks", |bias| {
            let values = bias.as_slice::<f32>()?;
            if values.len() != dims[0] {
                return Err(BuildError::unsupported(format!("a bias of {} numbers", values.len())));
            }
            let mut wide = Numbers::zeros(lanes)?;
            wide.as_mut_slice()[..values.len()].copy_from_slice(values);
            Ok(wide)
        })?,
        false => Some(Arc::new(Numbers::zeros(lanes)?)),
    };
    let layer = Arc::new(Layer {
        attributes,
        groups,
        dims,
        source,
        activation: activation::from_attributes(spec.attributes())?,
        spatial: spec.attributes().int_or("spatial", 2)?,
        weights: weights.ok_or_else(constant)?,
        bias: bias.ok_or_else(|| BuildError::unsupported("a bias that is no constant"))?,
    });
    plan_fn(move |cx| plan(cx, &layer))
}

fn pack(
    isa: Isa,
    weights: &Tensor,
    dims: [usize; 4],
    source: Source,
    is_depthwise: bool,
) -> Result<Numbers, BuildError> {
    let ([outputs, inputs, height, width], values) = (dims, weights.as_slice::<f32>()?);
    let taps = height * width;
    let mut packed = Numbers::zeros(packed_len(outputs, inputs, taps))?;
    match is_depthwise {
        true => pack_depthwise(outputs, taps, values, packed.as_mut_slice()),
        false => {
            pack_weights(isa, source, (outputs, inputs, taps), values, packed.as_mut_slice());
        }
    }
    Ok(packed)
}

fn plan(cx: &mut PlanCx<'_>, layer: &Arc<Layer>) -> Result<(), PlanError> {
    let [outputs, inputs, ..] = layer.dims;
    let (x, channels) = (cx.shape(0)?, inputs * layer.groups);
    let planes = match layer.source {
        Source::Planes => x,
        Source::Blocks => {
            let [batch, height, width] = image(&x, channels)?;
            Shape::new(&[batch, channels, height, width])?
        }
    };
    let weights = Shape::new(&layer.dims)?;
    let (shape, out) = resolve(&layer.attributes, layer.groups, &planes, &weights)?;
    let [_, height, width] = shape.window.output;
    let out = blocked(out[0], outputs, [height, width])?;
    let x = gated(cx, &shape)?;
    if !cx.has_input(3) {
        let y = cx.output(0, out)?;
        return emit(cx, layer, (shape, layer.activation), x, None, y);
    }
    if cx.shape(3)? == out {
        let residual = cx.input(3)?;
        let y = cx.output(0, out)?;
        return emit(cx, layer, (shape, layer.activation), x, Some(residual), y);
    }
    add_broadcast(cx, layer, shape, x, out)
}

/// The input, and the factors of its channels that weights are multiplied with. Where weights are more than the numbers
/// of the input, or the window is larger than a pixel, the input is multiplied before.
fn gated(cx: &mut PlanCx<'_>, shape: &ConvShape) -> Result<(Operand, Option<Operand>), PlanError> {
    let x = cx.input(0)?;
    if !cx.has_input(4) {
        return Ok((x, None));
    }
    let (batch, channels) = (shape.batch, shape.in_channels);
    let scale = cx.shape(4)?;
    let each_image = scale.elements() == batch * channels;
    if !each_image && scale.elements() != channels {
        return Err(PlanError::shape(format!("factors of {channels} channels, got {scale}")));
    }
    let (scale, pixels) = (cx.input(4)?, shape.window.input_len());
    if shape.window.is_pointwise() && blocks(shape.out_channels) * BLOCK <= pixels {
        return Ok((x, Some(scale)));
    }
    let y = cx.temp_of::<f32>(batch * blocks(channels) * pixels * BLOCK);
    cx.step("scale blocks", &[x, scale], &[y], move |a| {
        let (x, scale) = (a.read::<f32>(0)?, a.read::<f32>(1)?);
        let factors = Factors { scale, each_image, shift: None, activation: Activation::None };
        affine(a.isa, a.parallel, (batch, channels, pixels), x, &factors, a.write::<f32>()?);
        Ok(())
    });
    Ok((cx.read_back(y), None))
}

/// The form where what is added has another shape than the result, and one is broadcast to the other: passes do not
/// know shapes. The sum and the activation are steps of their own then.
fn add_broadcast(
    cx: &mut PlanCx<'_>,
    layer: &Arc<Layer>,
    shape: ConvShape,
    x: (Operand, Option<Operand>),
    out: Shape,
) -> Result<(), PlanError> {
    let residual = cx.shape(3)?;
    let sum = broadcast_shape(&out, &residual)?;
    let strides =
        [aligned(&out, &out.strides(), &sum)?, aligned(&residual, &residual.strides(), &sum)?];
    let plan = Broadcast::new(&sum, std::array::from_fn(|k| &strides[k][..]), [0, 0]);
    let slot = cx.temp_of::<f32>(out.elements());
    emit(cx, layer, (shape, Activation::None), x, None, slot)?;
    let reads = [cx.read_back(slot), cx.input(3)?];
    let y = cx.output(0, sum)?;
    let activation = layer.activation;
    cx.step("add", &reads, &[y], move |a| {
        let (x, y, out) = (a.read::<f32>(0)?, a.read::<f32>(1)?, a.write::<f32>()?);
        let run = Run { isa: a.isa, parallel: a.parallel, plan: &plan };
        Lane::binary(run, BinaryOp::Add, x, y, out);
        activate_slice(a.isa, activation, out);
        Ok(())
    });
    Ok(())
}

fn emit(
    cx: &mut PlanCx<'_>,
    layer: &Arc<Layer>,
    (shape, activation): (ConvShape, Activation),
    (x, gate): (Operand, Option<Operand>),
    residual: Option<Operand>,
    y: Slot,
) -> Result<(), PlanError> {
    let layer = layer.clone();
    let flops = product_flops([1, shape.output_len(), 1, shape.depth()]);
    let packed_bytes = size_of_val(layer.weights.as_slice());
    if layer.groups > 1 {
        let has_means = cx.wants(1);
        let mut writes = vec![y];
        if has_means {
            writes.push(cx.output(1, means(shape.batch, shape.groups, layer.spatial)?)?);
        }
        cx.step("conv depthwise of blocks", &[x], &writes, move |a| {
            let operands = Depthwise {
                shape,
                x: a.read::<f32>(0)?,
                weights: layer.weights.as_slice(),
                bias: layer.bias.as_slice(),
                activation,
            };
            let y = a.write::<f32>()?;
            let means = if has_means { Some(a.write::<f32>()?) } else { None };
            depthwise(a.isa, a.parallel, &operands, y, means);
            Ok(())
        });
        cx.count(flops, packed_bytes);
        return Ok(());
    }
    let (has_residual, has_gate) = (residual.is_some(), gate.is_some());
    let reads: Vec<Operand> = [x].into_iter().chain(residual).chain(gate).collect();
    let scratch = cx.temp_of::<f32>(conv_scratch_len(&shape, layer.source, has_gate));
    let name = if shape.window.is_pointwise() { "conv 1x1 of blocks" } else { "conv of blocks" };
    cx.step(name, &reads, &[y, scratch], move |a| {
        let residual = if has_residual { Some(a.read::<f32>(1)?) } else { None };
        let gate = 1 + usize::from(has_residual);
        let gate = if has_gate { Some(a.read::<f32>(gate)?) } else { None };
        let operands = Conv {
            shape,
            source: layer.source,
            x: a.read::<f32>(0)?,
            weights: layer.weights.as_slice(),
            bias: layer.bias.as_slice(),
            residual,
            gate,
            activation,
        };
        let (y, scratch) = (a.write::<f32>()?, a.write::<f32>()?);
        conv(a.isa, a.parallel, &operands, y, scratch);
        Ok(())
    });
    cx.count(flops, packed_bytes);
    Ok(())
}
