//! Graphs and nodes.

use crate::{Attributes, ValueInfo, ValueType};
use stead_tensor::Tensor;

/// A dataflow graph: the main graph of a model or the body of an `If`, `Loop` or `Scan`.
///
/// A graph that the reader made is valid: the nodes are in an order in which every value is defined before
/// its use, each name is defined once, and a body uses only its own values and those that the graphs
/// around it define before the node that holds it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Graph {
    /// The name.
    pub name: String,
    /// Free text about the graph.
    pub description: String,
    /// The inputs in order. One whose name is also an initializer is optional and has that default.
    pub inputs: Vec<ValueInfo>,
    /// The outputs in order.
    pub outputs: Vec<ValueInfo>,
    /// Constants by name; sparse ones are stored dense.
    pub initializers: Vec<(String, Tensor)>,
    /// The nodes, sorted.
    pub nodes: Vec<Node>,
    /// What the file says about the types of intermediate values. It is a claim, not a proof.
    pub value_info: Vec<ValueInfo>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The name, often empty and not always unique. [`Node::label`] is for messages.
    pub name: String,
    /// The operator, such as `MatMul`.
    pub op_type: String,
    /// The domain of the operator; `""` for `ai.onnx`.
    pub domain: String,
    /// What tells several functions of one domain and name apart; mostly empty.
    pub overload: String,
    /// The version of the domain's operator set that the node was written for.
    pub opset: i64,
    /// The names of the inputs; `""` for an optional input that is absent.
    pub inputs: Vec<String>,
    /// The names of the outputs; `""` for an output that nobody wants.
    pub outputs: Vec<String>,
    /// The attributes.
    pub attributes: Attributes,
}

impl Graph {
    /// The initializer of this name.
    pub fn initializer(&self, name: &str) -> Option<&Tensor> {
        self.initializers.iter().find(|(n, _)| n == name).map(|(_, t)| t)
    }

    /// The inputs that a caller must give: those without a default.
    pub fn required_inputs(&self) -> impl Iterator<Item = &ValueInfo> {
        self.inputs.iter().filter(|i| self.initializer(&i.name).is_none())
    }

    /// The declared type of an input, output or intermediate value, if the file has one.
    pub fn declared_type(&self, name: &str) -> Option<&ValueType> {
        let all = self.inputs.iter().chain(&self.outputs).chain(&self.value_info);
        all.filter(|v| v.ty != ValueType::Unknown).find(|v| v.name == name).map(|v| &v.ty)
    }
}

impl Node {
    /// A node of `ai.onnx` without attributes.
    pub fn new(op_type: &str, opset: i64, inputs: &[&str], outputs: &[&str]) -> Node {
        Node {
            name: String::new(),
            op_type: op_type.to_owned(),
            domain: String::new(),
            overload: String::new(),
            opset,
            inputs: inputs.iter().map(|&s| s.to_owned()).collect(),
            outputs: outputs.iter().map(|&s| s.to_owned()).collect(),
            attributes: Attributes::default(),
        }
    }

    /// What a message calls this node: operator and name, or operator and first output when it has no
    /// name. Long names are shortened.
    pub fn label(&self) -> String {
        label(&self.op_type, &self.name, self.outputs.first().map_or("", String::as_str))
    }

    /// The input at `index`, or `None` when it is absent.
    pub fn input(&self, index: usize) -> Option<&str> {
        self.inputs.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The output at `index`, or `None` when nobody wants it.
    pub fn output(&self, index: usize) -> Option<&str> {
        self.outputs.get(index).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// The graphs that this node holds in its attributes, with the attribute names.
    pub fn subgraphs(&self) -> impl Iterator<Item = (&str, &Graph)> {
        self.attributes
            .iter()
            .flat_map(|(name, value)| value.graphs().iter().map(move |g| (name, g)))
    }
}

/// The label of a node, see [`Node::label`].
pub(crate) fn label(op_type: &str, name: &str, first_output: &str) -> String {
    use crate::error::quote;
    let op = quote(op_type);
    let op = op.trim_matches('"');
    let space = if op.is_empty() { "" } else { " " };
    if name.is_empty() {
        format!("{op}{space}node of {}", quote(first_output))
    } else {
        format!("{op}{space}node {}", quote(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_name_the_node_or_its_output_and_stay_short() {
        let mut node = Node::new("Add", 13, &["a", "b"], &["c"]);
        assert_eq!(node.label(), "Add node of \"c\"");
        node.name = "sum".to_owned();
        assert_eq!(node.label(), "Add node \"sum\"");
        node.name = "x".repeat(1000);
        assert!(node.label().len() < 200);
    }

    #[test]
    fn an_empty_name_is_an_absent_input() {
        let node = Node::new("Clip", 13, &["x", "", "max"], &["y"]);
        let inputs: Vec<_> = (0..4).map(|i| node.input(i)).collect();
        assert_eq!(inputs, [Some("x"), None, Some("max"), None]);
    }
}
