//! ConvInteger and QLinearConv.

use super::conv::{groups, resolve};
use super::precision;
use super::window::WindowAttributes;
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{
    Args, NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Slot, TypeSet, plan_fn,
    product_flops,
};
use stead_kernels::conv::{ConvShape, direct};
use stead_kernels::requantize::{Quantized, Scales, requantize};
use stead_tensor::{DType, Element};

/// 8-bit numbers.
pub(in crate::ops) const BYTES: TypeSet = TypeSet::of(&[DType::U8, DType::I8]);
const SCALE: TypeSet = super::SINGLE;
const I32_ONLY: TypeSet = TypeSet::of(&[DType::I32]);

/// ConvInteger and QLinearConv.
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
    OpDef::new(
        "QLinearConv",
        &[
            Param::required(1, BYTES),
            Param::required(0, SCALE),
            Param::required(1, BYTES),
            Param::required(2, BYTES),
            Param::required(0, SCALE),
            Param::required(2, BYTES),
            Param::required(0, SCALE),
            Param::required(3, BYTES),
            Param::optional(0, I32_ONLY),
        ],
        &[Out::Like(7)],
        qlinear_conv,
    ),
];

/// Positions of the operands of the sums among the inputs.
#[derive(Clone, Copy)]
struct Inputs {
    x: usize,
    x_zero: usize,
    w: usize,
    w_zero: usize,
    bias: Option<usize>,
}

/// The sums of a convolution of 8-bit numbers.
struct Sums {
    shape: ConvShape,
    reads: Vec<Operand>,
    has: [bool; 3],
    types: (DType, DType),
}

fn sums(
    cx: &mut PlanCx<'_>,
    attributes: &WindowAttributes,
    groups: usize,
    inputs: Inputs,
) -> Result<(Sums, stead_tensor::Shape), PlanError> {
    let (shape, out) = resolve(attributes, groups, &cx.shape(inputs.x)?, &cx.shape(inputs.w)?)?;
    let channels = groups * shape.out_channels;
    check_count(cx, inputs.x_zero, &[1])?;
    check_count(cx, inputs.w_zero, &[1, channels])?;
    let mut reads = vec![cx.input(inputs.x)?, cx.input(inputs.w)?];
    let optional = [Some(inputs.x_zero), Some(inputs.w_zero), inputs.bias];
    let mut has = [false; 3];
    for (has, index) in has.iter_mut().zip(optional) {
        if let Some(index) = index.filter(|&i| cx.has_input(i)) {
            *has = true;
            reads.push(cx.input(index)?);
        }
    }
    if let Some(bias) = inputs.bias {
        check_count(cx, bias, &[channels])?;
    }
    let types = (cx.dtype(inputs.x)?, cx.dtype(inputs.w)?);
    Ok((Sums { shape, reads, has, types }, out))
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

impl Sums {
    fn emit(self, cx: &mut PlanCx<'_>, y: Slot) {
        match self.types {
            (DType::U8, DType::U8) => self.emit_of::<u8, u8>(cx, y),
            (DType::U8, _) => self.emit_of::<u8, i8>(cx, y),
            (_, DType::U8) => self.emit_of::<i8, u8>(cx, y),
            _ => self.emit_of::<i8, i8>(cx, y),
        }
    }

    fn emit_of<X, W>(self, cx: &mut PlanCx<'_>, y: Slot)
    where
        X: Element + direct::Term<i32>,
        W: Element + direct::Term<i32>,
    {
        let Sums { shape, reads, has, .. } = self;
        let zero = [W::zeroed()];
        cx.step("conv integer", &reads, &[y], move |a| {
            let mut next = 2;
            let mut position = |has: bool| {
                next += usize::from(has);
                has.then_some(next - 1)
            };
            let [x_zero, w_zero, bias] = has.map(&mut position);
            let x_zero = match x_zero {
                Some(i) => first::<X>(a, i)?.widen(),
                None => 0,
            };
            let operands = direct::Operands {
                x: a.read::<X>(0)?,
                x_zero,
                w: a.read::<W>(1)?,
                w_zero: match w_zero {
                    Some(i) => a.read::<W>(i)?,
                    None => &zero,
                },
                bias: bias.map(|i| a.read::<i32>(i)).transpose()?,
            };
            let y = &mut a.write::<i32>()?[..shape.output_len()];
            direct::conv(a.isa, a.parallel, &shape, &operands, 0, y);
            Ok(())
        });
        cx.count(product_flops([1, shape.output_len(), 1, shape.depth()]), 0);
    }
}

/// The first element of an operand.
pub(in crate::ops) fn first<T: Element>(a: &Args<'_>, index: usize) -> Result<T, RunError> {
    a.read::<T>(index)?.first().copied().ok_or(RunError::Internal("an operand is empty"))
}

fn conv_integer(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let groups = groups(spec)?;
    let inputs = Inputs { x: 0, x_zero: 2, w: 1, w_zero: 3, bias: None };
    plan_fn(move |cx| {
        let (sums, out) = sums(cx, &attributes, groups, inputs)?;
        let y = cx.output(0, out)?;
        sums.emit(cx, y);
        Ok(())
    })
}

fn qlinear_conv(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = WindowAttributes::read(spec.attributes())?;
    let groups = groups(spec)?;
    let inputs = Inputs { x: 0, x_zero: 2, w: 3, w_zero: 5, bias: Some(8) };
    plan_fn(move |cx| {
        let (sums, out) = sums(cx, &attributes, groups, inputs)?;
        let shape = sums.shape;
        for (index, counts) in
            [(1, &[1][..]), (4, &[1, groups * shape.out_channels]), (6, &[1]), (7, &[1])]
        {
            check_count(cx, index, counts)?;
        }
        let acc = cx.temp_of::<i32>(out.elements());
        sums.emit(cx, acc);
        let reads = [
            cx.read_back(acc),
            precision::input(cx, 4)?,
            precision::input(cx, 1)?,
            precision::input(cx, 6)?,
            cx.input(7)?,
        ];
        let result = cx.dtype(7)?;
        let y = cx.output(0, out)?;
        let (count, cols) = (out.elements(), shape.window.output_len());
        if result == DType::U8 {
            emit_requantize::<u8>(cx, &reads, y, count, cols);
        } else {
            emit_requantize::<i8>(cx, &reads, y, count, cols);
        }
        Ok(())
    })
}

/// Sums, scale by row, scale by column, scale and zero point of the result to bytes.
pub(in crate::ops) fn emit_requantize<T: Element + Quantized>(
    cx: &mut PlanCx<'_>,
    reads: &[Operand],
    y: Slot,
    count: usize,
    cols: usize,
) {
    cx.step("requantize", reads, &[y], move |a| {
        let sums = &a.read::<i32>(0)?[..count];
        let scales =
            Scales { row: a.read(1)?, col: a.read(2)?, result: a.read(3)?, zero: a.read::<T>(4)? };
        requantize(a.isa, a.parallel, cols, &scales, sums, &mut a.write::<T>()?[..count]);
        Ok(())
    });
}
