//! The engine's own graph: values by number instead of by name, every value with its element type.
//!
//! Passes rewrite it. Bodies of control-flow nodes share the numbering of the graph around them, so that a
//! captured value is just an input, and a branch can be inlined when a plan is made.

mod form;
mod function;
mod lower;
mod make;
mod scan;

pub use form::{Form, FormSet, Typed};
pub use function::FunctionBody;
pub(crate) use lower::output_type;
pub use lower::{lower, type_of};
pub use make::NodeMaker;

use std::collections::HashMap;
use std::sync::Arc;
use stead_onnx::{Attributes, Dim};
use stead_tensor::{DType, Tensor};

/// The number of a value, unique in the whole model, bodies included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) u32);

impl ValueId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value: a graph input, a constant, or the result of a node.
#[derive(Debug, Clone)]
pub struct Value {
    /// The element type.
    pub dtype: DType,
    /// Whether it is a tensor, and what else.
    pub form: Form,
    /// The value itself, where it is the same in every run; the default of an optional input.
    pub constant: Option<Tensor>,
    /// Whether this is an optional input, which a run may override.
    pub overridable: bool,
}

/// One operation.
#[derive(Debug, Clone)]
pub struct Node {
    /// What messages call the node.
    pub label: Arc<str>,
    /// `""` for `ai.onnx`; `stead` for operators that passes make.
    pub domain: String,
    /// The operator.
    pub op_type: String,
    /// The opset version of the domain.
    pub opset: i64,
    /// The inputs; `None` where an optional one is absent.
    pub inputs: Vec<Option<ValueId>>,
    /// The outputs; `None` where nobody wants one.
    pub outputs: Vec<Option<ValueId>>,
    /// The attributes, without bodies.
    pub attributes: Attributes,
    /// The graphs in the attributes, by attribute name.
    pub bodies: Vec<(String, Body)>,
    /// A hidden value in which the node may leave something that its output shapes depend on.
    pub aux: ValueId,
}

/// A list of nodes in an order in which they can run.
#[derive(Debug, Clone, Default)]
pub struct Body {
    /// What the graph is called with.
    pub inputs: Vec<ValueId>,
    /// What it gives.
    pub outputs: Vec<ValueId>,
    /// Its nodes.
    pub nodes: Vec<Node>,
}

/// A whole model.
#[derive(Debug, Clone, Default)]
pub struct Ir {
    /// All values, by [`ValueId`].
    pub values: Vec<Value>,
    /// The main graph.
    pub body: Body,
    /// What the file says about dimensions: a claim, not a proof. Lifting states reads it. Passes see what it says of
    /// the graph's inputs, to whose rank runs are held.
    pub declared: HashMap<ValueId, Vec<Dim>>,
}

impl Ir {
    /// A new tensor.
    pub fn add_value(&mut self, dtype: DType) -> ValueId {
        self.add(Typed::tensor(dtype))
    }

    /// A new value.
    pub fn add(&mut self, Typed { dtype, form }: Typed) -> ValueId {
        let id = ValueId(self.values.len() as u32);
        self.values.push(Value { dtype, form, constant: None, overridable: false });
        id
    }

    /// A new constant.
    pub fn add_constant(&mut self, tensor: Tensor) -> ValueId {
        let id = self.add_value(tensor.dtype());
        self.values[id.index()].constant = Some(tensor);
        id
    }

    /// The value with this number.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The type of a value.
    pub fn typed(&self, id: ValueId) -> Typed {
        let Value { dtype, form, .. } = *self.value(id);
        Typed { dtype, form }
    }

    /// Whether all values are tensors.
    pub fn is_of_tensors(&self) -> bool {
        self.values.iter().all(|value| value.form == Form::Tensor)
    }

    /// The constant behind an input, if it is one. The default of an optional input is none.
    pub fn constant(&self, id: Option<ValueId>) -> Option<&Tensor> {
        let value = self.value(id?);
        value.constant.as_ref().filter(|_| !value.overridable)
    }

