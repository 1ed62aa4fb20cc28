//! ConvInteger, QLinearConv, and the convolution of bytes whose sums become floats at once.

mod depthwise;
mod last;
mod product;
mod requantize;

use super::conv::{groups, resolve};
use super::precision;
use super::window::WindowAttributes;
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{
    Args, NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, activation, plan_fn, product_flops,
    types,
};
use product::{End, Packed};
use stead_kernels::conv::ConvShape;
use stead_kernels::gemm::Activation;
use stead_tensor::{DType, Element, Shape};

pub(in crate::ops) use requantize::{combine_scales, emit_requantize, limited, zero_of};

/// 8-bit numbers.
pub(in crate::ops) const BYTES: TypeSet = TypeSet::of(&[DType::U8, DType::I8]);
const SCALE: TypeSet = super::SINGLE;
const I32_ONLY: TypeSet = TypeSet::of(&[DType::I32]);

/// Inputs of QLinearConv: values with scale and zero point, weights with theirs, those of the result, a bias.
const QLINEAR: [Param; 9] = [
    Param::required(1, BYTES),
    Param::required(0, SCALE),
    Param::required(1, BYTES),
    Param::required(2, BYTES),
    Param::required(0, SCALE),
    Param::required(2, BYTES),
    Param::required(0, SCALE),
    Param::required(3, BYTES),
    Param::optional(0, I32_ONLY),
];

/// ConvInteger and QLinearConv, and what passes make of Conv between DequantizeLinear and QuantizeLinear.
pub const OPS: &[OpDef] = &[
    OpDef::new(
        "ConvInteger",
        &[
            Param::required(1, BYTES),
            Param::required(2, BYTES),
            Param::optional(1, BYTES),
            Param::optional(2, BYTES),
        ],
        &[Out::Fixed(DType::I32)],
        conv_integer,
    ),
    OpDef::new("QLinearConv", &QLINEAR, &[Out::Like(7)], qlinear_conv),
    // The same with an activation that only limits (attributes as in `activation`).
    OpDef::new("QLinearConv", &QLINEAR, &[Out::Like(7)], qlinear_conv).domain("stead"),
    // The same of channels that lie together, `[batch, spatial..., channels]`, to the same form; filters are constants.
    OpDef::new("QLinearConvLast", &QLINEAR, &[Out::Like(7)], last::build).domain("stead"),
    // activation(x_scale w_scale (sums) + bias): values and weights, their scales, their zero points, a bias.
    OpDef::new(
        "ConvIntegerToFloat",
        &[
            Param::required(1, BYTES),
            Param::required(2, BYTES),
            Param::required(0, types::F32_ONLY),
            Param::required(0, types::F32_ONLY),
            Param::optional(1, BYTES),
            Param::optional(2, BYTES),
            Param::optional(0, types::F32_ONLY),
        ],
        &[Out::Fixed(DType::F32)],
        to_float,
    )
    .domain("stead"),
];

/// Positions of the operands of the sums among the inputs.
#[derive(Clone, Copy)]
struct Inputs {
    x: usize,
    x_zero: usize,
    w: usize,
    w_zero: usize,
}

/// What the attributes and constants say of a convolution.
struct Known {
    attributes: WindowAttributes,
    groups: usize,
    inputs: Inputs,
    packed: Option<Packed>,
}

impl Known {
    fn of(spec: &NodeSpec<'_>, inputs: Inputs) -> Result<Known, BuildError> {
        let attributes = WindowAttributes::read(spec.attributes())?;
        let groups = groups(spec)?;
        let packed = Packed::of(spec, inputs.w, groups)?;
        Ok(Known { attributes, groups, inputs, packed })
    }

    fn resolve(&self, cx: &PlanCx<'_>) -> Result<(ConvShape, Shape), PlanError> {
        let Known { inputs, groups, .. } = self;
        let (x, w) = (cx.shape(inputs.x)?, cx.shape(inputs.w)?);
        let (shape, out) = resolve(&self.attributes, *groups, &x, &w)?;
        check_count(cx, inputs.x_zero, &[1])?;
        check_count(cx, inputs.w_zero, &[1, groups * shape.out_channels])?;
        Ok((shape, out))
    }
}

