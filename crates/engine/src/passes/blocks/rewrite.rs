//! Makes nodes in blocks of those that were chosen.

use super::super::pattern::{attributes_for, copied_attributes};
use super::choose::{Choice, Choices, Form};
use crate::ir::{Body, Ir, Node, ValueId};
use std::collections::HashMap;
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::{DType, Tensor};

/// Replaces the chosen nodes. Behind each stands a node that brings its result back to planes under the name that it
/// had; those that nobody reads fall to dead code removal.
pub(super) fn apply(ir: &mut Ir, body: &mut Body, choices: &Choices) {
    if choices.nodes.iter().all(Option::is_none) {
        return;
    }
    let mut rewrite = Rewrite { ir, blocked: HashMap::new(), nodes: Vec::new() };
    for (node, choice) in std::mem::take(&mut body.nodes).into_iter().zip(&choices.nodes) {
        match choice {
            Some(choice) => rewrite.chosen(node, choice),
            None => rewrite.nodes.push(node),
        }
    }
    body.nodes = rewrite.nodes;
}

struct Rewrite<'a> {
    ir: &'a mut Ir,
    /// The form in blocks of values in planes.
    blocked: HashMap<ValueId, ValueId>,
    nodes: Vec<Node>,
}

impl Rewrite<'_> {
    fn chosen(&mut self, mut node: Node, choice: &Choice) {
        let label = node.label.clone();
        let mut attributes = copied_attributes(&node);
        let reads: HashMap<ValueId, ValueId> =
            choice.reads.iter().map(|&id| (id, self.in_blocks(&node, id))).collect();
        let read = |id: &ValueId| reads.get(id).copied().unwrap_or(*id);
        let op = match &choice.form {
            Form::Conv { planes, .. } => {
                attributes.set("planes", AttributeValue::Int((*planes).into()));
                node.inputs = node.inputs.iter().map(|id| id.as_ref().map(read)).collect();
                Some("BlockedConv")
            }
            Form::Pool(op) => {
                node.inputs = node.inputs.iter().map(|id| id.as_ref().map(read)).collect();
                Some(*op)
            }
            Form::GlobalAverage { spatial } => {
                attributes = attributes_for(&node);
                attributes.set("spatial", AttributeValue::Int(*spatial));
                node.inputs = node.inputs.iter().take(1).map(|id| id.as_ref().map(read)).collect();
                Some("BlockedGlobalAverage")
            }
            Form::Affine { x, scale, shift } => {
                attributes = attributes_for(&node);
                let x = read(x);
                node.inputs = vec![Some(x), self.constant(scale), self.constant(shift)];
                Some("BlockedAffine")
            }
            Form::Gate { x, by } => {
                attributes = attributes_for(&node);
                node.inputs = vec![Some(read(x)), Some(*by)];
                Some("BlockedAffine")
            }
            Form::Same => {
                if node.is("Concat") {
                    attributes.set("axis", AttributeValue::Int(1));
                }
                node.inputs = node.inputs.iter().map(|id| id.as_ref().map(read)).collect();
                None
            }
        };
        if let Some(op) = op {
            attributes.set("channels", AttributeValue::Int(choice.channels as i64));
            (node.domain, node.op_type, node.opset) = ("stead".to_owned(), op.to_owned(), 1);
        }
        node.attributes = attributes;
        let Some(result) = choice.result else {
            self.nodes.push(node);
            return;
        };
        let blocked = self.ir.add_value(DType::F32);
        self.blocked.insert(result, blocked);
        node.outputs = vec![Some(blocked)];
        self.nodes.push(node);
        let mut attributes = Attributes::of(label.to_string());
        attributes.set("channels", AttributeValue::Int(choice.channels as i64));
        self.convert("FromBlocks", label, blocked, result, attributes);
    }

    /// A value in blocks, converted where it is in planes.
    fn in_blocks(&mut self, reader: &Node, id: ValueId) -> ValueId {
        if let Some(&blocked) = self.blocked.get(&id) {
            return blocked;
        }
        let blocked = self.ir.add_value(DType::F32);
        self.blocked.insert(id, blocked);
        let label = reader.label.clone();
        let attributes = Attributes::of(label.to_string());
        self.convert("ToBlocks", label, id, blocked, attributes);
        blocked
    }

    fn convert(
        &mut self,
        op: &str,
        label: std::sync::Arc<str>,
        from: ValueId,
        to: ValueId,
        attributes: Attributes,
    ) {
        let aux = self.ir.add_value(DType::I64);
        self.nodes.push(Node {
            label,
            domain: "stead".to_owned(),
            op_type: op.to_owned(),
            opset: 1,
            inputs: vec![Some(from)],
            outputs: vec![Some(to)],
            attributes,
            bodies: Vec::new(),
            aux,
        });
    }

    /// A constant of so many numbers; `None`, which is read as no input, only if memory is short.
    fn constant(&mut self, values: &[f32]) -> Option<ValueId> {
        let tensor = Tensor::from_slice(values, &[values.len()]).ok()?;
        Some(self.ir.add_constant(tensor))
    }
}
