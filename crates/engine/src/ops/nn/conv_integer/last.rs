//! Convolutions of bytes whose channels lie together, which the [layout of bytes](crate::passes::last) makes of QLinearConv.

use super::super::conv::{groups, resolve};
use super::super::precision;
use super::super::window::WindowAttributes;
use super::product::{End, place, target};
use super::{Inputs, check_count, first, limits_only, product_flops};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{NodeSpec, OpPlan, PlanCx, Slot, plan_fn};
use std::sync::Arc;
use stead_kernels::conv::ConvShape;
use stead_kernels::conv::integer::{last, lone};
use stead_kernels::gemm::MatRef;
use stead_kernels::gemm::integer::{Along, Byte, Right, ZeroPoint, pack, packed_len};
use stead_tensor::{AlignedBuf, DType, Element, Shape, Tensor};

/// Constant filters in the order of a kernel.
#[derive(Clone)]
enum Packed {
    Product(Arc<AlignedBuf>),
    Lone(Arc<AlignedBuf>),
}

impl Packed {
    fn bytes(&self) -> &AlignedBuf {
        match self {
            Packed::Product(bytes) | Packed::Lone(bytes) => bytes,
        }
    }
}

/// QLinearConv of `[batch, spatial..., channels]` and constant filters, to the same form.
pub(super) fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let activation = limits_only(spec)?;
    let (attributes, groups) = (WindowAttributes::read(spec.attributes())?, groups(spec)?);
    let inputs = Inputs { x: 0, x_zero: 2, w: 3, w_zero: 5 };
    let packed = match spec.constant(inputs.w).map(Tensor::dtype) {
        Some(DType::U8) => packed::<u8>(spec, inputs, groups)?,
        Some(_) => packed::<i8>(spec, inputs, groups)?,
        None => None,
    };
    let Some(packed) = packed else {
        return Err(BuildError::unsupported("filters of channels that lie together".to_owned()));
    };
    plan_fn(move |cx| {
        let (x, w) = (cx.shape(inputs.x)?, cx.shape(inputs.w)?);
        let (shape, out) = resolve(&attributes, groups, &moved(&x, 1)?, &w)?;
        let channels = groups * shape.out_channels;
        let each = [1, channels];
        let counts = [(1, &[1][..]), (2, &[1]), (4, &each), (5, &each), (6, &[1]), (7, &[1])];
        for (index, counts) in counts.into_iter().chain([(8, &[channels][..])]) {
            check_count(cx, index, counts)?;
        }
        let end = End::Bytes {
            scales: vec![
                precision::input(cx, 1)?,
                precision::input(cx, 4)?,
                precision::input(cx, 6)?,
                cx.input(7)?,
            ],
            bias: if cx.has_input(8) { Some(cx.input(8)?) } else { None },
            activation,
            dtype: cx.dtype(7)?,
        };
        let y = cx.output(0, moved(&out, -1)?)?;
        match (cx.dtype(inputs.x)?, cx.dtype(inputs.w)?) {
            (DType::U8, DType::U8) => emit::<u8, u8>(cx, inputs, &packed, &shape, end, y),
            (DType::U8, _) => emit::<u8, i8>(cx, inputs, &packed, &shape, end, y),
            (_, DType::U8) => emit::<i8, u8>(cx, inputs, &packed, &shape, end, y),
            _ => emit::<i8, i8>(cx, inputs, &packed, &shape, end, y),
        }
    })
}

/// A shape with its channels, the last dimension, at 1; or with those at 1 as the last dimension, `to` -1.
fn moved(shape: &Shape, to: isize) -> Result<Shape, PlanError> {
    let mut dims = shape.dims().to_vec();
    if let Some(behind) = dims.get_mut(1..) {
        if to == 1 && !behind.is_empty() {
            behind.rotate_right(1);
        } else if !behind.is_empty() {
            behind.rotate_left(1);
        }
    }
    Ok(Shape::new(&dims)?)
}