/// Checks the number of elements of an input, if it is there.
pub(in crate::ops) fn check_count(
    cx: &PlanCx<'_>,
    index: usize,
    counts: &[usize],
) -> Result<(), PlanError> {
    if cx.has_input(index) && !counts.contains(&cx.shape(index)?.elements()) {
        let actual = cx.shape(index)?;
        return Err(PlanError::shape(format!(
            "input {index}: {counts:?} numbers expected, got {actual}"
        )));
    }
    Ok(())
}

/// The first element of an operand.
pub(in crate::ops) fn first<T: Element>(a: &Args<'_>, index: usize) -> Result<T, RunError> {
    a.read::<T>(index)?.first().copied().ok_or(RunError::Internal("an operand is empty"))
}

fn conv_integer(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let known = Known::of(spec, Inputs { x: 0, x_zero: 2, w: 1, w_zero: 3 })?;
    plan_fn(move |cx| {
        let (shape, out) = known.resolve(cx)?;
        let y = cx.output(0, out)?;
        if is_product(&shape) {
            product::emit(cx, &known, &shape, End::Sums, y)
        } else {
            depthwise::emit(cx, known.inputs, &shape, None, y)
        }
    })
}

/// The activation of a node, which may only limit.
fn limits_only(spec: &NodeSpec<'_>) -> Result<Activation, BuildError> {
    let activation = activation::from_attributes(spec.attributes())?;
    match activation {
        Activation::None | Activation::Relu | Activation::Clip { .. } => Ok(activation),
        _ => Err(BuildError::unsupported(format!("{activation:?} of bytes"))),
    }
}

fn qlinear_conv(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let activation = limits_only(spec)?;
    let known = Known::of(spec, Inputs { x: 0, x_zero: 2, w: 3, w_zero: 5 })?;
    plan_fn(move |cx| {
        let (shape, out) = known.resolve(cx)?;
        let channels = known.groups * shape.out_channels;
        let counts = [(1, &[1][..]), (4, &[1, channels]), (6, &[1]), (7, &[1]), (8, &[channels])];
        for (index, counts) in counts {
            check_count(cx, index, counts)?;
        }
        let dtype = cx.dtype(7)?;
        if is_product(&shape) {
            let end = End::Bytes {
                scales: vec![
                    precision::input(cx, 1)?,
                    precision::input(cx, 4)?,
                    precision::input(cx, 6)?,
                    cx.input(7)?,
                ],
                bias: if cx.has_input(8) { Some(cx.input(8)?) } else { None },
                activation,
                dtype,
            };
            let y = cx.output(0, out)?;
            return product::emit(cx, &known, &shape, end, y);
        }
        if activation != Activation::None {
            return Err(PlanError::shape("an activation behind lone channels"));
        }
        let acc = cx.temp_of::<i32>(out.elements());
        depthwise::emit(cx, known.inputs, &shape, Some(8), acc)?;
        let reads = [
            cx.read_back(acc),
            precision::input(cx, 4)?,
            precision::input(cx, 1)?,
            precision::input(cx, 6)?,
            cx.input(7)?,
        ];
        let y = cx.output(0, out)?;
        let (count, cols) = (out.elements(), shape.window.output_len());
        match dtype {
            DType::U8 => emit_requantize::<u8>(cx, &reads, y, count, cols),
            _ => emit_requantize::<i8>(cx, &reads, y, count, cols),
        }
        Ok(())
    })
}

fn to_float(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let activation = activation::from_attributes(spec.attributes())?;
    let known = Known::of(spec, Inputs { x: 0, x_zero: 4, w: 1, w_zero: 5 })?;
    plan_fn(move |cx| {
        let (shape, out) = known.resolve(cx)?;
        let channels = known.groups * shape.out_channels;
        for (index, counts) in [(2, &[1][..]), (3, &[1, channels]), (6, &[channels])] {
            check_count(cx, index, counts)?;
        }
        if !is_product(&shape) {
            return Err(PlanError::shape("floats of lone channels"));
        }
        let end = End::Floats {
            scales: vec![cx.input(2)?, cx.input(3)?],
            bias: if cx.has_input(6) { Some(cx.input(6)?) } else { None },
            activation,
        };
        let y = cx.output(0, out)?;
        product::emit(cx, &known, &shape, end, y)
    })
}

/// Whether a convolution is computed as products, and not channel by channel.
fn is_product(shape: &ConvShape) -> bool {
    stead_kernels::conv::integer::is_product(shape.groups, shape.in_channels)
}