    /// How often each value is used: as a node's input in any body, or as an output of any body.
    pub fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0u32; self.values.len()];
        self.body.each_use(&mut |id| uses[id.index()] += 1);
        uses
    }

    /// The number of nodes, those in bodies included.
    pub fn node_count(&self) -> usize {
        self.body.node_count()
    }
}

impl Body {
    /// Calls `f` for every use of a value, in bodies too.
    pub fn each_use(&self, f: &mut dyn FnMut(ValueId)) {
        self.outputs.iter().for_each(|&id| f(id));
        for node in &self.nodes {
            node.inputs.iter().flatten().for_each(|&id| f(id));
            node.bodies.iter().for_each(|(_, body)| body.each_use(f));
        }
    }

    /// Calls `f` with every place where a value is used, so that it can be replaced.
    pub fn each_use_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
        self.outputs.iter_mut().for_each(&mut *f);
        for node in &mut self.nodes {
            node.inputs.iter_mut().flatten().for_each(&mut *f);
            node.bodies.iter_mut().for_each(|(_, body)| body.each_use_mut(f));
        }
    }

    /// Brings the nodes into an order in which they can run, near the one that they have.
    pub fn sort(&mut self) {
        let mut makers = HashMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            makers.extend(node.outputs.iter().flatten().map(|id| (*id, at)));
        }
        let mut needs: Vec<Vec<usize>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let mut before = Vec::new();
            let mut need = |id: ValueId| before.extend(makers.get(&id).copied());
            node.inputs.iter().flatten().for_each(|&id| need(id));
            node.bodies.iter().for_each(|(_, body)| body.each_use(&mut need));
            needs.push(before);
        }
        let mut nodes: Vec<Option<Node>> = self.nodes.drain(..).map(Some).collect();
        let mut entered = vec![false; nodes.len()];
        for start in 0..nodes.len() {
            let mut open = vec![start];
            while let Some(&at) = open.last() {
                // Graphs have no cycles; a node that is come to again has been written or waits further down.
                if !std::mem::replace(&mut entered[at], true) {
                    open.extend(needs[at].iter().rev().filter(|&&need| !entered[need]));
                    continue;
                }
                open.pop();
                self.nodes.extend(nodes[at].take());
            }
        }
    }

    fn node_count(&self) -> usize {
        let inner = |n: &Node| n.bodies.iter().map(|(_, b)| b.node_count()).sum::<usize>();
        self.nodes.iter().map(|n| 1 + inner(n)).sum()
    }

    /// Calls `f` with this body and every body inside it, inner ones first.
    pub fn each_body_mut<E>(
        &mut self,
        f: &mut dyn FnMut(&mut Body) -> Result<(), E>,
    ) -> Result<(), E> {
        for node in &mut self.nodes {
            for (_, body) in &mut node.bodies {
                body.each_body_mut(f)?;
            }
        }
        f(self)
    }
}

impl Node {
    /// Whether this is operator `op_type` of `ai.onnx`.
    pub fn is(&self, op_type: &str) -> bool {
        self.domain.is_empty() && self.op_type == op_type
    }

    /// Whether what it gives differs from run to run.
    pub fn is_drawn(&self) -> bool {
        let inside = |body: &Body| body.nodes.iter().any(Node::is_drawn);
        self.domain == "stead" && self.op_type == "Random"
            || self.is("Dropout") && self.input(2).is_some()
            || self.bodies.iter().any(|(_, body)| inside(body))
    }

    /// Whether this reads or writes a variable.
    pub fn is_variable(&self) -> bool {
        self.domain == "stead" && matches!(self.op_type.as_str(), "ReadValue" | "Assign")
    }

    /// The input at `index`, if it is present.
    pub fn input(&self, index: usize) -> Option<ValueId> {
        self.inputs.get(index).copied().flatten()
    }

    /// The output at `index`, if somebody wants it.
    pub fn output(&self, index: usize) -> Option<ValueId> {
        self.outputs.get(index).copied().flatten()
    }
}
