//! Convolutions of bytes as products.

use super::{Known, combine_scales, first, limited, product_flops, zero_of};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{Args, NodeSpec, Operand, PlanCx, Slot};
use std::sync::Arc;
use stead_kernels::conv::ConvShape;
use stead_kernels::conv::integer::{
    Filters, conv, filters_len, is_product, pack, scratch_len, unsigned,
};
use stead_kernels::gemm::Activation;
use stead_kernels::gemm::integer::{Along, Byte, Rounded, Scaled, Target};
use stead_tensor::{AlignedBuf, DType, Element, Tensor};

/// Constant filters in the order of the kernel.
#[derive(Clone)]
pub(super) struct Packed(Arc<AlignedBuf>);

impl Packed {
    /// Packs input `index` when it is constant and the convolution is a product.
    pub(super) fn of(
        spec: &NodeSpec<'_>,
        index: usize,
        groups: usize,
    ) -> Result<Option<Packed>, BuildError> {
        let fits = |w: &Tensor| w.shape().rank() > 2 && is_product(groups, w.shape()[1]);
        if !spec.constant(index).is_some_and(fits) {
            return Ok(None);
        }
        let packed = spec.pack(index, "conv integer", |w| match w.dtype() {
            DType::U8 => pack_of::<u8>(w),
            _ => pack_of::<i8>(w),
        })?;
        Ok(packed.map(Packed))
    }
}

fn pack_of<W: Element + Byte>(w: &Tensor) -> Result<AlignedBuf, BuildError> {
    let shape = w.shape();
    let (rows, channels, taps) = (shape[0], shape[1], shape[2..].iter().product());
    let mut packed = AlignedBuf::lasting(filters_len(rows, channels, taps))?;
    pack(rows, channels, taps, w.as_slice::<W>()?, &mut packed);
    Ok(packed)
}

/// What becomes of the sums.
pub(super) enum End {
    /// They are the result.
    Sums,
    /// Scales of values and weights, and a bias.
    Floats { scales: Vec<Operand>, bias: Option<Operand>, activation: Activation },
    /// Scales of values, weights and the result and the zero point of the result, a bias of sums, the type of the result.
    Bytes { scales: Vec<Operand>, bias: Option<Operand>, activation: Activation, dtype: DType },
}

/// [`End`] with places among the reads of the step: scales stand one behind the other, a zero point behind them.
#[derive(Clone, Copy)]
pub(super) enum EndReads {
    Sums,
    Floats { scales: usize, bias: Option<usize>, activation: Activation },
    Bytes { scales: usize, bias: Option<usize>, activation: Activation, dtype: DType },
}

/// Emits the step.
pub(super) fn emit(
    cx: &mut PlanCx<'_>,
    known: &Known,
    shape: &ConvShape,
    end: End,
    y: Slot,
) -> Result<(), PlanError> {
    match (cx.dtype(known.inputs.x)?, cx.dtype(known.inputs.w)?) {
        (DType::U8, DType::U8) => emit_of::<u8, u8>(cx, known, shape, end, y),
        (DType::U8, _) => emit_of::<u8, i8>(cx, known, shape, end, y),
        (_, DType::U8) => emit_of::<i8, u8>(cx, known, shape, end, y),
        _ => emit_of::<i8, i8>(cx, known, shape, end, y),
    }
}

