//! Gates of channels without passes of their own over an image: a convolution of lone channels makes the means that they are
//! computed of, and the pointwise convolution behind a gate reads what was to be multiplied.

use super::super::pattern::{Matcher, Replacement, copied_attributes, rewrite};
use crate::ir::{Body, Ir, Node, ValueId};
use std::collections::HashMap;
use stead_onnx::AttributeValue;

/// A gate that only a pointwise convolution reads becomes its input 4.
pub(super) fn multiply(ir: &mut Ir) -> usize {
    rewrite(ir, &|m, at, node| gated(m, at, node))
}

fn is_own(node: &Node, op: &str) -> bool {
    node.domain == "stead" && node.op_type == op
}

fn gated(m: &Matcher<'_>, at: usize, node: &Node) -> Option<Replacement> {
    let weights = m.constant(node.input(1)).filter(|_| is_own(node, "BlockedConv"))?;
    let is_pixel = matches!(weights.shape().dims(), [_, _, 1, 1]);
    let is_dense = node.attributes.int_or("group", 1).ok()? == 1;
    let is_planes = node.attributes.bool_or("planes", false).ok()?;
    if !is_pixel || !is_dense || is_planes || node.input(4).is_some() {
        return None;
    }
    // Padding is not multiplied.
    let pads = node.attributes.ints("pads").ok()?;
    if pads.is_some_and(|pads| pads.iter().any(|&pad| pad != 0)) {
        return None;
    }
    let x = node.input(0).filter(|_| m.is_read_once(node.input(0)));
    let gate = m.maker(x).filter(|gate| is_own(gate, "BlockedAffine"))?;
    let has_more = gate.input(2).is_some() || gate.attributes.string("activation").ok()?.is_some();
    if has_more || m.constant(gate.input(1)).is_some() {
        return None;
    }
    let inputs = vec![gate.input(0), node.input(1), node.input(2), node.input(3), gate.input(1)];
    Some(Replacement {
        at,
        domain: "stead",
        op_type: "BlockedConv",
        opset: 1,
        inputs,
        constants: vec![],
        attributes: copied_attributes(node),
    })
}

/// Global means of what a convolution of lone channels makes become its output 1.
pub(super) fn pool(ir: &mut Ir) -> usize {
    let mut body = std::mem::take(&mut ir.body);
    let mut changes = 0;
    let done: Result<(), std::convert::Infallible> = body.each_body_mut(&mut |body| {
        changes += pool_body(body);
        Ok(())
    });
    ir.body = body;
    match done {
        Ok(()) => changes,
        Err(never) => match never {},
    }
}

fn pool_body(body: &mut Body) -> usize {
    let mut makers: HashMap<ValueId, usize> = HashMap::new();
    let mut pooled = Vec::new();
    for (at, node) in body.nodes.iter().enumerate() {
        let is_alone = is_own(node, "BlockedConv")
            && node.attributes.int_or("group", 1).is_ok_and(|groups| groups > 1);
        if is_alone {
            makers.extend(node.output(0).map(|id| (id, at)));
        }
        if is_own(node, "BlockedGlobalAverage") {
            // A second pool of the same value stays one.
            pooled.extend(node.input(0).and_then(|id| makers.remove(&id)).map(|conv| (conv, at)));
        }
    }
    for &(conv, at) in &pooled {
        let (spatial, means) = {
            let node = &mut body.nodes[at];
            let spatial = node.attributes.int_or("spatial", 2).unwrap_or(2);
            (spatial, node.outputs.first_mut().and_then(Option::take))
        };
        let conv = &mut body.nodes[conv];
        conv.outputs.push(means);
        conv.attributes.set("spatial", AttributeValue::Int(spatial));
    }
    body.nodes.retain(|node| node.outputs.iter().any(Option::is_some));
    pooled.len()
}
