//! Attention and MultiHeadAttention of `com.microsoft`, as Attention of the standard.

use super::MICROSOFT;
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, TypeSet};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16, DType::BF16]);
const X: Param = Param::required(1, REAL);
const MAYBE: Param = Param::optional(1, REAL);
const MASK: Param = Param::optional(0, TypeSet::of(&[DType::I32]));

/// Attention, MultiHeadAttention.
pub const OPS: &[OpDef] = &[
    OpDef::function(
        "Attention",
        &[X, X, MAYBE, MASK, MAYBE, MAYBE],
        &[Out::Like(0), Out::Like(0)],
        attention,
    )
    .domain(MICROSOFT),
    OpDef::function(
        "MultiHeadAttention",
        &[X, X, X, MAYBE, MASK, MAYBE, MAYBE, MAYBE],
        &[Out::Like(0), Out::Like(0), Out::Like(0)],
        multi_head,
    )
    .domain(MICROSOFT),
];

/// What the two have in common once there are queries, keys and values.
pub(super) struct Parts {
    pub q: ValueId,
    pub k: ValueId,
    pub v: ValueId,
    pub past: Option<[ValueId; 2]>,
    pub mask: Option<ValueId>,
    pub bias: Option<ValueId>,
    /// Whether somebody wants keys and values with the past before them.
    pub wants_present: bool,
}

/// The result, and keys and values with the past before them.
pub(super) fn scored(
    f: &mut FunctionBody<'_>,
    parts: Parts,
) -> Result<(ValueId, Option<[ValueId; 2]>), LoadError> {
    let Parts { q, k, v, past, mask, bias, wants_present } = parts;
    let attributes = f.attributes();
    let heads = attributes.int("num_heads")?.ok_or_else(|| attributes.missing("num_heads"))?;
    let causal = attributes.int_or("unidirectional", 0)?;
    let filter = attributes.float_or("mask_filter_value", -10_000.0)?;
    // 0 is what ONNX Runtime writes for the usual scale.
    let scale = attributes.float("scale")?.filter(|&scale| scale != 0.0);
    let mask = match mask {
        Some(mask) => {
            let [past_k, _] = past.map_or([None; 2], |past| past.map(Some));
            let operands = vec![Some(mask), Some(q), Some(k), past_k];
            let filter = [("filter", AttributeValue::Float(filter))];
            Some(f.call_of(("stead", "KeyBias"), operands, &filter)?)
        }
        None => None,
    };
    let added = match (mask, bias) {
        (Some(mask), Some(bias)) => {
            let to = AttributeValue::Int(DType::F32.onnx_number().into());
            let bias = f.call("Cast", &[bias], &[("to", to)])?;
            Some(f.call("Add", &[mask, bias], &[])?)
        }
        (mask, bias) => mask.or(bias),
    };
    let [past_k, past_v] = past.map_or([None; 2], |past| past.map(Some));
    let mut attributes = vec![
        ("q_num_heads", AttributeValue::Int(heads)),
        ("kv_num_heads", AttributeValue::Int(heads)),
        ("is_causal", AttributeValue::Int(causal)),
    ];
    attributes.extend(scale.map(|scale| ("scale", AttributeValue::Float(scale))));
    let inputs = vec![Some(q), Some(k), Some(v), added, past_k, past_v];
    let wanted = [true, wants_present, wants_present];
    let results = f.call_for("Attention", inputs, &attributes, &wanted)?;
    match results[..] {
        [Some(y), Some(k), Some(v)] => Ok((y, Some([k, v]))),
        [Some(y), ..] => Ok((y, None)),
        _ => Err(f.refuse("Attention has no result")),
    }
}

/// Refuses an attribute that is another than 0.
pub(super) fn only_zero(f: &FunctionBody<'_>, names: &[&str]) -> Result<(), LoadError> {
    for name in names {
        let value = f.attributes().int_or(name, 0)?;
        if value != 0 {
            return Err(f.refuse(format!("{name} is {value}; supported: 0")));
        }
    }
    Ok(())
}

