//! What the reader accepts and refuses, from bytes to model.

mod external;
mod graphs;
mod hostile;
mod tensors;

pub(super) use hostile::sample;

use crate::{Limits, Model, OnnxError, proto};
use prost::Message;
use stead_tensor::AlignedBuf;

/// A model message with this graph and nothing wrong around it.
fn model_of(graph: proto::GraphProto) -> proto::ModelProto {
    let import = proto::OperatorSetIdProto { domain: None, version: Some(17) };
    proto::ModelProto {
        ir_version: Some(8),
        opset_import: vec![import],
        graph: Some(graph),
        ..Default::default()
    }
}

fn read(model: &proto::ModelProto) -> Result<Model, OnnxError> {
    Model::from_bytes(&model.encode_to_vec(), None)
}

fn read_within(model: &proto::ModelProto, limits: &Limits) -> Result<Model, OnnxError> {
    let buffer = AlignedBuf::copy_of(&model.encode_to_vec()).unwrap();
    Model::from_buffer(buffer, None, limits)
}

/// A graph of one initializer, named `w`.
fn graph_of(tensor: proto::TensorProto) -> proto::GraphProto {
    let tensor = proto::TensorProto { name: Some("w".to_owned()), ..tensor };
    proto::GraphProto { initializer: vec![tensor], ..Default::default() }
}
