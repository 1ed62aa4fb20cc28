//! Queries, keys and values as matrices of heads, with the cache before them.

use super::{Operand, PAST_INPUTS, PlanCx};
use crate::error::{PlanError, RunError};
use crate::ops::Args;
use half::{bf16, f16};
use stead_kernels::attention::HeadLayout;
use stead_kernels::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use stead_kernels::movement::{Layout, copy_layout};
use stead_tensor::{DType, MAX_RANK, Shape, grown_strides};

/// An operand in f32 and where its heads lie.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub operand: Operand,
    pub at: HeadLayout,
    pub batches: usize,
    pub heads: usize,
    pub rows: usize,
    pub width: usize,
}

/// All of them.
pub(super) struct Operands {
    pub q: Source,
    pub k: Source,
    pub v: Source,
    /// Keys that were in the cache.
    pub past: usize,
}

/// Where the heads of a tensor lie before it is known in which type.
#[derive(Debug, Clone, Copy)]
struct Split {
    /// Batches, heads, rows and width.
    dims: [usize; 4],
    /// Which dimension of the tensor each of them runs along, by its strides.
    strides: [isize; MAX_RANK],
}

/// Resolves the operands; keys and values are appended to their caches in the outputs 1 and 2.
pub(super) fn resolve(
    cx: &mut PlanCx<'_>,
    heads: Option<usize>,
    kv_heads: Option<usize>,
) -> Result<Operands, PlanError> {
    let q = source(cx, 0, heads)?;
    let [past_k, past_v] = PAST_INPUTS;
    if cx.has_input(past_k) != cx.has_input(past_v) {
        return Err(PlanError::shape("past keys and past values come together or not at all"));
    }
    let past =
        if cx.has_input(past_k) { cx.shape(past_k)?.get(2).copied().unwrap_or(0) } else { 0 };
    let k = cached(cx, 1, kv_heads, past_k)?;
    let v = cached(cx, 2, kv_heads, past_v)?;
    if q.batches != k.batches || q.batches != v.batches {
        return Err(PlanError::shape(format!(
            "{} batch entries of queries, {} of keys and {} of values",
            q.batches, k.batches, v.batches
        )));
    }
    Ok(Operands { q, k, v, past })
}

/// How an input falls apart into heads: `[batch, heads, rows, width]`, or `[batch, rows, heads * width]`.
fn split(
    shape: &Shape,
    strides: &[isize; MAX_RANK],
    heads: Option<usize>,
) -> Result<Split, PlanError> {
    let fail = || {
        PlanError::shape(format!(
            "a tensor of shape {shape} does not fall apart into {heads:?} heads"
        ))
    };
    match (shape.dims(), heads) {
        (&[batches, own, rows, width], _) if heads.is_none_or(|h| h == own) && own > 0 => {
            Ok(Split { dims: [batches, own, rows, width], strides: *strides })
        }
        (&[batches, rows, hidden], Some(heads)) if hidden.is_multiple_of(heads) => {
            let width = hidden / heads;
            let mut split = [0; MAX_RANK];
            split[..4].copy_from_slice(&[
                strides[0],
                width as isize * strides[2],
                strides[1],
                strides[2],
            ]);
            Ok(Split { dims: [batches, heads, rows, width], strides: split })
        }
        _ => Err(fail()),
    }
}

fn layout(offset: usize, split: &Split) -> Option<HeadLayout> {
    let [batches, heads, rows, width] = split.dims;
    let step = |axis: usize, n: usize| match split.strides[axis] {
        _ if n <= 1 => Some(0),
        stride => usize::try_from(stride).ok(),
    };
    let at =
        HeadLayout { offset, batch: step(0, batches)?, head: step(1, heads)?, row: step(2, rows)? };
    (width <= 1 || split.strides[3] == 1).then_some(at)
}

/// An input in f32: as it lies if it is of that type and its rows are contiguous.
fn source(cx: &mut PlanCx<'_>, index: usize, heads: Option<usize>) -> Result<Source, PlanError> {
    let (shape, dtype) = (cx.shape(index)?, cx.dtype(index)?);
    let lies = cx.strided(index)?;
    let made = split(&shape, &lies.strides, heads)?;
    let [batches, heads_found, rows, width] = made.dims;
    let of = |operand, at| Source { operand, at, batches, heads: heads_found, rows, width };
    if let (DType::F32, Some(at)) = (dtype, layout(lies.offset, &made)) {
        return Ok(of(lies.operand, at));
    }
    let whole = cx.input(index)?;
    let operand = widened(cx, whole, dtype, shape.elements());
    let made = split(&shape, &shape.strides(), heads)?;
    let at = layout(0, &made).ok_or_else(|| PlanError::shape("a tensor without rows"))?;
    Ok(of(operand, at))
}

