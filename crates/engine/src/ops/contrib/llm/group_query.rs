//! GroupQueryAttention.

use super::grouped::{Cache, heads, int, parts, turned};
use super::{MICROSOFT, OWN, REAL};
use crate::error::LoadError;
use crate::ir::FunctionBody;
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
    let cache = Cache { lasts: f.input(5)?, longest: f.input(6)? };
    let [mut q, mut k, v] = parts(f, own, shared)?;
    if f.attributes().bool_or("do_rotary", false)? {
        let ids = match f.optional(9) {
            Some(ids) => f.call_of((OWN, "PositionIds"), vec![Some(ids), Some(q)], &[])?,
            None => cache.call(f, "CachePositions", q, None, &[])?,
        };
        let tables = [f.input(7)?, f.input(8)?];
        q = turned(f, q, ids, own, tables)?;
        k = turned(f, k, ids, shared, tables)?;
    }
    let attribute = [("heads", int(shared))];
    let past = [f.optional(3), f.optional(4)];
    let k = cache.call(f, "CachePut", k, past[0], &attribute)?;
    let v = cache.call(f, "CachePut", v, past[1], &attribute)?;
    let window = f.attributes().int_or("local_window_size", -1)?;
    if window != -1 && window < 1 {
        return Err(f.refuse(format!("local_window_size is {window}; supported: -1, 1 and more")));
    }
    let window = [("window", int(window))];
    let mut bias = cache.call(f, "CacheBias", q, Some(k), &window)?;
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
