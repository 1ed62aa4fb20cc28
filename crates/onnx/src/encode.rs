//! From a [`Model`] back to bytes.

use crate::{
    AttributeValue, Attributes, Dim, Function, Graph, Model, Node, OpsetImport, ValueInfo,
    ValueType, proto,
};
use prost::Message;
use proto::tensor_shape_proto::{Dimension, dimension};
use stead_tensor::{Tensor, TensorView};

impl Model {
    /// The bytes of an `.onnx` file with this model; all weights are in the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        model(self, initializers(&self.graph)).encode_to_vec()
    }
}

/// The message for a model whose main graph has these initializers.
pub(crate) fn model(model: &Model, initializers: Vec<proto::TensorProto>) -> proto::ModelProto {
    let entry = |(key, value): &(String, String)| proto::StringStringEntryProto {
        key: Some(key.clone()),
        value: Some(value.clone()),
    };
    proto::ModelProto {
        ir_version: Some(model.ir_version),
        producer_name: text(&model.producer),
        producer_version: text(&model.producer_version),
        domain: text(&model.domain),
        model_version: (model.version != 0).then_some(model.version),
        doc_string: text(&model.description),
        opset_import: imports(&model.opset_imports),
        graph: Some(graph_with(&model.graph, initializers)),
        functions: model.functions.iter().map(function).collect(),
        metadata_props: model.metadata.iter().map(entry).collect(),
        ..Default::default()
    }
}

fn text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn imports(imports: &[OpsetImport]) -> Vec<proto::OperatorSetIdProto> {
    let import = |o: &OpsetImport| proto::OperatorSetIdProto {
        domain: Some(o.domain.clone()),
        version: Some(o.version),
    };
    imports.iter().map(import).collect()
}

fn function(f: &Function) -> proto::FunctionProto {
    proto::FunctionProto {
        name: Some(f.name.clone()),
        domain: Some(f.domain.clone()),
        overload: text(&f.overload),
        input: f.inputs.clone(),
        output: f.outputs.clone(),
        attribute: f.attributes.clone(),
        attribute_proto: attributes(&f.defaults),
        node: f.nodes.iter().map(node).collect(),
        opset_import: imports(&f.opset_imports),
        value_info: f.value_info.iter().map(value_info).collect(),
        ..Default::default()
    }
}

fn initializers(g: &Graph) -> Vec<proto::TensorProto> {
    g.initializers.iter().map(|(name, t)| tensor(name, &t.view())).collect()
}

fn graph(g: &Graph) -> proto::GraphProto {
    graph_with(g, initializers(g))
}

fn graph_with(g: &Graph, initializer: Vec<proto::TensorProto>) -> proto::GraphProto {
    proto::GraphProto {
        name: Some(g.name.clone()),
        doc_string: text(&g.description),
        node: g.nodes.iter().map(node).collect(),
        initializer,
        input: g.inputs.iter().map(value_info).collect(),
        output: g.outputs.iter().map(value_info).collect(),
        value_info: g.value_info.iter().map(value_info).collect(),
        ..Default::default()
    }
}

fn node(n: &Node) -> proto::NodeProto {
    proto::NodeProto {
        input: n.inputs.clone(),
        output: n.outputs.clone(),
        name: text(&n.name),
        op_type: Some(n.op_type.clone()),
        domain: text(&n.domain),
        overload: text(&n.overload),
        attribute: attributes(&n.attributes),
        ..Default::default()
    }
}

fn attributes(attributes: &Attributes) -> Vec<proto::AttributeProto> {
    attributes.iter().map(|(name, value)| attribute(name, value)).collect()
}

