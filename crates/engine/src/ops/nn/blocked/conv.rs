//! Convolutions of blocks.

use super::super::conv::{groups, resolve};
use super::super::precision::Numbers;
use super::super::window::WindowAttributes;
use super::{blocked, image};
use crate::error::{BuildError, PlanError};
use crate::ops::broadcasting::{aligned, broadcast_shape};
use crate::ops::{
    NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, activation, plan_fn, product_flops,
    types,
};
use std::sync::Arc;
use stead_kernels::Isa;
use stead_kernels::blocked::{
    BLOCK, Conv, Source, blocks, conv, conv_scratch_len, depthwise, pack_depthwise, pack_weights,
    packed_len,
};
use stead_kernels::broadcast::Broadcast;
use stead_kernels::conv::ConvShape;
use stead_kernels::elementwise::{BinaryOp, Lane, Run};
use stead_kernels::gemm::{Activation, activate_slice};
use stead_tensor::{Shape, Tensor};

/// BlockedConv: a convolution over two dimensions with constant weights and bias, of one group or of as many as
/// channels. Input 3 is added to the result before the activation. The attribute `planes` says that the input lies
/// in planes; others are those of Conv and of [`activation`].
pub const OPS: &[OpDef] = &[OpDef::new(
    "BlockedConv",
    &[
        Param::required(1, types::F32_ONLY),
        Param::required(1, types::F32_ONLY),
        Param::optional(1, types::F32_ONLY),
        Param::optional(1, types::F32_ONLY),
    ],
    &[Out::Like(0)],
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
    if is_depthwise && (is_mixed || planes || spec.has_input(3)) {
        return Err(BuildError::unsupported(
            "groups of several channels, or something added to channels that stand alone",
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
    if !cx.has_input(3) {
        let y = cx.output(0, out)?;
        return emit(cx, layer, (shape, layer.activation), None, y);
    }
    if cx.shape(3)? == out {
        let residual = cx.input(3)?;
        let y = cx.output(0, out)?;
        return emit(cx, layer, (shape, layer.activation), Some(residual), y);
    }
    add_broadcast(cx, layer, shape, out)
}

/// The form where what is added has another shape than the result, and one is broadcast to the other: passes do not
/// know shapes. The sum and the activation are steps of their own then.
fn add_broadcast(
    cx: &mut PlanCx<'_>,
    layer: &Arc<Layer>,
    shape: ConvShape,
    out: Shape,
) -> Result<(), PlanError> {
    let residual = cx.shape(3)?;
    let sum = broadcast_shape(&out, &residual)?;
    let strides =
        [aligned(&out, &out.strides(), &sum)?, aligned(&residual, &residual.strides(), &sum)?];
    let plan = Broadcast::new(&sum, std::array::from_fn(|k| &strides[k][..]), [0, 0]);
    let slot = cx.temp_of::<f32>(out.elements());
    emit(cx, layer, (shape, Activation::None), None, slot)?;
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
    residual: Option<Operand>,
    y: Slot,
) -> Result<(), PlanError> {
    let layer = layer.clone();
    let x = cx.input(0)?;
    let flops = product_flops([1, shape.output_len(), 1, shape.depth()]);
    let packed_bytes = size_of_val(layer.weights.as_slice());
    if layer.groups > 1 {
        cx.step("conv depthwise of blocks", &[x], &[y], move |a| {
            let (x, y) = (a.read::<f32>(0)?, a.write::<f32>()?);
            let (weights, bias) = (layer.weights.as_slice(), layer.bias.as_slice());
            depthwise(a.isa, a.parallel, &shape, x, weights, bias, activation, y);
            Ok(())
        });
        cx.count(flops, packed_bytes);
        return Ok(());
    }
    let has_residual = residual.is_some();
    let reads: Vec<Operand> = [x].into_iter().chain(residual).collect();
    let scratch = cx.temp_of::<f32>(conv_scratch_len(&shape, layer.source));
    let name = if shape.window.is_pointwise() { "conv 1x1 of blocks" } else { "conv of blocks" };
    cx.step(name, &reads, &[y, scratch], move |a| {
        let residual = if has_residual { Some(a.read::<f32>(1)?) } else { None };
        let operands = Conv {
            shape,
            source: layer.source,
            x: a.read::<f32>(0)?,
            weights: layer.weights.as_slice(),
            bias: layer.bias.as_slice(),
            residual,
            activation,
        };
        let (y, scratch) = (a.write::<f32>()?, a.write::<f32>()?);
        conv(a.isa, a.parallel, &operands, y, scratch);
        Ok(())
    });
    cx.count(flops, packed_bytes);
    Ok(())
}
