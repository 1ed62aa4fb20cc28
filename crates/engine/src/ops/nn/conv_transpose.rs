//! ConvTranspose.

use super::SINGLE;
use super::conv::{check_bias, groups};
use super::precision::{self, Numbers};
use super::window::{AutoPad, Axis, WindowAttributes, sizes};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, plan_fn, product_flops};
use stead_kernels::Window;
use stead_kernels::conv::{ConvShape, transpose};
use stead_kernels::gemm::Activation;
use stead_tensor::{Shape, Tensor};

/// ConvTranspose.
pub const OPS: &[OpDef] = &[OpDef::new(
    "ConvTranspose",
    &[Param::required(1, SINGLE), Param::required(1, SINGLE), Param::optional(1, SINGLE)],
    &[Out::Like(0)],
    build,
)];

/// What ConvTranspose has beside the attributes of a window.
struct Extra {
    output_padding: Vec<usize>,
    output_shape: Vec<usize>,
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let groups = groups(spec)?;
    let extra = Extra {
        output_padding: sizes(spec.attributes(), "output_padding", 0)?.unwrap_or_default(),
        output_shape: sizes(spec.attributes(), "output_shape", 0)?.unwrap_or_default(),
    };
    let isa = spec.isa;
    let packed = match spec.constant(1) {
        Some(w) if w.shape().rank() > 2 && w.shape()[0].is_multiple_of(groups) => {
            let layout = format!("conv transpose, {groups} groups");
            spec.pack(1, &layout, |w| pack(isa, w, groups))?
        }
        _ => None,
    };
    plan_fn(move |cx| {
        let (shape, out) = resolve(&attributes, &extra, groups, &cx.shape(0)?, &cx.shape(1)?)?;
        check_bias(cx, 2, groups * shape.in_channels)?;
        let mut reads = vec![precision::input(cx, 0)?];
        if packed.is_none() {
            reads.push(precision::input(cx, 1)?);
        }
        let bias = precision::optional(cx, 2)?.map(|bias| {
            reads.push(bias);
            reads.len() - 1
        });
        let y = precision::output(cx, 0, out)?;
        let scratch = transpose::conv_scratch_len(cx.isa, &shape, packed.is_some());
        let scratch = cx.temp_of::<f32>(scratch);
        let packed_bytes = packed.as_ref().map_or(0, |packed| size_of_val(packed.as_slice()));
        let packed = packed.clone();
        cx.step("conv transpose", &reads, &[y.slot, scratch], move |a| {
            let x = a.read::<f32>(0)?;
            let weights = match &packed {
                Some(packed) => transpose::Weights::Packed(packed.as_slice()),
                None => transpose::Weights::Rows(a.read::<f32>(1)?),
            };
            let bias = bias.map(|i| a.read::<f32>(i)).transpose()?;
            let (y, scratch) = (a.write::<f32>()?, a.write::<f32>()?);
            let none = Activation::None;
            transpose::conv(a.isa, a.parallel, &shape, x, weights, bias, none, y, scratch);
            Ok(())
        });
        cx.count(product_flops([1, shape.output_len(), 1, shape.depth()]), packed_bytes);
        y.finish(cx);
        Ok(())
    })
}

fn pack(isa: stead_kernels::Isa, w: &Tensor, groups: usize) -> Result<Numbers, BuildError> {
    let wide = Numbers::of(isa, w)?;
    let mut packed = Numbers::zeros(wide.as_slice().len())?;
    let shape = w.shape();
    let depth = shape[1..].iter().product();
    let dst = packed.as_mut_slice();
    transpose::pack_weights(isa, groups, shape[0] / groups, depth, wide.as_slice(), dst);
    Ok(packed)
}

