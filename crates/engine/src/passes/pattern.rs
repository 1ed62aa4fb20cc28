//! What fusion passes share: who makes a value, who reads it, and constants by value.

use crate::ir::{Body, Ir, Node, ValueId};
use std::collections::HashMap;
use stead_onnx::Attributes;
use stead_tensor::{DType, Tensor};

/// A body with look-ups for matching.
pub(super) struct Matcher<'a> {
    pub ir: &'a Ir,
    nodes: &'a [Node],
    makers: HashMap<ValueId, usize>,
    uses: &'a [u32],
}

/// A node that takes the place of the last node of a match.
pub(super) struct Replacement {
    /// The position of the last node in the body.
    pub at: usize,
    /// The domain: `""` or `stead`.
    pub domain: &'static str,
    /// The operator.
    pub op_type: &'static str,
    /// The opset version for operators of `ai.onnx`.
    pub opset: i64,
    /// The inputs.
    pub inputs: Vec<Option<ValueId>>,
    /// New constants, each with the position of the input that it becomes.
    pub constants: Vec<(usize, Tensor)>,
    /// The attributes.
    pub attributes: Attributes,
}

impl<'a> Matcher<'a> {
    /// Look-ups over one body; `uses` counts over the whole model.
    pub fn new(ir: &'a Ir, body: &'a Body, uses: &'a [u32]) -> Matcher<'a> {
        let mut makers = HashMap::new();
        for (index, node) in body.nodes.iter().enumerate() {
            makers.extend(node.outputs.iter().flatten().map(|&id| (id, index)));
        }
        Matcher { ir, nodes: &body.nodes, makers, uses }
    }

    /// The node that makes a value, when it stands in this body.
    pub fn maker(&self, id: Option<ValueId>) -> Option<&'a Node> {
        self.nodes.get(*self.makers.get(&id?)?)
    }

    /// The maker, when it is operator `op` of `ai.onnx`.
    pub fn made_by(&self, id: Option<ValueId>, op: &str) -> Option<&'a Node> {
        self.maker(id).filter(|n| n.is(op))
    }

    /// As [`Matcher::made_by`], and nobody else reads the value, so that it need not exist after a fusion.
    pub fn only_made_by(&self, id: Option<ValueId>, op: &str) -> Option<&'a Node> {
        self.made_by(id, op).filter(|_| self.is_read_once(id))
    }

    /// Whether exactly one place reads a value.
    pub fn is_read_once(&self, id: Option<ValueId>) -> bool {
        id.is_some_and(|id| self.uses[id.index()] == 1)
    }

    /// The constant behind an input.
    pub fn constant(&self, id: Option<ValueId>) -> Option<&'a Tensor> {
        self.ir.constant(id)
    }

    /// The constant behind an input as one number, for a tensor of one element of any rank.
    pub fn number(&self, id: Option<ValueId>) -> Option<f32> {
        let tensor = self.constant(id)?;
        match (tensor.dtype(), tensor.shape().elements()) {
            (DType::F32, 1) => tensor.as_slice::<f32>().ok()?.first().copied(),
            _ => None,
        }
    }

    /// Whether an input is this number up to rounding in the file: exporters write `sqrt(2)` in single or
    /// double precision, or a few digits of it.
    pub fn is_number(&self, id: Option<ValueId>, value: f32) -> bool {
        self.number(id).is_some_and(|v| (v - value).abs() <= 1e-4 * value.abs())
    }

    /// The element type of a value.
    pub fn dtype(&self, id: Option<ValueId>) -> Option<DType> {
        Some(self.ir.value(id?).dtype)
    }

    /// The two inputs of a commutative node, both ways round.
    pub fn either_way(&self, node: &Node) -> [(Option<ValueId>, Option<ValueId>); 2] {
        let (a, b) = (node.input(0), node.input(1));
        [(a, b), (b, a)]
    }
}

/// Finds a match for each node of each body and replaces the nodes. What the match no longer reads falls to
/// dead code removal.
pub(super) fn rewrite(
    ir: &mut Ir,
    find: &dyn Fn(&Matcher<'_>, usize, &Node) -> Option<Replacement>,
) -> usize {
    let uses = ir.uses();
    let mut body = std::mem::take(&mut ir.body);
    let mut changes = 0;
    let done: Result<(), std::convert::Infallible> = body.each_body_mut(&mut |body| {
        let matcher = Matcher::new(ir, body, &uses);
        let found: Vec<Replacement> = body
            .nodes
            .iter()
            .enumerate()
            .filter_map(|(at, node)| find(&matcher, at, node))
            .collect();
        // Matches may overlap: two that swallow the same node are both right as long as its value stays, and
        // dead code removal only takes nodes that nobody reads.
        for mut replacement in found {
            for (index, tensor) in replacement.constants {
                let inputs = &mut replacement.inputs;
                inputs.resize(inputs.len().max(index + 1), None);
                inputs[index] = Some(ir.add_constant(tensor));
            }
            let node = &mut body.nodes[replacement.at];
            node.domain = replacement.domain.to_owned();
            node.op_type = replacement.op_type.to_owned();
            node.opset = replacement.opset;
            node.inputs = replacement.inputs;
            node.attributes = replacement.attributes;
            changes += 1;
        }
        Ok(())
    });
    ir.body = body;
    match done {
        Ok(()) => changes,
        Err(never) => match never {},
    }
}

/// Attributes of a new node with the label of the one it replaces.
pub(super) fn attributes_for(node: &Node) -> Attributes {
    Attributes::of(node.label.to_string())
}

/// The attributes of a node that a fused one goes on having.
pub(super) fn copied_attributes(node: &Node) -> Attributes {
    let mut attributes = attributes_for(node);
    for (name, value) in node.attributes.iter() {
        attributes.set(name, value.clone());
    }
    attributes
}

/// An activation function with its parameters, by the names of [`crate::ops::activation`].
pub(super) fn activation_of(m: &Matcher<'_>, node: &Node) -> Option<(&'static str, f32, f32)> {
    let a = &node.attributes;
    if !node.domain.is_empty() {
        return None;
    }
    Some(match node.op_type.as_str() {
        "Relu" => ("Relu", 0.0, 0.0),
        "Sigmoid" => ("Sigmoid", 0.0, 0.0),
        "Tanh" => ("Tanh", 0.0, 0.0),
        "HardSwish" => ("HardSwish", 0.0, 0.0),
        "Swish" if a.float_or("alpha", 1.0).ok()? == 1.0 => ("Silu", 0.0, 0.0),
        "Softplus" => ("Softplus", 0.0, 0.0),
        "LeakyRelu" => ("LeakyRelu", a.float_or("alpha", 0.01).ok()?, 0.0),
        "Elu" => ("Elu", a.float_or("alpha", 1.0).ok()?, 0.0),
        "HardSigmoid" => {
            ("HardSigmoid", a.float_or("alpha", 0.2).ok()?, a.float_or("beta", 0.5).ok()?)
        }
        "Clip" => {
            // Bounds are attributes before opset 11, and inputs since.
            let bound = |index: usize, name: &str, open: f32| match node.input(index) {
                Some(id) => m.number(Some(id)),
                None => a.float_or(name, open).ok(),
            };
            ("Clip", bound(1, "min", f32::MIN)?, bound(2, "max", f32::MAX)?)
        }
        "Gelu" => match a.string_or("approximate", "none").ok()? {
            "none" => ("GeluErf", 0.0, 0.0),
            "tanh" => ("GeluTanh", 0.0, 0.0),
            _ => return None,
        },
        _ => return None,
    })
}
