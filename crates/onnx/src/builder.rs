//! Small models made in code, for tests and examples.

use crate::{
    AttributeKind, AttributeValue, Attributes, Dim, Function, Graph, Model, Node, OnnxError,
    OpsetImport, ValueInfo, ValueType,
};
use stead_tensor::{DType, Tensor};

/// The IR version of built models: the newest that ONNX Runtime 1.31 reads too.
const IR_VERSION: i64 = 10;

/// Builds a model step by step. Nothing is checked before [`build`](Self::build), so that tests can also
/// make [bytes](Self::bytes) of models that are wrong.
///
/// ```
/// use stead_onnx::ModelBuilder;
/// use stead_tensor::{DType, Tensor};
///
/// let weights = Tensor::from_slice(&[1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2])?;
/// let model = ModelBuilder::new(17)
///     .input("x", DType::F32, &["batch", "3"])
///     .init("w", weights)
///     .node("MatMul", &["x", "w"], &["y"])
///     .node("Softmax", &["y"], &["p"]).attr("axis", -1)
///     .output("p", DType::F32)
///     .build()?;
/// assert_eq!(model.graph.inputs[0].ty.to_string(), "f32[batch,3]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The body of an `If` is built the same way and taken out with [`graph`](Self::graph).
#[derive(Debug, Clone)]
pub struct ModelBuilder {
    model: Model,
}

impl ModelBuilder {
    /// An empty model for this opset of `ai.onnx`.
    pub fn new(opset: i64) -> ModelBuilder {
        let opset_imports = vec![OpsetImport { domain: String::new(), version: opset }];
        let graph = Graph { name: "graph".to_owned(), ..Graph::default() };
        ModelBuilder {
            model: Model {
                ir_version: IR_VERSION,
                producer: String::new(),
                producer_version: String::new(),
                domain: String::new(),
                version: 0,
                description: String::new(),
                opset_imports,
                graph,
                functions: Vec::new(),
                metadata: Vec::new(),
            },
        }
    }

    /// Sets the IR version.
    pub fn ir_version(mut self, version: i64) -> Self {
        self.model.ir_version = version;
        self
    }

    /// Names the graph.
    pub fn name(mut self, name: &str) -> Self {
        self.model.graph.name = name.to_owned();
        self
    }

    /// Imports an operator set.
    pub fn import(mut self, domain: &str, version: i64) -> Self {
        self.model.opset_imports.push(OpsetImport { domain: domain.to_owned(), version });
        self
    }

