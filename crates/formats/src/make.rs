//! A graph in the making: what the readers of all formats lower their operations to.

use crate::error::FormatError;
use std::collections::{HashMap, HashSet};
use stead_onnx::{AttributeValue, Dim, Graph, Node, ValueInfo, ValueType};
use stead_tensor::{DType, Tensor, TensorError};

/// The operator set of the nodes that are made: the first with the types and attributes that are used here.
pub(crate) const OPSET: i64 = 21;

/// The domain of variables, which ONNX has not.
pub(crate) const STATE_DOMAIN: &str = "stead";

/// Nodes and constants of the graph that is being made, and of the graphs around it.
pub(crate) struct Make {
    /// Every name in use, so that no two values of any graph share one.
    names: HashSet<String>,
    /// The names of nodes: two that share one are refused by ONNX Runtime.
    nodes: HashSet<String>,
    /// Innermost last.
    scopes: Vec<Graph>,
    /// The constants by name.
    known: HashMap<String, Tensor>,
    /// What messages about the nodes to come call them.
    name: String,
}

/// A name that is not among those in use yet: the one that is wanted, or that with a number behind it.
fn unused(names: &mut HashSet<String>, base: &str) -> String {
    let mut name = base.to_owned();
    let mut count = 0;
    while !names.insert(name.clone()) {
        count += 1;
        name = format!("{base}/{count}");
    }
    name
}

impl Make {
    /// A graph in which the names of `taken` are those of inputs and outputs.
    pub fn new(taken: impl IntoIterator<Item = String>) -> Make {
        Make {
            names: taken.into_iter().collect(),
            nodes: HashSet::new(),
            scopes: vec![Graph::default()],
            known: HashMap::new(),
            name: String::new(),
        }
    }