fn attribute(name: &str, value: &AttributeValue) -> proto::AttributeProto {
    use AttributeValue as Value;
    let unnamed = |t: &Tensor| tensor("", &t.view());
    let mut out = proto::AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(value.kind().onnx_number()),
        ..Default::default()
    };
    match value {
        Value::Float(v) => out.f = Some(*v),
        Value::Int(v) => out.i = Some(*v),
        Value::String(v) => out.s = Some(v.clone()),
        Value::Tensor(v) => out.t = Some(Box::new(unnamed(v))),
        Value::Graph(v) => out.g = Some(Box::new(graph(v))),
        Value::SparseTensor(v) => out.sparse_tensor = Some(Box::new(sparse(v))),
        Value::Type(v) => out.tp = Some(Box::new(value_type(v))),
        Value::Floats(v) => out.floats = v.clone(),
        Value::Ints(v) => out.ints = v.clone(),
        Value::Strings(v) => out.strings = v.clone(),
        Value::Tensors(v) => out.tensors = v.iter().map(unnamed).collect(),
        Value::Graphs(v) => out.graphs = v.iter().map(graph).collect(),
        Value::SparseTensors(v) => out.sparse_tensors = v.iter().map(sparse).collect(),
        Value::Types(v) => out.type_protos = v.iter().map(value_type).collect(),
        Value::Ref { name, .. } => out.ref_attr_name = Some(name.clone()),
    }
    out
}

/// A tensor as raw data, or as strings.
pub(crate) fn tensor(name: &str, view: &TensorView<'_>) -> proto::TensorProto {
    let strings = view.dtype() == stead_tensor::DType::String;
    proto::TensorProto {
        dims: view.shape().iter().map(|&d| d as i64).collect(),
        data_type: Some(view.dtype().onnx_number()),
        name: text(name),
        raw_data: (!strings).then(|| view.bytes().to_vec().into()),
        string_data: view.strings().to_vec(),
        ..Default::default()
    }
}

/// Every element of `t` with its position.
fn sparse(t: &Tensor) -> proto::SparseTensorProto {
    let count = t.shape().elements();
    let indices = (0..count as i64).collect();
    proto::SparseTensorProto {
        values: Some(proto::TensorProto { dims: vec![count as i64], ..tensor("", &t.view()) }),
        indices: Some(proto::TensorProto {
            dims: vec![count as i64],
            data_type: Some(stead_tensor::DType::I64.onnx_number()),
            int64_data: indices,
            ..Default::default()
        }),
        dims: t.shape().iter().map(|&d| d as i64).collect(),
    }
}

fn value_info(info: &ValueInfo) -> proto::ValueInfoProto {
    let known = info.ty != ValueType::Unknown;
    proto::ValueInfoProto {
        name: Some(info.name.clone()),
        r#type: known.then(|| value_type(&info.ty)),
        ..Default::default()
    }
}

fn value_type(ty: &ValueType) -> proto::TypeProto {
    use proto::type_proto::{self, Value};
    let inner = |ty: &ValueType| Some(Box::new(value_type(ty)));
    let value = match ty {
        ValueType::Tensor { dtype, dims } => Value::TensorType(type_proto::Tensor {
            elem_type: Some(dtype.onnx_number()),
            shape: dims.as_deref().map(shape),
        }),
        ValueType::SparseTensor { dtype, dims } => {
            Value::SparseTensorType(type_proto::SparseTensor {
                elem_type: Some(dtype.onnx_number()),
                shape: dims.as_deref().map(shape),
            })
        }
        ValueType::Sequence(of) => {
            Value::SequenceType(Box::new(type_proto::Sequence { elem_type: inner(of) }))
        }
        ValueType::Optional(of) => {
            Value::OptionalType(Box::new(type_proto::Optional { elem_type: inner(of) }))
        }
        ValueType::Map { key, value } => Value::MapType(Box::new(type_proto::Map {
            key_type: Some(key.onnx_number()),
            value_type: inner(value),
        })),
        ValueType::Opaque { domain, name } => {
            Value::OpaqueType(type_proto::Opaque { domain: text(domain), name: text(name) })
        }
        ValueType::Unknown => return proto::TypeProto::default(),
    };
    proto::TypeProto { value: Some(value), ..Default::default() }
}

fn shape(dims: &[Dim]) -> proto::TensorShapeProto {
    let dim = |dim: &Dim| Dimension {
        value: match dim {
            Dim::Known(n) => Some(dimension::Value::DimValue(*n as i64)),
            Dim::Symbol(name) => Some(dimension::Value::DimParam(name.clone())),
            Dim::Unknown => None,
        },
        ..Default::default()
    };
    proto::TensorShapeProto { dim: dims.iter().map(dim).collect() }
}