/// Filters in the order that their kernel takes; `None` for those that neither does.
fn packed<W: Element + Byte>(
    spec: &NodeSpec<'_>,
    inputs: Inputs,
    groups: usize,
) -> Result<Option<Packed>, BuildError> {
    let Some(w) = spec.constant(inputs.w) else { return Ok(None) };
    let dims = w.shape();
    let &[filters, channels, ref kernel @ ..] = dims.dims() else { return Ok(None) };
    let taps = kernel.iter().product();
    if groups == 1 {
        let packed = spec.pack(inputs.w, "conv integer last", |w| {
            let depth = channels * taps;
            let from = w.as_slice::<W>()?;
            // From `[filters, channels, taps]` to columns of `[taps, channels]`.
            let mut columns = vec![W::zeroed(); from.len()];
            for (i, w) in from.iter().enumerate() {
                let (filter, channel, tap) = (i / depth, i / taps % channels, i % taps);
                columns[filter * depth + tap * channels + channel] = *w;
            }
            let mut packed = AlignedBuf::lasting(4 * packed_len(depth, filters))?;
            let matrix = MatRef::transposed(&columns, depth);
            pack(depth, filters, matrix, bytemuck::cast_slice_mut(&mut packed));
            Ok(packed)
        })?;
        return Ok(packed.map(Packed::Product));
    }
    let zero = match spec.constant(inputs.w_zero) {
        Some(zero) => zero.as_slice::<W>()?,
        None => return Ok(None),
    };
    let fit = channels == 1 && filters == groups && [1, filters].contains(&zero.len());
    if !fit || !lone::fits(taps, w.as_slice::<W>()?, zero) {
        return Ok(None);
    }
    let bits: Vec<u8> = zero.iter().map(|zero| zero.bits()).collect();
    let packed = spec.pack(inputs.w, &format!("conv integer lone, {bits:?}"), |w| {
        let mut packed = AlignedBuf::lasting(4 * lone::packed_len(filters, taps))?;
        let lanes = bytemuck::cast_slice_mut(&mut packed);
        lone::pack(filters, taps, w.as_slice::<W>()?, zero, lanes);
        Ok(packed)
    })?;
    Ok(packed.map(Packed::Lone))
}

fn emit<X: Element + Byte, W: Element + Byte>(
    cx: &mut PlanCx<'_>,
    inputs: Inputs,
    packed: &Packed,
    shape: &ConvShape,
    end: End,
    y: Slot,
) -> Result<(), PlanError> {
    let (packed, shape) = (packed.clone(), *shape);
    let channels = shape.groups * shape.out_channels;
    let mut reads = vec![cx.input(inputs.x)?, cx.input(inputs.x_zero)?, cx.input(inputs.w_zero)?];
    let (_, end) = place(end, &mut reads);
    let (name, scratch) = match packed {
        Packed::Product(_) => ("conv integer of last", last::scratch_len::<X, W>(cx.isa, &shape)),
        Packed::Lone(_) if !lone::is_lone(&shape) => {
            return Err(PlanError::shape("a window of more taps than lone channels have"));
        }
        Packed::Lone(_) => ("conv integer of lone", lone::scratch_len(&shape)),
    };
    let writes = [y, cx.temp_of::<i32>(scratch), cx.temp_of::<f32>(channels)];
    let held = packed.bytes().len();
    cx.step(name, &reads, &writes, move |a| {
        let (x, x_zero) = (a.read::<X>(0)?, first::<X>(a, 1)?);
        let y = a.write_bytes()?;
        let y = &mut y[..shape.output_len()];
        let scratch = a.write::<i32>()?;
        let factors = &mut a.write::<f32>()?[..channels];
        let target = target(a, end, Along::Columns, y, factors)?;
        let unaligned = |_| RunError::Internal("packed filters are not aligned");
        let filters = bytemuck::try_cast_slice(packed.bytes()).map_err(unaligned)?;
        let (isa, par) = (a.isa, a.parallel);
        match packed {
            Packed::Lone(_) => lone::conv(isa, par, &shape, x, x_zero, filters, target, scratch),
            Packed::Product(_) => {
                let zero = match *a.read::<W>(2)? {
                    [one] => ZeroPoint::One(one),
                    ref each => ZeroPoint::Each(each),
                };
                let filters = Right { matrix: None, packed: Some(filters), zero };
                last::conv(isa, par, &shape, x, x_zero, filters, target, scratch);
            }
        }
        Ok(())
    });
    cx.count(product_flops([1, shape.output_len(), 1, shape.depth()]), held);
    Ok(())
}
