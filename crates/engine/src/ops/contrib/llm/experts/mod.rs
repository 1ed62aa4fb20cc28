//! MoE and QMoE: networks of which each token goes through the few that a router chooses.
//!
//! Router, activation and the sum are operators of the standard; the products of each token by the weights of its experts are one
//! of the engine's own, [`product`], which reads the experts that somebody chose and no others.

mod product;
mod quantized;
mod weights;

use super::{MICROSOFT, OWN};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::contrib::attention::only_zero;
use crate::ops::{OpDef, Out, Param, types};
use stead_onnx::AttributeValue;

pub(super) use product::OPS as PRODUCTS;
pub(super) use quantized::OPS as QUANTIZED;

const F32: Param = Param::required(0, types::F32_ONLY);
const MAYBE: Param = Param::optional(0, types::F32_ONLY);

/// MoE.
pub(super) const OPS: &[OpDef] = &[OpDef::function(
    "MoE",
    &[F32, F32, F32, MAYBE, F32, MAYBE, MAYBE, MAYBE],
    &[Out::Like(0)],
    write,
)
.domain(MICROSOFT)];

fn int(value: i64) -> AttributeValue {
    AttributeValue::Int(value)
}

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    only_zero(f, &["use_sparse_mixer"])?;
    if f.optional(6).is_some() || f.optional(7).is_some() {
        return Err(f.refuse("fc3_experts_weights is not supported"));
    }
    let router = f.input(1)?;
    let (_, ids) = chosen(f, router)?;
    let all = f.call("Softmax", &[router], &[("axis", int(-1))])?;
    let mut parts = f.call("GatherElements", &[all, ids], &[("axis", int(-1))])?;
    if f.attributes().bool_or("normalize_routing_weights", false)? {
        parts = normalized(f, parts)?;
    }
    let products: [Vec<Option<ValueId>>; 2] =
        [[2, 3], [4, 5]].map(|at| at.into_iter().map(|index| f.optional(index)).collect());
    let product = |f: &mut FunctionBody<'_>, layer: usize, x: ValueId| {
        let mut inputs = vec![Some(x), Some(ids)];
        inputs.extend(products[layer].iter().copied());
        f.call_of((OWN, "ExpertMatMul"), inputs, &[])
    };
    network(f, parts, product)
}

/// The numbers of the router for the experts that it chooses, `[tokens, k]`, and which these are.
fn chosen(f: &mut FunctionBody<'_>, router: ValueId) -> Result<(ValueId, ValueId), LoadError> {
    let k = f.attributes().int_or("k", 1)?;
    let k = f.ints(&[k])?;
    let inputs = vec![Some(router), Some(k)];
    match f.call_for("TopK", inputs, &[("axis", int(-1))], &[true, true])?[..] {
        [Some(values), Some(ids)] => Ok((values, ids)),
        _ => Err(f.refuse("TopK has no result")),
    }
}

/// Numbers over their sum, token by token.
fn normalized(f: &mut FunctionBody<'_>, parts: ValueId) -> Result<ValueId, LoadError> {
    let axis = f.ints(&[-1])?;
    let sum = f.call("ReduceSum", &[parts, axis], &[("keepdims", int(1))])?;
    f.call("Div", &[parts, sum], &[])
}

/// Tokens through both layers of their experts, and the sum of these by their parts.
fn network(
    f: &mut FunctionBody<'_>,
    parts: ValueId,
    product: impl Fn(&mut FunctionBody<'_>, usize, ValueId) -> Result<ValueId, LoadError>,
) -> Result<(), LoadError> {
    let x = f.input(0)?;
    let shape = f.call("Shape", &[x], &[])?;
    let (one, last) = (f.ints(&[1])?, f.ints(&[2])?);
    let rows = f.call("Flatten", &[x], &[("axis", int(-1))])?;
    let rows = f.call("Unsqueeze", &[rows, one], &[])?;
    let inner = product(f, 0, rows)?;
    let inner = activated(f, inner)?;
    let each = product(f, 1, inner)?;
    let parts = f.call("Unsqueeze", &[parts, last], &[])?;
    let each = f.call("Mul", &[each, parts], &[])?;
    let sum = f.call("ReduceSum", &[each, one], &[("keepdims", int(0))])?;
    let y = f.call("Reshape", &[sum, shape], &[])?;
    f.give(0, y);
    Ok(())
}

fn activated(f: &mut FunctionBody<'_>, x: ValueId) -> Result<ValueId, LoadError> {
    let name = f.attributes().string_or("activation_type", "relu")?.to_owned();
    match name.as_str() {
        "identity" => Ok(x),
        "relu" => f.call("Relu", &[x], &[]),
        // By tanh, as ONNX Runtime computes it here.
        "gelu" => {
            let form = AttributeValue::String(b"tanh".to_vec());
            f.call("Gelu", &[x], &[("approximate", form)])
        }
        "silu" => f.call("Swish", &[x], &[]),
        "swiglu" => swiglu(f, x),
        _ => Err(f.refuse(format!(
            "activation_type is \"{name}\"; supported: identity, relu, gelu, silu, swiglu"
        ))),
    }
}

/// `g sigmoid(alpha g) (l + beta)` for a gate `g` and a value `l`, both limited.
fn swiglu(f: &mut FunctionBody<'_>, x: ValueId) -> Result<ValueId, LoadError> {
    let (gate, value) = match f.attributes().int_or("swiglu_fusion", 0)? {
        1 => {
            let pairs = f.ints(&[0, 0, -1, 2])?;
            let pairs = f.call("Reshape", &[x, pairs], &[])?;
            let (gate, value) = halves(f, pairs)?;
            let axis = f.ints(&[3])?;
            (f.call("Squeeze", &[gate, axis], &[])?, f.call("Squeeze", &[value, axis], &[])?)
        }
        2 => halves(f, x)?,
        other => return Err(f.refuse(format!("swiglu_fusion is {other}; supported: 1 and 2"))),
    };
    let attributes = f.attributes();
    let (alpha, beta) = (
        attributes.float_or("activation_alpha", 1.0)?,
        attributes.float_or("activation_beta", 0.0)?,
    );
    let (mut gate, mut value) = (gate, value);
    if let Some(limit) = attributes.float("swiglu_limit")? {
        let (low, high) = (f.scalar(-limit)?, f.scalar(limit)?);
        gate = f.call("Min", &[gate, high], &[])?;
        value = f.call("Clip", &[value, low, high], &[])?;
    }
    let gate = f.call("Swish", &[gate], &[("alpha", AttributeValue::Float(alpha))])?;
    if beta != 0.0 {
        let beta = f.scalar(beta)?;
        value = f.call("Add", &[value, beta], &[])?;
    }
    f.call("Mul", &[gate, value], &[])
}

/// Both halves of the last dimension.
fn halves(f: &mut FunctionBody<'_>, x: ValueId) -> Result<(ValueId, ValueId), LoadError> {
    let attributes = [("axis", int(-1)), ("num_outputs", int(2))];
    match f.call_for("Split", vec![Some(x)], &attributes, &[true, true])?[..] {
        [Some(first), Some(second)] => Ok((first, second)),
        _ => Err(f.refuse("Split has no result")),
    }
}
