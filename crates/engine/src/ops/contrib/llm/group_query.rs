//! GroupQueryAttention.

use super::{MICROSOFT, OWN, REAL};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::contrib::attention::only_zero;
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const X: Param = Param::required(1, REAL);
const MAYBE: Param = Param::optional(1, REAL);
const INT: Param = Param::required(0, TypeSet::of(&[DType::I32]));

/// GroupQueryAttention.
pub const OPS: &[OpDef] = &[OpDef::function(
    "GroupQueryAttention",
    &[
        X,
        MAYBE,
        MAYBE,
        MAYBE,
        MAYBE,
        INT,
        INT,
        MAYBE,
        MAYBE,
        Param::optional(0, types::I64_ONLY),
        MAYBE,
    ],
    &[Out::Like(0), Out::Like(0), Out::Like(0)],
    write,
)
.domain(MICROSOFT)];

/// Inputs with the last key of each entry and the length of the longest.
const LASTS: usize = 5;
const LONGEST: usize = 6;

fn int(value: i64) -> AttributeValue {
    AttributeValue::Int(value)
}

fn heads(f: &FunctionBody<'_>, name: &str) -> Result<i64, LoadError> {
    let missing = f.attributes().missing(name);
    Ok(f.attributes().int(name)?.ok_or(missing)?)
}

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    only_zero(f, &["qk_output", "sliding_window_cache", "kv_cache_bit_width"])?;
    for (name, default) in [("smooth_softmax", -1), ("causal", 1)] {
        let value = f.attributes().int_or(name, default)?;
        if value != default && (name, value) != ("smooth_softmax", 0) {
            return Err(f.refuse(format!("{name} is {value}; supported: {default}")));
        }
    }
    for name in ["k_quant_type", "v_quant_type"] {
        if f.attributes().string_or(name, "NONE")? != "NONE" {
            return Err(f.refuse(format!("{name}: a quantised cache is not supported")));
        }
    }
    let (own, shared) = (heads(f, "num_heads")?, heads(f, "kv_num_heads")?);
    let [mut q, mut k, v] = parts(f, own, shared)?;
    if f.attributes().bool_or("do_rotary", false)? {
        let ids = match f.optional(9) {
            Some(ids) => f.call_of((OWN, "PositionIds"), vec![Some(ids), Some(q)], &[])?,
            None => of_cache(f, "CachePositions", q, None, &[])?,
        };
        q = turned(f, q, ids, own)?;
        k = turned(f, k, ids, shared)?;
    }
    let attribute = [("heads", int(shared))];
    let past = [f.optional(3), f.optional(4)];
    let k = of_cache(f, "CachePut", k, past[0], &attribute)?;
    let v = of_cache(f, "CachePut", v, past[1], &attribute)?;
    let window = f.attributes().int_or("local_window_size", -1)?;
    if window != -1 && window < 1 {
        return Err(f.refuse(format!("local_window_size is {window}; supported: -1, 1 and more")));
    }
    let window = [("window", int(window))];
    let mut bias = of_cache(f, "CacheBias", q, Some(k), &window)?;
    if let Some(more) = f.optional(10) {
        let more = f.call("Cast", &[more], &[("to", int(DType::F32.onnx_number().into()))])?;
        bias = f.call("Add", &[bias, more], &[])?;
    }
    let mut attributes = vec![("q_num_heads", int(own)), ("kv_num_heads", int(shared))];
    let given = f.attributes();
    let scale = given.float("scale")?.filter(|&scale| scale != 0.0);
    attributes.extend(scale.map(|scale| ("scale", AttributeValue::Float(scale))));
    attributes.push(("softcap", AttributeValue::Float(given.float_or("softcap", 0.0)?)));
    let y = f.call("Attention", &[q, k, v, bias], &attributes)?;
    for (output, value) in [y, k, v].into_iter().enumerate() {
        f.give(output, value);
    }
    Ok(())
}

/// The result of an operator over the cache, for new rows and what the cache holds.
fn of_cache(
    f: &mut FunctionBody<'_>,
    op: &str,
    rows: ValueId,
    held: Option<ValueId>,
    attributes: &[(&str, AttributeValue)],
) -> Result<ValueId, LoadError> {
    let mut inputs = vec![f.optional(LASTS), f.optional(LONGEST), Some(rows)];
    inputs.extend(held.map(Some));
    f.call_of((OWN, op), inputs, attributes)
}

/// Queries, keys and values, which may lie in one tensor.
fn parts(f: &mut FunctionBody<'_>, own: i64, shared: i64) -> Result<[ValueId; 3], LoadError> {
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

/// Rows turned by their positions; the caches have one angle for each pair of a head's elements or of fewer.
fn turned(
    f: &mut FunctionBody<'_>,
    x: ValueId,
    ids: ValueId,
    heads: i64,
) -> Result<ValueId, LoadError> {
    let (cos, sin) = (f.input(7)?, f.input(8)?);
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
