//! Recognises scaled dot-product attention written out in primitives.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// `softmax(Q K' * scale + mask) V` over heads becomes one node that never writes the scores of all heads
/// down.
///
/// Q, K and V must come from transpositions of four dimensions: that proves the rank, and is how every exporter
/// splits heads.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let found = find(m, node)?;
        let mut attributes = attributes_for(node);
        attributes.set("scale", AttributeValue::Float(found.scale));
        let inputs = vec![Some(found.q), Some(found.k_transposed), Some(found.v), found.mask];
        Some(Replacement {
            at,
            domain: "stead",
            op_type: "Attention",
            opset: 1,
            inputs,
            constants: vec![],
            attributes,
        })
    }))
}

struct Found {
    q: ValueId,
    k_transposed: ValueId,
    v: ValueId,
    mask: Option<ValueId>,
    scale: f32,
}

fn find(m: &Matcher<'_>, node: &Node) -> Option<Found> {
    if !node.is("MatMul") || m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    let v = node.input(1).filter(|&v| has_four_dims(m, v))?;
    let softmax = m.only_made_by(node.input(0), "Softmax")?;
    // Before opset 13 the default axis was 1, and everything behind it one row.
    let axis = softmax.attributes.int_or("axis", if softmax.opset < 13 { 1 } else { -1 }).ok()?;
    if axis != -1 && axis != 3 {
        return None;
    }
    let (scores, mask) = masked(m, softmax.input(0))?;
    let (product, scale) = scaled(m, scores)?;
    let (q, k_transposed) = (product.input(0)?, product.input(1)?);
    if !has_four_dims(m, q) || !has_four_dims(m, k_transposed) {
        return None;
    }
    Some(Found { q, k_transposed, v, mask, scale })
}

/// The scores before a mask is added, and the mask.
fn masked(m: &Matcher<'_>, id: Option<ValueId>) -> Option<(Option<ValueId>, Option<ValueId>)> {
    let Some(sum) = m.only_made_by(id, "Add") else { return Some((id, None)) };
    m.either_way(sum).into_iter().find(|(scores, _)| scaled(m, *scores).is_some())
}

/// The product behind a factor, and the factor.
fn scaled<'a>(m: &Matcher<'a>, id: Option<ValueId>) -> Option<(&'a Node, f32)> {
    if let Some(product) = m.only_made_by(id, "MatMul") {
        return Some((product, 1.0));
    }
    if let Some(div) = m.only_made_by(id, "Div") {
        let product = m.only_made_by(div.input(0), "MatMul")?;
        return Some((product, 1.0 / m.number(div.input(1))?)).filter(|(_, s)| s.is_finite());
    }
    let mul = m.only_made_by(id, "Mul")?;
    m.either_way(mul)
        .into_iter()
        .find_map(|(id, by)| Some((m.only_made_by(id, "MatMul")?, m.number(by)?)))
}

/// Whether a value is a transposition of four dimensions, possibly multiplied by a number: some exporters
/// scale Q and K instead of the scores.
fn has_four_dims(m: &Matcher<'_>, id: ValueId) -> bool {
    let is_split = |id: Option<ValueId>| {
        m.made_by(id, "Transpose")
            .and_then(|n| n.attributes.ints("perm").ok().flatten())
            .is_some_and(|perm| perm.len() == 4)
    };
    let scaled = |op: &str| {
        m.made_by(Some(id), op).is_some_and(|n| {
            is_split(n.input(0)) && m.constant(n.input(1)).is_some_and(|t| t.shape().rank() <= 4)
        })
    };
    is_split(Some(id)) || scaled("Mul") || scaled("Div")
}
