//! Operators that stand for others: the nodes of a function of the standard, written by a plain Rust function where
//! attributes and element types are known.
//!
//! Many bodies of the standard depend on attributes, on types and on which inputs are there, so they cannot be kept as
//! graphs; each is a function over [`FunctionBody`] in [`ops::functions`](crate::ops).

use super::lower::{Call, emit};
use super::{Body, Ir, Node, ValueId};
use crate::error::{BuildError, LoadError};
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::{DType, Element, Tensor};

/// The opset whose operators functions are written with.
const OPSET: i64 = 28;
/// The version of `ai.onnx.ml` of such calls.
const ML_OPSET: i64 = 5;

/// The nodes that one call of a function becomes, while they are written. All carry the label of the call.
pub struct FunctionBody<'a> {
    ir: &'a mut Ir,
    call: Call<'a>,
    nodes: &'a mut Vec<Node>,
    outputs: Vec<Option<ValueId>>,
}

impl<'a> FunctionBody<'a> {
    pub(super) fn new(ir: &'a mut Ir, call: Call<'a>, nodes: &'a mut Vec<Node>) -> Self {
        let outputs = vec![None; call.wanted.len()];
        FunctionBody { ir, call, nodes, outputs }
    }

    /// What was given for each output.
    pub(super) fn finish(self) -> Vec<Option<ValueId>> {
        self.outputs
    }

    /// The attributes of the call.
    pub fn attributes(&self) -> &Attributes {
        &self.call.attributes
    }

    /// The opset version of the call.
    pub fn opset(&self) -> i64 {
        self.call.opset
    }

    /// The operator of the call.
    pub fn op_type(&self) -> &str {
        &self.call.op_type
    }

    /// The number of outputs of the call, unwanted ones included.
    pub fn output_count(&self) -> usize {
        self.call.wanted.len()
    }

    /// The number of inputs of the call, absent ones included.
    pub fn input_count(&self) -> usize {
        self.call.inputs.len()
    }

    /// An optional input of the call.
    pub fn optional(&self, index: usize) -> Option<ValueId> {
        self.call.inputs.get(index).copied().flatten()
    }

    /// An input of the call that its definition requires.
    ///
    /// # Errors
    /// [`LoadError::Node`] when it is absent.
    pub fn input(&self, index: usize) -> Result<ValueId, LoadError> {
        self.optional(index).ok_or_else(|| self.refuse(format!("input {index} is missing")))
    }

    /// Whether somebody wants this output.
    pub fn wants(&self, index: usize) -> bool {
        self.call.wanted.get(index).copied().unwrap_or(false)
    }

    /// The element type of a value.
    pub fn dtype(&self, id: ValueId) -> DType {
        self.ir.value(id).dtype
    }

    /// The value that is the same in every run, if this is one.
    pub fn constant(&self, id: ValueId) -> Option<&Tensor> {
        self.ir.constant(Some(id))
    }

    /// An error at the call.
    pub fn refuse(&self, text: impl Into<String>) -> LoadError {
        let reason = BuildError::unsupported(text);
        LoadError::Node { node: self.call.label.to_owned(), reason }
    }

    /// A constant scalar.
    ///
    /// # Errors
    /// [`LoadError::Tensor`].
    pub fn scalar<T: Element>(&mut self, value: T) -> Result<ValueId, LoadError> {
        Ok(self.ir.add_constant(Tensor::scalar(value)?))
    }

    /// A constant scalar with the element type of `like`.
    ///
    /// # Errors
    /// [`LoadError`] for types that hold no numbers.
    pub fn number(&mut self, value: f64, like: ValueId) -> Result<ValueId, LoadError> {
        match self.dtype(like) {
            DType::F32 => self.scalar(value as f32),
            DType::F64 => self.scalar(value),
            other => {
                let wide = self.scalar(value)?;
                let to = AttributeValue::Int(other.onnx_number().into());
                self.call("Cast", &[wide], &[("to", to)])
            }
        }
    }

    /// A constant vector of integers.
    ///
    /// # Errors
    /// [`LoadError::Tensor`].
    pub fn ints(&mut self, values: &[i64]) -> Result<ValueId, LoadError> {
        Ok(self.ir.add_constant(Tensor::from_slice(values, &[values.len()])?))
    }

    /// The result of an operator of `ai.onnx`.
    ///
    /// # Errors
    /// [`LoadError`]: the operator does not take these types.
    pub fn call(
        &mut self,
        op_type: &str,
        inputs: &[ValueId],
        attributes: &[(&str, AttributeValue)],
    ) -> Result<ValueId, LoadError> {
        let inputs = inputs.iter().copied().map(Some).collect();
        let mut results = self.call_for(op_type, inputs, attributes, &[true])?;
        let first = results.drain(..).next().flatten();
        first.ok_or_else(|| self.refuse(format!("{op_type} has no result")))
    }

    /// The results of an operator of `ai.onnx` with optional inputs, one for each that is `wanted`.
    ///
    /// # Errors
    /// As [`FunctionBody::call`].
    pub fn call_for(
        &mut self,
        op_type: &str,
        inputs: Vec<Option<ValueId>>,
        attributes: &[(&str, AttributeValue)],
        wanted: &[bool],
    ) -> Result<Vec<Option<ValueId>>, LoadError> {
        self.call_all_of(("", op_type), inputs, attributes, wanted)
    }

