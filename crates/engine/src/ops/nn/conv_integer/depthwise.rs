//! Sums of channels that stand alone, by the definition.

use super::{Inputs, first, product_flops};
use crate::error::PlanError;
use crate::ops::{PlanCx, Slot};
use stead_kernels::conv::{ConvShape, direct};
use stead_tensor::{DType, Element};

/// Emits the sums, and what a bias adds to them.
pub(super) fn emit(
    cx: &mut PlanCx<'_>,
    inputs: Inputs,
    shape: &ConvShape,
    bias: Option<usize>,
    y: Slot,
) -> Result<(), PlanError> {
    match (cx.dtype(inputs.x)?, cx.dtype(inputs.w)?) {
        (DType::U8, DType::U8) => emit_of::<u8, u8>(cx, inputs, shape, bias, y),
        (DType::U8, _) => emit_of::<u8, i8>(cx, inputs, shape, bias, y),
        (_, DType::U8) => emit_of::<i8, u8>(cx, inputs, shape, bias, y),
        _ => emit_of::<i8, i8>(cx, inputs, shape, bias, y),
    }
}

fn emit_of<X, W>(
    cx: &mut PlanCx<'_>,
    inputs: Inputs,
    shape: &ConvShape,
    bias: Option<usize>,
    y: Slot,
) -> Result<(), PlanError>
where
    X: Element + direct::Term<i32>,
    W: Element + direct::Term<i32>,
{
    let mut reads = vec![cx.input(inputs.x)?, cx.input(inputs.w)?];
    let mut places = [None; 3];
    let optional = [Some(inputs.x_zero), Some(inputs.w_zero), bias];
    for (place, index) in places.iter_mut().zip(optional) {
        if let Some(index) = index.filter(|&i| cx.has_input(i)) {
            *place = Some(reads.len());
            reads.push(cx.input(index)?);
        }
    }
    let ([x_zero, w_zero, bias], shape) = (places, *shape);
    let zero = [W::zeroed()];
    cx.step("conv integer depthwise", &reads, &[y], move |a| {
        let operands = direct::Operands {
            x: a.read::<X>(0)?,
            x_zero: match x_zero {
                Some(i) => first::<X>(a, i)?.widen(),
                None => 0,
            },
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
    Ok(())
}