/// The convolution that is transposed, whose input is the output here, and the shape of that.
fn resolve(
    attributes: &WindowAttributes,
    extra: &Extra,
    groups: usize,
    x: &Shape,
    w: &Shape,
) -> Result<(ConvShape, Shape), PlanError> {
    let fail = || {
        PlanError::shape(format!(
            "a transposed convolution of {x} with weights {w} in {groups} groups"
        ))
    };
    let (&[batch, channels, ref spatial @ ..], &[inputs, outputs, ref kernel @ ..]) =
        (x.dims(), w.dims())
    else {
        return Err(fail());
    };
    let grouped = channels > 0 && channels.is_multiple_of(groups);
    if channels != inputs || !grouped || spatial.len() != kernel.len() {
        return Err(fail());
    }
    let kernel = attributes.kernel(Some(kernel))?;
    let (axes, rank) = attributes.axes(spatial, &kernel)?;
    let wanted = output_shape(extra, rank)?;
    let mut window = Window {
        input: [1; 3],
        output: axes.map(|a| a.input),
        kernel: axes.map(|a| a.kernel),
        strides: axes.map(|a| a.stride),
        dilations: axes.map(|a| a.dilation),
        pads: [0; 3],
    };
    for (i, axis) in axes.iter().enumerate() {
        let at = (i + rank).checked_sub(3);
        let more = at.and_then(|i| extra.output_padding.get(i).copied()).unwrap_or(0);
        let wanted = at.and_then(|i| wanted.get(i).copied());
        (window.input[i], window.pads[i]) = outputs_of(axis, attributes.auto_pad, more, wanted)?;
    }
    let channels_out = outputs.checked_mul(groups).ok_or_else(fail)?;
    let mut dims = vec![batch, channels_out];
    dims.extend_from_slice(&window.input[3 - rank..]);
    let shape =
        ConvShape { batch, groups, in_channels: outputs, out_channels: channels / groups, window };
    Ok((shape, Shape::new(&dims)?))
}

/// The spatial part of `output_shape`, which some exporters write with batch and channels.
fn output_shape(extra: &Extra, rank: usize) -> Result<&[usize], PlanError> {
    let Extra { output_padding, output_shape } = extra;
    if !output_padding.is_empty() && output_padding.len() != rank {
        return Err(PlanError::shape(format!(
            "output_padding of {rank} numbers expected, got {}",
            output_padding.len()
        )));
    }
    match output_shape.len().checked_sub(rank) {
        _ if output_shape.is_empty() => Ok(&[]),
        Some(skip @ (0 | 2)) => Ok(&output_shape[skip..]),
        _ => Err(PlanError::shape(format!(
            "output_shape of {rank} numbers expected, got {}",
            output_shape.len()
        ))),
    }
}

/// Outputs along one dimension, and the padding at the beginning.
fn outputs_of(
    axis: &Axis,
    auto_pad: AutoPad,
    output_padding: usize,
    wanted: Option<usize>,
) -> Result<(usize, usize), PlanError> {
    let fail = || PlanError::shape("the output of a transposed convolution overflows");
    // Without padding the windows reach from the first to here.
    let full = axis.input.saturating_sub(1).checked_mul(axis.stride).ok_or_else(fail)?;
    let full = full.checked_add(axis.reach()?).and_then(|v| v.checked_add(output_padding));
    let full = full.filter(|&v| v < 1 << 60).ok_or_else(fail)?;
    let same = matches!(auto_pad, AutoPad::SameUpper | AutoPad::SameLower);
    let wanted = match wanted {
        None if same => Some(axis.input.checked_mul(axis.stride).ok_or_else(fail)?),
        wanted => wanted,
    };
    let Some(wanted) = wanted else {
        let (begin, end) = if auto_pad == AutoPad::Valid { (0, 0) } else { axis.pads };
        let outputs = full.checked_sub(begin + end).ok_or_else(|| {
            PlanError::shape(format!("padding of {} leaves nothing of {full}", begin + end))
        })?;
        return Ok((outputs, begin));
    };
    // ONNX gives the odd one to the beginning unless auto_pad is SAME_UPPER.
    let total = full.saturating_sub(wanted);
    let begin = if auto_pad == AutoPad::SameUpper { total / 2 } else { total - total / 2 };
    Ok((wanted, begin))
}