    /// Says for what the next nodes are made.
    pub fn on_behalf_of(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Begins the body of a node.
    pub fn begin(&mut self) {
        self.scopes.push(Graph::default());
    }

    /// Ends what was begun last, or the main graph.
    pub fn end(&mut self) -> Graph {
        self.scopes.pop().unwrap_or_default()
    }

    fn scope(&mut self) -> &mut Graph {
        if self.scopes.is_empty() {
            self.scopes.push(Graph::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// A name that no value has.
    pub fn fresh(&mut self, base: &str) -> String {
        unused(&mut self.names, base)
    }

    fn value(&mut self) -> String {
        let count = self.names.len();
        self.fresh(&format!("value/{count}"))
    }

    /// A constant of the graph.
    pub fn constant(&mut self, tensor: Tensor) -> String {
        let name = self.value();
        self.known.insert(name.clone(), tensor.clone());
        self.scope().initializers.push((name.clone(), tensor));
        name
    }

    /// The constant of this name.
    pub fn known(&self, name: &str) -> Option<&Tensor> {
        self.known.get(name)
    }

    /// A list of `i64`.
    pub fn ints(&mut self, values: &[i64]) -> Result<String, TensorError> {
        Ok(self.constant(Tensor::from_slice(values, &[values.len()])?))
    }

    /// A number as a scalar of a type, as near as it has one.
    pub fn number(&mut self, dtype: DType, value: f64) -> Result<String, TensorError> {
        let tensor = match dtype {
            DType::F64 => Tensor::scalar(value)?,
            DType::F16 => Tensor::scalar(half::f16::from_f64(value))?,
            DType::BF16 => Tensor::scalar(half::bf16::from_f64(value))?,
            DType::I8 => Tensor::scalar(value as i8)?,
            DType::I16 => Tensor::scalar(value as i16)?,
            DType::I32 => Tensor::scalar(value as i32)?,
            DType::I64 => Tensor::scalar(value as i64)?,
            DType::U8 => Tensor::scalar(value as u8)?,
            DType::U16 => Tensor::scalar(value as u16)?,
            DType::U32 => Tensor::scalar(value as u32)?,
            DType::U64 => Tensor::scalar(value as u64)?,
            _ => Tensor::scalar(value as f32)?,
        };
        Ok(self.constant(tensor))
    }

    /// A node with one output.
    pub fn node(&mut self, op: &str, inputs: &[&str]) -> String {
        self.node_with(op, inputs, &[])
    }

    /// A node with one output and attributes.
    pub fn node_with(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: &[(&str, AttributeValue)],
    ) -> String {
        let name = self.value();
        self.push(op, inputs, vec![name.clone()], attributes);
        name
    }

    /// A node with any number of outputs.
    pub fn node_of(
        &mut self,
        op: &str,
        inputs: &[&str],
        outputs: usize,
        attributes: &[(&str, AttributeValue)],
    ) -> Vec<String> {
        let names: Vec<String> = (0..outputs).map(|_| self.value()).collect();
        self.push(op, inputs, names.clone(), attributes);
        names
    }

    /// A node that defines values of these names.
    pub fn push(
        &mut self,
        op: &str,
        inputs: &[&str],
        outputs: Vec<String>,
        attributes: &[(&str, AttributeValue)],
    ) {
        let mut node = Node::new(op, OPSET, inputs, &[]);
        if !self.name.is_empty() {
            node.name = unused(&mut self.nodes, &self.name);
        }
        node.outputs = outputs;
        let mut named = stead_onnx::Attributes::of(node.label());
        for (name, value) in attributes {
            named.set(name, value.clone());
        }
        node.attributes = named;
        self.scope().nodes.push(node);
    }

    /// Puts the last node into the domain of variables.
    pub fn as_state(&mut self) {
        if let Some(node) = self.scope().nodes.last_mut() {
            STATE_DOMAIN.clone_into(&mut node.domain);
            node.opset = 1;
        }
    }

    /// Says what type a value has.
    pub fn declare(&mut self, name: &str, dtype: DType, dims: Option<Vec<Dim>>) {
        let ty = ValueType::tensor(dtype, dims);
        self.scope().value_info.push(ValueInfo { name: name.to_owned(), ty });
    }

    /// An input of the graph.
    pub fn input(&mut self, name: &str, ty: ValueType) {
        self.names.insert(name.to_owned());
        self.scope().inputs.push(ValueInfo { name: name.to_owned(), ty });
    }

    /// An output of the graph; the value must be defined in it.
    pub fn output(&mut self, name: &str, ty: ValueType) {
        self.scope().outputs.push(ValueInfo { name: name.to_owned(), ty });
    }
}

/// A checked model of a graph that was made.
pub(crate) fn model(
    graph: Graph,
    producer: &str,
    version: &str,
) -> Result<stead_onnx::Model, FormatError> {
    let import =
        |domain: &str, version| stead_onnx::OpsetImport { domain: domain.to_owned(), version };
    let model = stead_onnx::Model {
        // The newest whose operator sets include the one that is used.
        ir_version: 10,
        producer: producer.to_owned(),
        producer_version: version.to_owned(),
        domain: String::new(),
        version: 0,
        description: String::new(),
        opset_imports: vec![import("", OPSET), import(STATE_DOMAIN, 1)],
        graph,
        functions: Vec::new(),
        metadata: Vec::new(),
    };
    Ok(model.validated()?)
}

/// The integers of a tensor of an integer type.
pub(crate) fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    fn all<T: stead_tensor::Element + Into<i64>>(tensor: &Tensor) -> Option<Vec<i64>> {
        Some(tensor.as_slice::<T>().ok()?.iter().map(|&v| v.into()).collect())
    }
    match tensor.dtype() {
        DType::I64 => tensor.as_slice::<i64>().ok().map(<[i64]>::to_vec),
        DType::I32 => all::<i32>(tensor),
        DType::I16 => all::<i16>(tensor),
        DType::I8 => all::<i8>(tensor),
        DType::U8 => all::<u8>(tensor),
        DType::U16 => all::<u16>(tensor),
        DType::U32 => all::<u32>(tensor),
        DType::U64 => {
            let values = tensor.as_slice::<u64>().ok()?;
            Some(values.iter().map(|&v| i64::try_from(v).unwrap_or(i64::MAX)).collect())
        }
        _ => None,
    }
}
