//! What a mask of keys adds to scores: the engine's own operator behind those of `com.microsoft`, whose masks come in
//! forms that only their shapes tell apart.

use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, TypeSet, plan_fn};
use stead_tensor::{DType, Shape};

const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16, DType::BF16]);

/// KeyBias: 0 for keys that are seen, `filter` for others, as `f32` of `[batch, 1, 1 or queries, keys]`.
///
/// Inputs are the mask, the queries, the keys and the keys before these, of which only shapes are read. A mask is
/// `[batch, keys]` or `[batch, queries, keys]` with numbers above 0 for keys that are seen; or `[batch]`, the number of keys that
/// are seen; or `[2 * batch]`, the end of these keys, then their beginning.
pub const OPS: &[OpDef] = &[OpDef::new(
    "KeyBias",
    &[
        Param::required(0, TypeSet::of(&[DType::I32])),
        Param::required(0, REAL),
        Param::required(0, REAL),
        Param::optional(0, REAL),
    ],
    &[Out::Fixed(DType::F32)],
    build,
)
.domain("stead")];

/// What the numbers of a mask are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One for each key.
    Seen,
    /// The end of keys that are seen, for each batch entry.
    Ends,
    /// All ends, then all beginnings.
    EndsAndStarts,
}

fn build(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let filter = spec.attributes().float_or("filter", 0.0)?;
    plan_fn(move |cx| {
        let (mask, q, k) = (cx.shape(0)?, cx.shape(1)?, cx.shape(2)?);
        // Keys are [batch, rows, width] or [batch, heads, rows, width], those before them the latter.
        let rows =
            |shape: &Shape| shape.rank().checked_sub(2).and_then(|axis| shape.get(axis).copied());
        let past = if cx.has_input(3) { rows(&cx.shape(3)?).unwrap_or(0) } else { 0 };
        let (Some(&batch), Some(queries), Some(keys)) = (q.first(), rows(&q), rows(&k)) else {
            return Err(PlanError::shape(format!("queries of {q} and keys of {k}")));
        };
        let keys = keys.saturating_add(past);
        let (form, each) = match *mask.dims() {
            [n] if n == batch => (Form::Ends, 1),
            [n] if n == batch.saturating_mul(2) => (Form::EndsAndStarts, 1),
            [b, t] if (b, t) == (batch, keys) => (Form::Seen, 1),
            [b, s, t] if (b, s, t) == (batch, queries, keys) => (Form::Seen, queries),
            _ => {
                return Err(PlanError::shape(format!(
                    "a mask of {mask} for {batch} batch entries, {queries} queries and {keys} keys; supported: \
                     [batch], [2 * batch], [batch, keys], [batch, queries, keys]"
                )));
            }
        };
        let shape = Shape::new(&[batch, 1, each, keys])?;
        let (read, slot) = (cx.input(0)?, cx.output(0, shape)?);
        cx.step("key bias", &[read], &[slot], move |a| {
            let (mask, out) = (a.read::<i32>(0)?, a.write::<f32>()?);
            write(form, batch, keys, filter, mask, out)
        });
        Ok(())
    })
}

fn write(
    form: Form,
    batch: usize,
    keys: usize,
    filter: f32,
    mask: &[i32],
    out: &mut [f32],
) -> Result<(), RunError> {
    let bias = |seen: bool| if seen { 0.0 } else { filter };
    if form == Form::Seen {
        for (out, &seen) in out.iter_mut().zip(mask) {
            *out = bias(seen > 0);
        }
        return Ok(());
    }
    let (ends, starts) = mask.split_at(batch.min(mask.len()));
    for (at, row) in out.chunks_exact_mut(keys.max(1)).enumerate() {
        let number =
            |list: &[i32]| usize::try_from(list.get(at).copied().unwrap_or(0)).unwrap_or(0);
        let (start, end) = (number(starts), number(ends));
        for (key, out) in row.iter_mut().enumerate() {
            *out = bias((start..end).contains(&key));
        }
    }
    Ok(())
}