/// Keys or values with their cache before them: output `index` holds both.
fn cached(
    cx: &mut PlanCx<'_>,
    index: usize,
    heads: Option<usize>,
    past_index: usize,
) -> Result<Source, PlanError> {
    let shape = cx.shape(index)?;
    let lies = cx.strided(index)?;
    let new = split(&shape, &lies.strides, heads)?;
    let [batches, heads_found, rows, width] = new.dims;
    if !cx.has_input(past_index) {
        if cx.wants(index) {
            let present = Shape::new(&new.dims)?;
            cx.alias_view(index, index, present, lies.offset, new.strides)?;
        }
        return source(cx, index, heads);
    }
    let (past_shape, past) = (cx.shape(past_index)?, cx.strided(past_index)?);
    let &[past_batches, past_heads, past_rows, past_width] = past_shape.dims() else {
        return Err(PlanError::shape(format!("a cache of shape {past_shape}")));
    };
    if [past_batches, past_heads, past_width] != [batches, heads_found, width] {
        return Err(PlanError::shape(format!("a cache of shape {past_shape} for {shape}")));
    }
    let total =
        past_rows.checked_add(rows).ok_or_else(|| PlanError::shape("the cache is too long"))?;
    let present = Shape::new(&[batches, heads_found, total, width])?;
    let dtype = cx.dtype(index)?;
    let size = dtype.size();
    if let Some(state) = cx.appends(past_index, index, 2, index..index + 1) {
        // The cache grows where it lies: only the new rows are copied, behind it.
        let to = grown_strides(&present, 2);
        let run = move |a: &mut Args<'_>| {
            let dst = a.write_bytes()?;
            let from = Layout { offset: lies.offset, strides: &new.strides };
            let to = Layout { offset: 0, strides: &to };
            copy_layout(size, &new.dims, a.read_bytes(0)?, from, dst, to);
            Ok(())
        };
        let reads = [lies.operand];
        let whole = cx.append("append", (state, 2), past_index, (index, present), &reads, run)?;
        return whole_cache(cx, whole, present, &to);
    }
    let to = present.strides();
    let slot = cx.output(index, present)?;
    cx.step("append to cache", &[past.operand, lies.operand], &[slot], move |a| {
        let dst = a.write_bytes()?;
        let from = Layout { offset: past.offset, strides: &past.strides };
        copy_layout(
            size,
            &past_shape,
            a.read_bytes(0)?,
            from,
            dst,
            Layout { offset: 0, strides: &to },
        );
        let from = Layout { offset: lies.offset, strides: &new.strides };
        let to = Layout { offset: past_rows * width, strides: &to };
        copy_layout(size, &new.dims, a.read_bytes(1)?, from, dst, to);
        Ok(())
    });
    let whole = cx.read_back(slot);
    whole_cache(cx, whole, present, &to)
}

/// All keys or values, which fill their place in the order of these strides.
fn whole_cache(
    cx: &mut PlanCx<'_>,
    whole: Operand,
    present: Shape,
    strides: &[isize; MAX_RANK],
) -> Result<Source, PlanError> {
    let dtype = whole.ty.0;
    let operand = widened(cx, whole, dtype, present.elements());
    let made = split(&present, strides, None)?;
    let at = layout(0, &made).ok_or_else(|| PlanError::shape("a cache without rows"))?;
    let [batches, heads, rows, width] = made.dims;
    Ok(Source { operand, at, batches, heads, rows, width })
}

/// Contiguous elements in f32.
pub(super) fn widened(
    cx: &mut PlanCx<'_>,
    operand: Operand,
    dtype: DType,
    elements: usize,
) -> Operand {
    if dtype == DType::F32 {
        return operand;
    }
    let slot = cx.temp_of::<f32>(elements);
    cx.step("widen", &[operand], &[slot], move |a| widen(a, dtype));
    cx.read_back(slot)
}

/// Operand 0 to f32: booleans become what is added to scores, 0 or minus infinity.
fn widen(a: &mut Args<'_>, dtype: DType) -> Result<(), RunError> {
    let isa = a.isa;
    let dst = a.write::<f32>()?;
    match dtype {
        DType::F16 => f16_to_f32(isa, a.read::<f16>(0)?, dst),
        DType::BF16 => bf16_to_f32(isa, a.read::<bf16>(0)?, dst),
        _ => {
            for (d, &seen) in dst.iter_mut().zip(a.read_bytes(0)?) {
                *d = if seen != 0 { 0.0 } else { f32::NEG_INFINITY };
            }
        }
    }
    Ok(())
}

/// Operand 0, f32, to a shorter type.
pub(super) fn narrow(a: &mut Args<'_>, dtype: DType) -> Result<(), RunError> {
    let (isa, src) = (a.isa, a.read::<f32>(0)?);
    match dtype {
        DType::F16 => f32_to_f16(isa, src, a.write::<f16>()?),
        _ => f32_to_bf16(isa, src, a.write::<bf16>()?),
    }
    Ok(())
}