fn emit_of<X: Element + Byte, W: Element + Byte>(
    cx: &mut PlanCx<'_>,
    known: &Known,
    shape: &ConvShape,
    end: End,
    y: Slot,
) -> Result<(), PlanError> {
    let (inputs, packed, shape) = (known.inputs, known.packed.clone(), *shape);
    let (channels, taps) = (shape.groups * shape.out_channels, shape.window.taps());
    let mut reads = vec![cx.input(inputs.x)?];
    let mut optional = |cx: &mut PlanCx<'_>, index: usize| -> Result<_, PlanError> {
        if !cx.has_input(index) {
            return Ok(None);
        }
        reads.push(cx.input(index)?);
        Ok(Some(reads.len() - 1))
    };
    let x_zero = optional(cx, inputs.x_zero)?;
    let w_zero = optional(cx, inputs.w_zero)?;
    let w = if packed.is_none() { optional(cx, inputs.w)? } else { None };
    let zeros = match w_zero {
        Some(_) => cx.shape(inputs.w_zero)?.elements(),
        None => 1,
    };
    let (name, end) = place(end, &mut reads);
    let len = if packed.is_some() { 0 } else { filters_len(channels, shape.in_channels, taps) };
    let writes = [
        y,
        cx.temp_of::<i32>(scratch_len(cx.isa, &shape)),
        cx.temp_of::<f32>(channels),
        cx.temp(zeros),
        cx.temp(len),
    ];
    let bytes = packed.as_ref().map_or(0, |packed| packed.0.len());
    cx.step(name, &reads, &writes, move |a| {
        let x_zero = match x_zero {
            Some(i) => first::<X>(a, i)?,
            None => X::zeroed(),
        };
        let y = a.write_bytes()?;
        let scratch = a.write::<i32>()?;
        let factors = &mut a.write::<f32>()?[..channels];
        let target = target(a, end, Along::Rows, y, factors)?;
        let zero = &mut a.write_bytes()?[..zeros];
        match w_zero {
            Some(i) => {
                let from = a.read::<W>(i)?;
                zero.iter_mut().zip(from).for_each(|(to, from)| *to = unsigned(*from));
            }
            None => zero.fill(unsigned(W::zeroed())),
        }
        let room = a.write_bytes()?;
        let packed = match (&packed, w) {
            (Some(packed), _) => &packed.0[..],
            (None, Some(w)) => {
                let room = &mut room[..len];
                let w = &a.read::<W>(w)?[..channels * shape.in_channels * taps];
                pack(channels, shape.in_channels, taps, w, room);
                &*room
            }
            (None, None) => return Err(RunError::Internal("no filters")),
        };
        let filters = Filters { packed, zero };
        conv(a.isa, a.parallel, &shape, filters, a.read::<X>(0)?, x_zero, target, scratch);
        Ok(())
    });
    cx.count(product_flops([1, shape.output_len(), 1, shape.depth()]), bytes);
    Ok(())
}

/// Adds the operands to the reads of a step, and names it.
pub(super) fn place(end: End, reads: &mut Vec<Operand>) -> (&'static str, EndReads) {
    let position = |reads: &mut Vec<Operand>, operand: Option<Operand>| {
        operand.map(|operand| {
            reads.push(operand);
            reads.len() - 1
        })
    };
    match end {
        End::Sums => ("conv integer", EndReads::Sums),
        End::Floats { scales, bias, activation } => {
            let bias = position(reads, bias);
            let at = reads.len();
            reads.extend(scales);
            ("conv integer to float", EndReads::Floats { scales: at, bias, activation })
        }
        End::Bytes { scales, bias, activation, dtype } => {
            let bias = position(reads, bias);
            let at = reads.len();
            reads.extend(scales);
            ("conv integer to bytes", EndReads::Bytes { scales: at, bias, activation, dtype })
        }
    }
}

/// What the kernel makes of the sums; channels are `along` rows or columns, and `factors` has room for a scale of each.
pub(super) fn target<'a>(
    a: &Args<'a>,
    end: EndReads,
    along: Along,
    y: &'a mut [u8],
    factors: &'a mut [f32],
) -> Result<Target<'a>, RunError> {
    let unaligned = |_| RunError::Internal("an output is not aligned");
    Ok(match end {
        EndReads::Sums => Target::Sums(bytemuck::try_cast_slice_mut(y).map_err(unaligned)?),
        EndReads::Floats { scales, bias, activation } => Target::Floats(
            bytemuck::try_cast_slice_mut(y).map_err(unaligned)?,
            Scaled {
                a_scale: first(a, scales)?,
                b_scale: a.read(scales + 1)?,
                bias: bias.map(|i| a.read(i)).transpose()?,
                along,
                residual: None,
                activation,
            },
        ),
        EndReads::Bytes { scales, bias, activation, dtype } => {
            let y_scale: f32 = first(a, scales + 2)?;
            combine_scales(first(a, scales)?, a.read(scales + 1)?, y_scale, factors);
            let (zero, limits) = zero_of(a, scales + 3, dtype)?;
            let rounded = Rounded {
                scale: factors,
                bias: bias.map(|i| a.read(i)).transpose()?,
                along,
                zero,
                limits: limited(activation, y_scale, zero, limits),
            };
            Target::Bytes(y, rounded)
        }
    })
}
