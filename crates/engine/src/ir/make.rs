//! New nodes for passes that write more than one.

use super::{Ir, Node, ValueId};
use crate::error::LoadError;
use std::sync::Arc;
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::{DType, Tensor};

impl Ir {
    /// A node of `ai.onnx` with one output.
    pub fn node(
        &mut self,
        label: &Arc<str>,
        (op_type, opset): (&str, i64),
        inputs: Vec<Option<ValueId>>,
        output: ValueId,
        attributes: Attributes,
    ) -> Node {
        Node {
            label: label.clone(),
            domain: String::new(),
            op_type: op_type.to_owned(),
            opset,
            inputs,
            outputs: vec![Some(output)],
            attributes,
            bodies: Vec::new(),
            aux: self.add_value(DType::I64),
        }
    }
}

/// Writes nodes one behind the other, all with the label of the node that they stand for.
pub struct NodeMaker<'a> {
    pub ir: &'a mut Ir,
    label: Arc<str>,
    /// The nodes so far.
    pub nodes: Vec<Node>,
}

impl<'a> NodeMaker<'a> {
    pub fn new(ir: &'a mut Ir, label: &Arc<str>) -> NodeMaker<'a> {
        NodeMaker { ir, label: label.clone(), nodes: Vec::new() }
    }

    /// Attributes that name this node in messages.
    pub fn attributes(&self) -> Attributes {
        Attributes::of(self.label.to_string())
    }

    /// Adds a node.
    pub fn push(
        &mut self,
        op: (&str, i64),
        inputs: &[ValueId],
        attributes: Attributes,
        output: ValueId,
    ) {
        let inputs = inputs.iter().copied().map(Some).collect();
        let node = self.ir.node(&self.label, op, inputs, output, attributes);
        self.nodes.push(node);
    }

    /// Adds a node whose result has the type of its first input.
    fn like(&mut self, op: (&str, i64), inputs: &[ValueId], attributes: Attributes) -> ValueId {
        let dtype = inputs.first().map_or(DType::F32, |id| self.ir.value(*id).dtype);
        let output = self.ir.add_value(dtype);
        self.push(op, inputs, attributes, output);
        output
    }

    /// A constant vector of integers.
    pub fn ints(&mut self, values: &[i64]) -> Result<ValueId, LoadError> {
        Ok(self.ir.add_constant(Tensor::from_slice(values, &[values.len()])?))
    }

    fn along(&self, axis: usize) -> Attributes {
        let mut attributes = self.attributes();
        attributes.set("axis", AttributeValue::Int(axis as i64));
        attributes
    }

    /// The parts of `x` at `indices` of an axis.
    pub fn gather(
        &mut self,
        x: ValueId,
        indices: &[i64],
        axis: usize,
    ) -> Result<ValueId, LoadError> {
        let output = self.ir.add_value(self.ir.value(x).dtype);
        self.gather_into(x, indices, axis, output).map(|()| output)
    }

    /// As [`NodeMaker::gather`], as the value `output`.
    pub fn gather_into(
        &mut self,
        x: ValueId,
        indices: &[i64],
        axis: usize,
        output: ValueId,
    ) -> Result<(), LoadError> {
        let indices = self.ints(indices)?;
        self.push(("Gather", 13), &[x, indices], self.along(axis), output);
        Ok(())
    }

    /// The part of `x` at one index of an axis, without that axis, as the value `output`.
    pub fn row_into(
        &mut self,
        x: ValueId,
        index: i64,
        axis: usize,
        output: ValueId,
    ) -> Result<(), LoadError> {
        let index = self.ir.add_constant(Tensor::scalar(index)?);
        self.push(("Gather", 13), &[x, index], self.along(axis), output);
        Ok(())
    }

    /// `x` with its axes in another order, as the value `output`.
    pub fn transpose_into(&mut self, x: ValueId, perm: Vec<i64>, output: ValueId) {
        let mut attributes = self.attributes();
        attributes.set("perm", AttributeValue::Ints(perm));
        self.push(("Transpose", 13), &[x], attributes, output);
    }

    /// `x` with a new axis of one element.
    pub fn unsqueeze(&mut self, x: ValueId, axis: i64) -> Result<ValueId, LoadError> {
        let axes = self.ints(&[axis])?;
        Ok(self.like(("Unsqueeze", 13), &[x, axes], self.attributes()))
    }

    /// `x` without an axis of one element.
    pub fn squeeze(&mut self, x: ValueId, axis: i64) -> Result<ValueId, LoadError> {
        let axes = self.ints(&[axis])?;
        Ok(self.like(("Squeeze", 13), &[x, axes], self.attributes()))
    }

    /// Values behind each other along an axis; one by itself is left as it is.
    pub fn concat(&mut self, parts: &[ValueId], axis: usize) -> ValueId {
        match parts {
            [one] => *one,
            _ => self.like(("Concat", 13), parts, self.along(axis)),
        }
    }

    /// The size of an axis, as a vector of one number.
    pub fn size(&mut self, x: ValueId, axis: i64) -> ValueId {
        let mut attributes = self.attributes();
        attributes.set("start", AttributeValue::Int(axis));
        attributes.set("end", AttributeValue::Int(axis + 1));
        let output = self.ir.add_value(DType::I64);
        self.push(("Shape", 15), &[x], attributes, output);
        output
    }

    /// `x` repeated where it has one element and `shape` more.
    pub fn expand(&mut self, x: ValueId, shape: ValueId) -> ValueId {
        self.like(("Expand", 13), &[x, shape], self.attributes())
    }

    /// The product of `a` and `b`.
    pub fn matmul(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.like(("MatMul", 13), &[a, b], self.attributes())
    }

    /// The sum of `a` and `b`.
    pub fn add(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.like(("Add", 14), &[a, b], self.attributes())
    }
}
