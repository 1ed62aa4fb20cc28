//! Folds sums and activations that follow nodes in blocks into them.

use super::super::pattern::{Matcher, Replacement, activation_of, copied_attributes, rewrite};
use crate::ir::{Ir, Node, ValueId};
use crate::ops::activation;

/// Each node takes up what follows it, one step in a round.
pub(super) fn run(ir: &mut Ir) -> usize {
    rewrite(ir, &|m, at, node| residual(m, at, node).or_else(|| activated(m, at, node)))
}

/// A node in blocks that nobody else reads and that has no activation yet.
fn open<'a>(m: &Matcher<'a>, id: Option<ValueId>, op: &str) -> Option<&'a Node> {
    let node = m.maker(id).filter(|_| m.is_read_once(id))?;
    let is_open = node.attributes.string("activation").ok()?.is_none();
    (node.domain == "stead" && node.op_type == op && is_open).then_some(node)
}

/// Whether a value is a constant: both operands of an Add that reads blocks are blocks, or one is a number.
fn is_constant(m: &Matcher<'_>, id: Option<ValueId>) -> bool {
    m.constant(id).is_some()
}

/// Add of something to a convolution of mixed channels: the residual of a block of layers.
fn residual(m: &Matcher<'_>, at: usize, node: &Node) -> Option<Replacement> {
    if !node.is("Add") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(id, other)| {
        let conv = open(m, id, "BlockedConv")?;
        let groups = conv.attributes.int_or("group", 1).ok()?;
        // Gates come later: there is no input 4 yet.
        if groups != 1 || conv.input(3).is_some() || is_constant(m, other) || other == id {
            return None;
        }
        let inputs = vec![conv.input(0), conv.input(1), conv.input(2), other];
        Some(replacement(at, conv, inputs, "BlockedConv"))
    })
}

/// An activation function.
fn activated(m: &Matcher<'_>, at: usize, node: &Node) -> Option<Replacement> {
    let (name, alpha, beta) = activation_of(m, node)?;
    let x = node.input(0);
    let (before, op) =
        ["BlockedConv", "BlockedAffine"].into_iter().find_map(|op| Some((open(m, x, op)?, op)))?;
    let mut replacement = replacement(at, before, before.inputs.clone(), op);
    activation::to_attributes(name, alpha, beta, &mut replacement.attributes);
    Some(replacement)
}

fn replacement(
    at: usize,
    node: &Node,
    inputs: Vec<Option<ValueId>>,
    op_type: &'static str,
) -> Replacement {
    let attributes = copied_attributes(node);
    Replacement { at, domain: "stead", op_type, opset: 1, inputs, constants: vec![], attributes }
}