    /// Adds a pair of metadata.
    pub fn metadata(mut self, key: &str, value: &str) -> Self {
        self.model.metadata.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Adds a tensor input. A dimension is a number, a name, or `"?"`.
    pub fn input(self, name: &str, dtype: DType, dims: &[&str]) -> Self {
        self.input_of(name, ValueType::tensor(dtype, Some(dims_of(dims))))
    }

    /// Adds an input of any type.
    pub fn input_of(mut self, name: &str, ty: ValueType) -> Self {
        self.model.graph.inputs.push(ValueInfo { name: name.to_owned(), ty });
        self
    }

    /// Adds an initializer. One with the name of an input is the input's default.
    pub fn init(mut self, name: &str, tensor: Tensor) -> Self {
        self.model.graph.initializers.push((name.to_owned(), tensor));
        self
    }

    /// Adds a node of `ai.onnx`; an empty input name stands for an absent one.
    pub fn node(mut self, op_type: &str, inputs: &[&str], outputs: &[&str]) -> Self {
        let opset = self.model.opset("").unwrap_or_default();
        self.model.graph.nodes.push(Node::new(op_type, opset, inputs, outputs));
        self
    }

    /// Puts the last node into another domain.
    pub fn domain(mut self, domain: &str) -> Self {
        let opset = self.model.opset(domain).unwrap_or_default();
        if let Some(node) = self.model.graph.nodes.last_mut() {
            node.domain = domain.to_owned();
            node.opset = opset;
        }
        self
    }

    /// Names the last node.
    pub fn named(mut self, name: &str) -> Self {
        if let Some(node) = self.model.graph.nodes.last_mut() {
            node.name = name.to_owned();
        }
        self
    }

    /// Sets an attribute of the last node.
    pub fn attr(mut self, name: &str, value: impl Into<AttributeValue>) -> Self {
        if let Some(node) = self.model.graph.nodes.last_mut() {
            node.attributes.set(name, value.into());
        }
        self
    }

    /// Adds a tensor output of any shape.
    pub fn output(self, name: &str, dtype: DType) -> Self {
        self.output_of(name, ValueType::tensor(dtype, None))
    }

    /// Adds an output of any type.
    pub fn output_of(mut self, name: &str, ty: ValueType) -> Self {
        self.model.graph.outputs.push(ValueInfo { name: name.to_owned(), ty });
        self
    }

    /// Says what type an intermediate value has.
    pub fn value(mut self, name: &str, ty: ValueType) -> Self {
        self.model.graph.value_info.push(ValueInfo { name: name.to_owned(), ty });
        self
    }

    /// Adds a function whose body is the nodes of `body`, which is of the same opsets.
    pub fn function(
        mut self,
        domain: &str,
        name: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[&str],
        body: ModelBuilder,
    ) -> Self {
        let owned = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect();
        self.model.functions.push(Function {
            name: name.to_owned(),
            domain: domain.to_owned(),
            overload: String::new(),
            inputs: owned(inputs),
            outputs: owned(outputs),
            attributes: owned(attributes),
            defaults: Attributes::default(),
            nodes: body.model.graph.nodes,
            opset_imports: body.model.opset_imports,
            value_info: body.model.graph.value_info,
        });
        self
    }

    /// The graph alone, not checked: a body for an attribute.
    pub fn graph(self) -> Graph {
        self.model.graph
    }

    /// The model, not checked.
    pub fn unchecked(self) -> Model {
        self.model
    }

    /// The bytes of the `.onnx` file, not checked.
    pub fn bytes(self) -> Vec<u8> {
        self.model.to_bytes()
    }

    /// The model as it is when its file is read.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    pub fn build(self) -> Result<Model, OnnxError> {
        Model::from_bytes(&self.bytes(), None)
    }
}

/// Dimensions as they are written in [`ModelBuilder::input`].
pub fn dims_of(dims: &[&str]) -> Vec<Dim> {
    let dim = |&dim: &&str| match dim {
        "?" => Dim::Unknown,
        _ => dim.parse().map_or_else(|_| Dim::Symbol(dim.to_owned()), Dim::Known),
    };
    dims.iter().map(dim).collect()
}

impl AttributeValue {
    /// A reference to the attribute `name` of the call, for the nodes of a function.
    pub fn reference(name: &str, kind: AttributeKind) -> AttributeValue {
        AttributeValue::Ref { name: name.to_owned(), kind }
    }
}

macro_rules! from {
    ($($ty:ty => $v:ident $make:expr;)*) => {$(
        impl From<$ty> for AttributeValue {
            fn from($v: $ty) -> Self { $make }
        }
    )*};
}

from! {
    i64 => v AttributeValue::Int(v);
    i32 => v AttributeValue::Int(v.into());
    bool => v AttributeValue::Int(v.into());
    DType => v AttributeValue::Int(v.onnx_number().into());
    f32 => v AttributeValue::Float(v);
    &str => v AttributeValue::String(v.into());
    Tensor => v AttributeValue::Tensor(v);
    Graph => v AttributeValue::Graph(v);
    ValueType => v AttributeValue::Type(v);
    Vec<i64> => v AttributeValue::Ints(v);
    &[i64] => v AttributeValue::Ints(v.to_vec());
    Vec<f32> => v AttributeValue::Floats(v);
    &[f32] => v AttributeValue::Floats(v.to_vec());
    &[&str] => v AttributeValue::Strings(v.iter().map(|s| s.as_bytes().to_vec()).collect());
}

impl<const N: usize> From<[i64; N]> for AttributeValue {
    fn from(v: [i64; N]) -> Self {
        AttributeValue::Ints(v.to_vec())
    }
}

impl<const N: usize> From<[f32; N]> for AttributeValue {
    fn from(v: [f32; N]) -> Self {
        AttributeValue::Floats(v.to_vec())
    }
}

impl<const N: usize> From<[&str; N]> for AttributeValue {
    fn from(v: [&str; N]) -> Self {
        v.as_slice().into()
    }
}