/// Input and merged weights: `Q, K, V = split(X W + bias)`; keys and values of the past lie in one tensor.
fn attention(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    only_zero(f, &["do_rotary", "past_present_share_buffer"])?;
    let (x, weights) = (f.input(0)?, f.input(1)?);
    let mut product = f.call("MatMul", &[x, weights], &[])?;
    if let Some(bias) = f.optional(2) {
        product = f.call("Add", &[product, bias], &[])?;
    }
    let past = match f.optional(4) {
        Some(past) => Some(halves(f, past)?),
        None => None,
    };
    let [q, k, v] = merged(f, product)?;
    let (mask, bias, wants_present) = (f.optional(3), f.optional(5), f.wants(1));
    let (y, present) = scored(f, Parts { q, k, v, past, mask, bias, wants_present })?;
    f.give(0, y);
    if let Some(present) = present {
        let both = stacked(f, present)?;
        f.give(1, both);
    }
    Ok(())
}

/// Keys and values in one tensor with a first axis of two.
pub(super) fn stacked(
    f: &mut FunctionBody<'_>,
    [k, v]: [ValueId; 2],
) -> Result<ValueId, LoadError> {
    let axis = f.ints(&[0])?;
    let parts = [f.call("Unsqueeze", &[k, axis], &[])?, f.call("Unsqueeze", &[v, axis], &[])?];
    f.call("Concat", &parts, &[("axis", AttributeValue::Int(0))])
}

/// Queries, keys and values of the product by merged weights.
pub(super) fn merged(
    f: &mut FunctionBody<'_>,
    product: ValueId,
) -> Result<[ValueId; 3], LoadError> {
    let sizes = f.attributes().ints("qkv_hidden_sizes")?.map(<[i64]>::to_vec);
    let mut inputs = vec![Some(product)];
    let mut attributes = vec![("axis", AttributeValue::Int(-1))];
    match sizes.as_deref() {
        Some([]) | None => attributes.push(("num_outputs", AttributeValue::Int(3))),
        Some(sizes) => inputs.push(Some(f.ints(sizes)?)),
    }
    match f.call_for("Split", inputs, &attributes, &[true; 3])?[..] {
        [Some(q), Some(k), Some(v)] => Ok([q, k, v]),
        _ => Err(f.refuse("Split has no result")),
    }
}

/// The two parts of a tensor along its first axis.
pub(super) fn halves(f: &mut FunctionBody<'_>, both: ValueId) -> Result<[ValueId; 2], LoadError> {
    let axis = [("axis", AttributeValue::Int(0))];
    let (first, second) = (f.scalar(0i64)?, f.scalar(1i64)?);
    Ok([f.call("Gather", &[both, first], &axis)?, f.call("Gather", &[both, second], &axis)?])
}

fn multi_head(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let mut parts = [f.input(0)?, f.input(1)?, f.input(2)?];
    if let Some(bias) = f.optional(3) {
        let biases = biases(f, parts[0], bias)?;
        for (part, bias) in parts.iter_mut().zip(biases) {
            *part = f.call("Add", &[*part, bias], &[])?;
        }
    }
    let [q, k, v] = parts;
    let past = match (f.optional(6), f.optional(7)) {
        (Some(k), Some(v)) => Some([k, v]),
        (None, None) => None,
        _ => return Err(f.refuse("past keys and past values come together or not at all")),
    };
    let (mask, bias) = (f.optional(4), f.optional(5));
    let wants_present = f.wants(1) || f.wants(2);
    let (y, present) = scored(f, Parts { q, k, v, past, mask, bias, wants_present })?;
    f.give(0, y);
    if let Some([k, v]) = present {
        f.give(1, k);
        f.give(2, v);
    }
    Ok(())
}

/// The bias of queries, of keys and of values; the first two are as wide as queries are.
fn biases(f: &mut FunctionBody<'_>, q: ValueId, bias: ValueId) -> Result<[ValueId; 3], LoadError> {
    let zero = f.ints(&[0])?;
    let width = f.call("Shape", &[q], &[("start", AttributeValue::Int(-1))])?;
    let twice = f.call("Add", &[width, width], &[])?;
    let end = f.ints(&[i64::MAX])?;
    let mut part = |from, to| f.call("Slice", &[bias, from, to, zero], &[]);
    Ok([part(zero, width)?, part(width, twice)?, part(twice, end)?])
}
