//! Attention over heads as passes recognise it: `softmax(scale Q K' + mask) V`.

use super::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, Strided, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_kernels::attention::{
    HeadLayout, Heads, MultiHead, Sizes, multi_head, multi_head_scratch_len,
};
use stead_kernels::movement::copy_strided;
use stead_tensor::{DType, MAX_RANK, Shape};

/// Inputs Q `[batch, heads, queries, width]`, K transposed `[batch, heads, width, keys]`, V `[batch, heads,
/// keys, value width]` and a mask that broadcasts to the scores; attribute `scale`. The output is stored as
/// `[batch, queries, heads, value width]`, so that joining the heads again costs no copy.
pub const OPS: &[OpDef] = &[OpDef::new(
    "Attention",
    &[
        Param::required(1, types::F32_ONLY),
        Param::required(1, types::F32_ONLY),
        Param::required(1, types::F32_ONLY),
        Param::optional(1, types::F32_ONLY),
    ],
    &[Out::Like(0)],
    build,
)
.domain("stead")];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let scale = spec.attributes().float_or("scale", 1.0)?;
    let halves = spec.packs_bf16();
    plan_fn(move |cx| plan(cx, scale, halves))
}

fn plan(cx: &mut PlanCx<'_>, scale: f32, halves: bool) -> Result<(), PlanError> {
    let (q, k, v) = (cx.shape(0)?, cx.shape(1)?, cx.shape(2)?);
    let fail = || PlanError::shape(format!("cannot attend with Q {q}, transposed K {k}, V {v}"));
    let (&[qb, qh, queries, width], &[kb, kh, kw, keys], &[vb, vh, vk, value_width]) =
        (q.dims(), k.dims(), v.dims())
    else {
        return Err(fail());
    };
    let (batch, heads) = (qb.max(kb).max(vb), qh.max(kh).max(vh));
    let joins = |n: usize, all: usize| n == all || n == 1;
    let fits = [(qb, batch), (kb, batch), (vb, batch), (qh, heads), (kh, heads), (vh, heads)];
    if kw != width || vk != keys || !fits.iter().all(|&(n, all)| joins(n, all)) {
        return Err(fail());
    }
    let sizes = Sizes { queries, keys, width, value_width };

    let (q_operand, q_at) = stack(cx, 0, [0, 1, 2, 3])?;
    let (k_operand, k_at) = stack(cx, 1, [0, 1, 3, 2])?;
    let (v_operand, v_at) = stack(cx, 2, [0, 1, 2, 3])?;
    let mut reads = vec![q_operand, k_operand, v_operand];
    let scores = Shape::new(&[batch, heads, queries, keys])?;
    let mask_at = match cx.has_input(3) {
        true => {
            let (operand, at) = mask(cx, &scores)?;
            reads.push(operand);
            Some(at)
        }
        false => None,
    };

    let row = heads * value_width;
    let out_at = HeadLayout { offset: 0, batch: queries * row, head: value_width, row };
    let mut strides = [0isize; MAX_RANK];
    strides[..4].copy_from_slice(&[out_at.batch as isize, out_at.head as isize, row as isize, 1]);
    let out = Shape::new(&[batch, heads, queries, value_width])?;
    let slot = cx.output_view(0, out, strides)?;
    let scratch_len = multi_head_scratch_len(cx.isa, sizes, batch * heads, false, halves);
    let scratch = cx.temp_of::<f32>(scratch_len);
    cx.step("attention", &reads, &[slot, scratch], move |args| {
        let mask = match mask_at {
            Some(at) => Some(Heads { data: args.read(3)?, at }),
            None => None,
        };
        let job = MultiHead {
            batches: batch,
            heads,
            // Operands that heads share have a stride of 0.
            kv_heads: heads,
            sizes,
            q: Heads { data: args.read(0)?, at: q_at },
            k: Heads { data: args.read(1)?, at: k_at },
            v: Heads { data: args.read(2)?, at: v_at },
            mask,
            lens: None,
            scale,
            softcap: None,
            causal: None,
            halves,
        };
        let (out, scratch) = (args.write::<f32>()?, args.write::<f32>()?);
        multi_head(args.isa, args.parallel, &job, out, out_at, scratch);
        Ok(())
    });
    Ok(())
}

/// An input as a stack of matrices with its dimensions in the given order; copied when rows are not contiguous
/// in that order.
fn stack(
    cx: &mut PlanCx<'_>,
    index: usize,
    order: [usize; 4],
) -> Result<(Operand, HeadLayout), PlanError> {
    let shape = cx.shape(index)?;
    let dims = order.map(|axis| shape[axis]);
    let Strided { operand, offset, strides } = cx.strided(index)?;
    // A dimension of one repeats for all batches or heads.
    let strides = [0, 1, 2, 3].map(|i| if dims[i] == 1 { 0 } else { strides[order[i]] });
    let is_fine = strides.iter().all(|&s| s >= 0) && (strides[3] == 1 || dims[3] <= 1);
    if is_fine {
        let [batch, head, row, _] = strides.map(isize::unsigned_abs);
        return Ok((operand, HeadLayout { offset, batch, head, row }));
    }
    copied(cx, operand, offset, strides, dims)
}

/// The mask as a stack whose rows have one number for each key.
fn mask(cx: &mut PlanCx<'_>, scores: &Shape) -> Result<(Operand, HeadLayout), PlanError> {
    let shape = cx.shape(3)?;
    let fail = || PlanError::shape(format!("cannot add a mask {shape} to scores {scores}"));
    let pad = 4usize.checked_sub(shape.rank()).ok_or_else(fail)?;
    let Strided { operand, offset, strides: own } = cx.strided(3)?;
    let mut dims = [1; 4];
    let mut strides = [0isize; 4];
    for axis in 0..shape.rank() {
        dims[axis + pad] = shape[axis];
        strides[axis + pad] = if shape[axis] == 1 { 0 } else { own[axis] };
    }
    if (0..4).any(|i| dims[i] != 1 && dims[i] != scores[i]) {
        return Err(fail());
    }
    let is_fine = strides.iter().all(|&s| s >= 0) && (strides[3] == 1 || scores[3] <= 1);
    if is_fine {
        let [batch, head, row, _] = strides.map(isize::unsigned_abs);
        return Ok((operand, HeadLayout { offset, batch, head, row }));
    }
    dims[3] = scores[3];
    copied(cx, operand, offset, strides, dims)
}

/// A stack written out with contiguous rows.
fn copied(
    cx: &mut PlanCx<'_>,
    operand: Operand,
    offset: usize,
    strides: [isize; 4],
    dims: [usize; 4],
) -> Result<(Operand, HeadLayout), PlanError> {
    let shape = Shape::new(&dims)?;
    let slot = cx.temp(shape.byte_len(DType::F32));
    cx.step("copy heads", &[operand], &[slot], move |args| {
        let (src, dst) = (args.read_bytes(0)?, args.write_bytes()?);
        copy_strided(size_of::<f32>(), src, offset, &strides, &dims, dst);
        Ok(())
    });
    let one = |axis: usize, stride: usize| if dims[axis] == 1 { 0 } else { stride };
    let at = HeadLayout {
        offset: 0,
        batch: one(0, dims[1] * dims[2] * dims[3]),
        head: one(1, dims[2] * dims[3]),
        row: one(2, dims[3]),
    };
    Ok((cx.read_back(slot), at))
}