    /// A constant.
    pub fn constant_of(&mut self, tensor: Tensor) -> ValueId {
        self.ir.add_constant(tensor)
    }

    /// The result of an operator of another domain than `ai.onnx`: of the engine's own, or one beside the call.
    ///
    /// # Errors
    /// As [`FunctionBody::call`].
    pub fn call_of(
        &mut self,
        (domain, op_type): (&str, &str),
        inputs: Vec<Option<ValueId>>,
        attributes: &[(&str, AttributeValue)],
    ) -> Result<ValueId, LoadError> {
        let results = self.call_all_of((domain, op_type), inputs, attributes, &[true])?;
        let first = results.into_iter().next().flatten();
        first.ok_or_else(|| self.refuse(format!("{op_type} has no result")))
    }

    /// The results of an operator of another domain, one for each that is `wanted`.
    ///
    /// # Errors
    /// As [`FunctionBody::call`].
    pub fn call_all_of(
        &mut self,
        (domain, op_type): (&str, &str),
        inputs: Vec<Option<ValueId>>,
        attributes: &[(&str, AttributeValue)],
        wanted: &[bool],
    ) -> Result<Vec<Option<ValueId>>, LoadError> {
        let mut own = Attributes::of(self.call.label.to_owned());
        for (name, value) in attributes {
            own.set(name, value.clone());
        }
        self.emit(domain, op_type, inputs, own, wanted)
    }

    /// The results of an operator that only the engine has (domain `stead`), with the inputs and attributes of the call.
    ///
    /// # Errors
    /// As [`FunctionBody::call`].
    pub fn own(
        &mut self,
        op_type: &str,
        wanted: &[bool],
    ) -> Result<Vec<Option<ValueId>>, LoadError> {
        let attributes = self.call.attributes.clone();
        self.emit("stead", op_type, self.call.inputs.clone(), attributes, wanted)
    }

    /// The results of the call itself, the same operator in the same version with the same attributes, of other inputs.
    ///
    /// # Errors
    /// As [`FunctionBody::call`].
    pub fn again(
        &mut self,
        inputs: Vec<Option<ValueId>>,
    ) -> Result<Vec<Option<ValueId>>, LoadError> {
        let call = Call {
            label: self.call.label,
            domain: self.call.domain.clone(),
            op_type: self.call.op_type.clone(),
            opset: self.call.opset,
            inputs,
            attributes: self.call.attributes.clone(),
            bodies: Vec::new(),
            wanted: self.call.wanted.clone(),
        };
        emit(self.ir, self.nodes, call)
    }

    /// The nodes of the graph so far: those in front of the call, and those that it has become.
    pub fn nodes(&self) -> &[Node] {
        self.nodes
    }

    /// The results of a node of the graph, without bodies, of other inputs.
    ///
    /// # Errors
    /// As [`FunctionBody::call`].
    pub fn copied(
        &mut self,
        node: &Node,
        inputs: Vec<Option<ValueId>>,
    ) -> Result<Vec<Option<ValueId>>, LoadError> {
        let call = Call {
            label: self.call.label,
            domain: node.domain.clone(),
            op_type: node.op_type.clone(),
            opset: node.opset,
            inputs,
            attributes: node.attributes.clone(),
            bodies: Vec::new(),
            wanted: node.outputs.iter().map(Option::is_some).collect(),
        };
        emit(self.ir, self.nodes, call)
    }

    fn emit(
        &mut self,
        domain: &str,
        op_type: &str,
        inputs: Vec<Option<ValueId>>,
        attributes: Attributes,
        wanted: &[bool],
    ) -> Result<Vec<Option<ValueId>>, LoadError> {
        let call = Call {
            label: self.call.label,
            domain: domain.to_owned(),
            op_type: op_type.to_owned(),
            opset: match domain {
                "" => OPSET,
                "ai.onnx.ml" => ML_OPSET,
                _ => 1,
            },
            inputs,
            attributes,
            bodies: Vec::new(),
            wanted: wanted.to_vec(),
        };
        emit(self.ir, self.nodes, call)
    }

    /// The results of a graph among the attributes of the call; `None` when there is none of this name.
    ///
    /// # Errors
    /// [`LoadError::Node`]: it takes another number of inputs, or inputs of other types.
    pub fn inlined(
        &mut self,
        name: &str,
        inputs: &[ValueId],
    ) -> Result<Option<Vec<ValueId>>, LoadError> {
        let Some(at) = self.call.bodies.iter().position(|(n, _)| n == name) else {
            return Ok(None);
        };
        let (_, mut body): (_, Body) = self.call.bodies.swap_remove(at);
        let types = |ids: &[ValueId]| ids.iter().map(|&id| self.dtype(id)).collect::<Vec<_>>();
        let (takes, given) = (types(&body.inputs), types(inputs));
        if takes != given {
            return Err(
                self.refuse(format!("{name} takes inputs of types {takes:?}, got {given:?}"))
            );
        }
        let formal = body.inputs.clone();
        body.each_use_mut(&mut |id| {
            let actual = formal.iter().zip(inputs).find(|(f, _)| *f == id);
            *id = actual.map_or(*id, |(_, &actual)| actual);
        });
        self.nodes.append(&mut body.nodes);
        Ok(Some(body.outputs))
    }

    /// Says what an output of the call is.
    pub fn give(&mut self, output: usize, value: ValueId) {
        if let Some(slot) = self.outputs.get_mut(output) {
            *slot = Some(value);
        }
    }
}
