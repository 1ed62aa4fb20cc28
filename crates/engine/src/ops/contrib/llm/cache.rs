//! Caches whose batch entries are filled to lengths of their own: operators of the engine's own behind
//! GroupQueryAttention and SparseAttention.
//!
//! All of them read `[batch]` numbers of the last key of each entry and the length of the longest. Where that is the number of
//! new rows, these are a prompt, from position 0 on; else the last of each entry.

use super::{OWN, REAL};
use crate::error::{BuildError, PlanError, RunError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, PlanCx, TypeSet, plan_fn};
use stead_tensor::{DType, Shape};

const INT: Param = Param::required(0, TypeSet::of(&[DType::I32]));
const X: Param = Param::required(1, REAL);

/// CachePut: rows `[batch, rows, heads * width]` in the cache `[batch, heads, keys, width]`, which grows where it is shorter than the
/// longest entry; behind the last row of an entry are zeros, or with `keeps` what the cache had there. CacheBias:
/// `[batch, 1, rows, keys]`, 0 for keys that a row sees and minus infinity for others. CachePositions: `[batch, rows]` positions.
pub const OPS: &[OpDef] = &[
    OpDef::new("CachePut", &[INT, INT, X, Param::optional(1, REAL)], &[Out::Like(2)], put)
        .domain(OWN),
    OpDef::new(
        "CacheBias",
        &[INT, INT, Param::required(0, REAL), Param::required(0, REAL)],
        &[Out::Fixed(DType::F32)],
        bias,
    )
    .domain(OWN),
    OpDef::new(
        "CachePositions",
        &[INT, INT, Param::required(0, REAL)],
        &[Out::Fixed(DType::I64)],
        positions,
    )
    .domain(OWN),
];

/// Batch entries and new rows of input 2, and the length of the longest entry.
pub(super) fn entries(cx: &PlanCx<'_>) -> Result<(usize, usize, usize), PlanError> {
    let (lasts, x) = (cx.shape(0)?, cx.shape(2)?);
    let longest = cx.int(1)?;
    let longest = usize::try_from(longest)
        .map_err(|_| PlanError::shape(format!("a total_sequence_length of {longest}")))?;
    match *x.dims() {
        [batch, rows, _] if lasts.elements() == batch && rows <= longest => {
            Ok((batch, rows, longest))
        }
        _ => Err(PlanError::shape(format!(
            "{lasts} lengths of at most {longest} for new rows of {x}"
        ))),
    }
}

/// The position of the first new row of an entry.
pub(super) fn first(last: i32, rows: usize, longest: usize) -> Result<usize, RunError> {
    if rows == longest {
        return Ok(0);
    }
    let length = usize::try_from(i64::from(last) + 1).ok().filter(|&length| length <= longest);
    length.and_then(|length| length.checked_sub(rows)).ok_or_else(|| {
        RunError::value(format!(
            "seqlens_k has {last} for {rows} new rows and at most {longest} keys"
        ))
    })
}

fn put(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let heads = spec.attributes().int_or("heads", 1)?;
    let heads = usize::try_from(heads)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| BuildError::unsupported(format!("{heads} heads")))?;
    let keeps = spec.attributes().bool_or("keeps", false)?;
    plan_fn(move |cx| {
        let (batch, rows, longest) = entries(cx)?;
        let (x, size) = (cx.shape(2)?, cx.dtype(2)?.size());
        let hidden = x.last().copied().unwrap_or(0);
        if !hidden.is_multiple_of(heads) {
            return Err(PlanError::shape(format!("{x} does not fall apart into {heads} heads")));
        }
        let width = hidden / heads;
        let mut reads = vec![cx.input(0)?, cx.input(2)?];
        let mut held = 0;
        if cx.has_input(3) {
            let past = cx.shape(3)?;
            match *past.dims() {
                [b, h, keys, w] if (b, h, w) == (batch, heads, width) => held = keys,
                _ => return Err(PlanError::shape(format!("a cache of {past} for {x}"))),
            }
            reads.push(cx.input(3)?);
        }
        let keys = held.max(longest);
        let slot = cx.output(0, Shape::new(&[batch, heads, keys, width])?)?;
        let has_past = reads.len() == 3;
        cx.step("cache", &reads, &[slot], move |a| {
            let (lasts, new) = (a.read::<i32>(0)?, a.read_bytes(1)?);
            let past = if has_past { a.read_bytes(2)? } else { &[] };
            let out = a.write_bytes()?;
            let row = width * size;
            out.fill(0);
            for (entry, &last) in lasts.iter().enumerate() {
                let first = first(last, rows, longest)?;
                if first > held {
                    return Err(RunError::value(format!(
                        "seqlens_k has {last} for {rows} new rows and a cache of {held}"
                    )));
                }
                for head in 0..heads {
                    let at = entry * heads + head;
                    let out = &mut out[at * keys * row..][..keys * row];
                    let kept = if keeps { held } else { first } * row;
                    out[..kept].copy_from_slice(&past[at * held * row..][..kept]);
                    for step in 0..rows {
                        let from = ((entry * rows + step) * heads + head) * row;
                        out[(first + step) * row..][..row].copy_from_slice(&new[from..][..row]);
                    }
                }
            }
            Ok(())
        });
        Ok(())
    })
}

fn bias(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    // Keys that a row sees, itself among them; -1 for all.
    let window = usize::try_from(spec.attributes().int_or("window", -1)?).ok();
    plan_fn(move |cx| {
        let (batch, rows, longest) = entries(cx)?;
        let keys = cx.shape(3)?.get(2).copied().unwrap_or(0);
        let lasts = cx.input(0)?;
        let slot = cx.output(0, Shape::new(&[batch, 1, rows, keys])?)?;
        cx.step("cache bias", &[lasts], &[slot], move |a| {
            let (lasts, out) = (a.read::<i32>(0)?, a.write::<f32>()?);
            for (at, out) in out.chunks_exact_mut(keys.max(1)).enumerate() {
                let last = lasts.get(at / rows.max(1)).copied().unwrap_or(0);
                let own = first(last, rows, longest)? + at % rows.max(1);
                let from = window.map_or(0, |window| (own + 1).saturating_sub(window));
                for (key, out) in out.iter_mut().enumerate() {
                    *out = if (from..=own).contains(&key) { 0.0 } else { f32::NEG_INFINITY };
                }
            }
            Ok(())
        });
        Ok(())
    })
}

fn positions(_: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    plan_fn(|cx| {
        let (batch, rows, longest) = entries(cx)?;
        let lasts = cx.input(0)?;
        let slot = cx.output(0, Shape::new(&[batch, rows])?)?;
        cx.step("positions", &[lasts], &[slot], move |a| {
            let (lasts, out) = (a.read::<i32>(0)?, a.write::<i64>()?);
            for (&last, out) in lasts.iter().zip(out.chunks_exact_mut(rows.max(1))) {
                let first = first(last, rows, longest)?;
                for (position, out) in (first..).zip(out) {
                    *out = position as i64;
                }
            }
            Ok(())
        });
        Ok(())
    })
}
