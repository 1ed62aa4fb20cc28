//! Sums of rows by weights that a softmax over them gives.

use super::{NodeSpec, OpDef, OpPlan, Operand, Out, Param, PlanCx, plan_fn, types};
use crate::error::{BuildError, PlanError};
use stead_kernels::attention::{
    HeadLayout, Heads, MultiHead, Sizes, multi_head, multi_head_scratch_len,
};
use stead_tensor::Shape;

/// Inputs X `[batch, rows, width]`, W `[width, 1]` and V `[batch, rows, value width]`; the output is the sum over the rows
/// of `softmax(X W) V`, `[batch, value width]`, with attribute `keepdims` `[batch, 1, value width]`. X and V broadcast
/// against each other.
pub const OPS: &[OpDef] = &[OpDef::new(
    "Pooling",
    &[
        Param::required(1, types::F32_ONLY),
        Param::required(1, types::F32_ONLY),
        Param::required(1, types::F32_ONLY),
    ],
    &[Out::Like(0)],
    build,
)
.domain("stead")];

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let keeps = spec.attributes().bool_or("keepdims", true)?;
    plan_fn(move |cx| plan(cx, keeps))
}

fn plan(cx: &mut PlanCx<'_>, keeps: bool) -> Result<(), PlanError> {
    let (x, w, v) = (cx.shape(0)?, cx.shape(1)?, cx.shape(2)?);
    let fail = || PlanError::shape(format!("cannot pool {v} by {x} times {w}"));
    let (&[x_batches, rows, width], &[w_rows, 1], &[v_batches, v_rows, value_width]) =
        (x.dims(), w.dims(), v.dims())
    else {
        return Err(fail());
    };
    let batches = if x_batches == 1 { v_batches } else { x_batches };
    let joins = |n: usize, all: usize| n == all || n == 1;
    let fits = joins(v_batches, batches) && (v_rows == rows || v_rows == 1 || rows == 1);
    if w_rows != width || !fits {
        return Err(fail());
    }
    let dims = [batches, 1, value_width];
    let out = if keeps { Shape::new(&dims)? } else { Shape::new(&[batches, value_width])? };
    let (values, v_at) = lies(cx, 2)?;
    if rows <= 1 {
        // The weight of a row by itself is 1, and it is that of all rows of V.
        let v_rows = rows * v_rows;
        let slot = cx.output(0, out)?;
        cx.step("sum of rows", &[values], &[slot], move |args| {
            let (v, out) = (args.read::<f32>(0)?, args.write::<f32>()?);
            for (batch, out) in out.chunks_exact_mut(value_width.max(1)).enumerate() {
                out.fill(0.0);
                for row in 0..v_rows {
                    let from = &v[v_at.offset + batch * v_at.batch + row * v_at.row..];
                    out.iter_mut().zip(from).for_each(|(sum, v)| *sum += v);
                }
            }
            Ok(())
        });
        return Ok(());
    }
    let sizes = Sizes { queries: 1, keys: rows, width, value_width };
    let (keys, k_at) = lies(cx, 0)?;
    let query = cx.input(1)?;
    let slot = cx.output(0, out)?;
    let scratch = cx.temp_of::<f32>(multi_head_scratch_len(cx.isa, sizes, batches, false, false));
    let out_at = HeadLayout { offset: 0, batch: value_width, head: 0, row: value_width };
    cx.step("attention pooling", &[query, keys, values], &[slot, scratch], move |args| {
        let q_at = HeadLayout { offset: 0, batch: 0, head: 0, row: width };
        let job = MultiHead {
            batches,
            heads: 1,
            kv_heads: 1,
            sizes,
            q: Heads { data: args.read(0)?, at: q_at },
            k: Heads { data: args.read(1)?, at: k_at },
            v: Heads { data: args.read(2)?, at: v_at },
            mask: None,
            lens: None,
            scale: 1.0,
            softcap: None,
            causal: None,
            halves: false,
        };
        let (out, scratch) = (args.write::<f32>()?, args.write::<f32>()?);
        multi_head(args.isa, args.parallel, &job, out, out_at, scratch);
        Ok(())
    });
    Ok(())
}

/// An input of three dimensions as rows of one head each; copied when these are not contiguous.
fn lies(cx: &mut PlanCx<'_>, index: usize) -> Result<(Operand, HeadLayout), PlanError> {
    let shape = cx.shape(index)?;
    let found = cx.strided(index)?;
    let is_fine =
        found.strides[..3].iter().all(|&s| s >= 0) && (found.strides[2] == 1 || shape[2] <= 1);
    let (operand, offset, strides) = match is_fine {
        true => (found.operand, found.offset, found.strides),
        false => (cx.input(index)?, 0, shape.strides()),
    };
    // A dimension of one repeats.
    let step = |axis: usize| if shape[axis] == 1 { 0 } else { strides[axis].unsigned_abs() };
    Ok((operand, HeadLayout { offset, batch: step(0), head: 0, row: step(1) }))
}
