//! A whole model.

use crate::{Attributes, Graph, Node, OnnxError, ValueInfo};

/// A model: the main graph, what it was written for and the functions that it brings along.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// The version of the file format.
    pub ir_version: i64,
    /// The name of the program that wrote the file.
    pub producer: String,
    /// The version of that program.
    pub producer_version: String,
    /// The reverse name of an organisation: whose the model is.
    pub domain: String,
    /// The version of the model itself.
    pub version: i64,
    /// Free text about the model.
    pub description: String,
    /// The operator sets that the nodes of the main graph belong to.
    pub opset_imports: Vec<OpsetImport>,
    /// The main graph.
    pub graph: Graph,
    /// The functions that nodes may call.
    pub functions: Vec<Function>,
    /// Free pairs of key and value.
    pub metadata: Vec<(String, String)>,
}

/// An operator set: a domain and the version of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpsetImport {
    /// The domain; `""` for `ai.onnx`.
    pub domain: String,
    /// The version.
    pub version: i64,
}

/// A function that comes with the model: a body of nodes that stands for one operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The name, which is the operator type of the nodes that call it.
    pub name: String,
    /// The domain of those nodes; `""` for `ai.onnx`.
    pub domain: String,
    /// What tells several functions of one domain and name apart; mostly empty.
    pub overload: String,
    /// The formal inputs. A call may leave out the last ones.
    pub inputs: Vec<String>,
    /// The formal outputs. A call may leave out the last ones.
    pub outputs: Vec<String>,
    /// The attributes without a default. A reference to one that a call leaves out drops the attribute
    /// that refers to it.
    pub attributes: Vec<String>,
    /// The attributes with a default.
    pub defaults: Attributes,
    /// The body, sorted.
    pub nodes: Vec<Node>,
    /// The operator sets of the body.
    pub opset_imports: Vec<OpsetImport>,
    /// What is known about values of the body.
    pub value_info: Vec<ValueInfo>,
}

impl Model {
    /// The model with its nodes sorted and its names checked, as the reader leaves it; for models that were made from
    /// other files.
    ///
    /// # Errors
    /// Names that are used and not defined, or defined twice, and nodes that wait for each other.
    pub fn validated(mut self) -> Result<Model, OnnxError> {
        crate::validate::model(&mut self)?;
        Ok(self)
    }

    /// The version of `domain` (`""` for `ai.onnx`) that the main graph uses.
    pub fn opset(&self, domain: &str) -> Option<i64> {
        self.opset_imports.iter().find(|o| o.domain == domain).map(|o| o.version)
    }
}
