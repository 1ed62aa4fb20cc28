//! What attention with groups of queries and a cache of keys is written with: GroupQueryAttention and SparseAttention.

use super::OWN;
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use stead_onnx::AttributeValue;

pub(super) fn int(value: i64) -> AttributeValue {
    AttributeValue::Int(value)
}

/// A number of heads, which has no default.
pub(super) fn heads(f: &FunctionBody<'_>, name: &str) -> Result<i64, LoadError> {
    let missing = f.attributes().missing(name);
    Ok(f.attributes().int(name)?.ok_or(missing)?)
}

/// How far the entries of a cache are filled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cache {
    /// `[batch]` numbers of the last key of each entry.
    pub lasts: ValueId,
    /// The length of the longest entry.
    pub longest: ValueId,
}

impl Cache {
    /// The result of an operator of `cache.rs`, for new rows and what the cache holds.
    pub fn call(
        self,
        f: &mut FunctionBody<'_>,
        op: &str,
        rows: ValueId,
        held: Option<ValueId>,
        attributes: &[(&str, AttributeValue)],
    ) -> Result<ValueId, LoadError> {
        let mut inputs = vec![Some(self.lasts), Some(self.longest), Some(rows)];
        inputs.extend(held.map(Some));
        f.call_of((OWN, op), inputs, attributes)
    }
}

/// Queries, keys and values of inputs 0 to 2, which may lie in one tensor.
pub(super) fn parts(
    f: &mut FunctionBody<'_>,
    own: i64,
    shared: i64,
) -> Result<[ValueId; 3], LoadError> {
    let q = f.input(0)?;
    match (f.optional(1), f.optional(2)) {
        (Some(k), Some(v)) => return Ok([q, k, v]),
        (None, None) => {}
        _ => return Err(f.refuse("keys and values come together or not at all")),
    }
    let hidden = f.call("Shape", &[q], &[("start", int(-1))])?;
    let all = f.ints(&[own.saturating_add(shared.saturating_mul(2))])?;
    let width = f.call("Div", &[hidden, all], &[])?;
    let each = f.ints(&[own, shared, shared])?;
    let sizes = f.call("Mul", &[each, width], &[])?;
    let split = vec![Some(q), Some(sizes)];
    match f.call_for("Split", split, &[("axis", int(-1))], &[true; 3])?[..] {
        [Some(q), Some(k), Some(v)] => Ok([q, k, v]),
        _ => Err(f.refuse("Split has no result")),
    }
}

/// Rows turned by their positions; the tables of cosines and sines have one angle for each pair of a head's elements or of fewer.
pub(super) fn turned(
    f: &mut FunctionBody<'_>,
    x: ValueId,
    ids: ValueId,
    heads: i64,
    [cos, sin]: [ValueId; 2],
) -> Result<ValueId, LoadError> {
    let mut attributes = vec![
        ("num_heads", int(heads)),
        ("interleaved", int(f.attributes().int_or("rotary_interleaved", 0)?)),
    ];
    let angles = f.constant(cos).and_then(|cos| cos.shape().get(1).copied());
    if let Some(angles) = angles {
        attributes.push(("rotary_embedding_dim", int(2 * angles as i64)));
    }
    let x = [x, cos, sin, ids].map(Some).to_vec();
    let y = f.call_for("RotaryEmbedding", x, &attributes, &[true])?.into_iter().next().flatten();
    y.ok_or_else(|| f.refuse("RotaryEmbedding has no result"))
}
