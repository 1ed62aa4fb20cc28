//! Bounds what decoding a message may cost before it is decoded.
//!
//! Decoding turns two bytes of a file (the tag and the length of an empty message) into some hundred bytes
//! of memory. This scan walks over tags and lengths only and adds up the memory that the decoder would ask
//! for, so that a hostile file is refused rather than a server killed. It walks as the decoder does and
//! stops where the decoder would: what is malformed is the decoder's to report.

use crate::{OnnxError, error, proto};

/// How deep messages may nest: the decoder's own limit.
const DEPTH: usize = 100;

/// Memory for one element of a list of strings or numbers that is not packed.
const SLOT: u64 = 32;

/// The messages of the format that hold others or lists of numbers.
#[derive(Clone, Copy)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Sparse,
    ValueInfo,
    Type,
    TensorType,
    InnerType,
    Shape,
    Function,
    Training,
    Annotation,
    Device,
    Sharding,
    ShardedDim,
    IntList,
    /// A message of plain fields.
    Leaf,
}

/// What a length-delimited field holds.
enum Field {
    /// A message of a kind that takes some bytes.
    Message(Kind, usize),
    /// Text, bytes, or numbers that take no more memory than in the file.
    Bytes,
    /// Numbers that take at most this many bytes for each byte.
    Packed(u64),
}

const fn message<T>(kind: Kind) -> Field {
    Field::Message(kind, size_of::<T>())
}

/// The schema of `onnx-ml.proto`.
const fn field(kind: Kind, number: u64) -> Field {
    use proto::*;
    const ENTRY: Field = message::<StringStringEntryProto>(Kind::Leaf);
    match (kind, number) {
        (Kind::Model, 7) => message::<GraphProto>(Kind::Graph),
        (Kind::Model, 8) => message::<OperatorSetIdProto>(Kind::Leaf),
        (Kind::Model, 20) => message::<TrainingInfoProto>(Kind::Training),
        (Kind::Model, 25) => message::<FunctionProto>(Kind::Function),
        (Kind::Model, 26) => message::<DeviceConfigurationProto>(Kind::Leaf),
        (Kind::Graph, 1) => message::<NodeProto>(Kind::Node),
        (Kind::Graph, 5) => message::<TensorProto>(Kind::Tensor),
        (Kind::Graph, 15) => message::<SparseTensorProto>(Kind::Sparse),
        (Kind::Graph, 11..=13) => message::<ValueInfoProto>(Kind::ValueInfo),
        (Kind::Graph, 14) => message::<TensorAnnotation>(Kind::Annotation),
        (Kind::Node, 5) => message::<AttributeProto>(Kind::Attribute),
        (Kind::Node, 10) => message::<NodeDeviceConfigurationProto>(Kind::Device),
        (Kind::Attribute, 5 | 10) => message::<TensorProto>(Kind::Tensor),
        (Kind::Attribute, 6 | 11) => message::<GraphProto>(Kind::Graph),
        (Kind::Attribute, 22 | 23) => message::<SparseTensorProto>(Kind::Sparse),
        (Kind::Attribute, 14 | 15) => message::<TypeProto>(Kind::Type),
        (Kind::Attribute, 8) => Field::Packed(8),
        (Kind::Tensor, 1 | 7 | 11) => Field::Packed(8),
        (Kind::Tensor, 5) => Field::Packed(4),
        (Kind::Tensor, 3) => message::<tensor_proto::Segment>(Kind::Leaf),
        (Kind::Sparse, 1 | 2) => message::<TensorProto>(Kind::Tensor),
        (Kind::Sparse, 3) => Field::Packed(8),
        (Kind::ValueInfo, 2) => message::<TypeProto>(Kind::Type),
        (Kind::Type, 1 | 8) => message::<type_proto::Tensor>(Kind::TensorType),
        (Kind::Type, 4 | 5 | 9) => message::<type_proto::Map>(Kind::InnerType),
        (Kind::Type, 7) => message::<type_proto::Opaque>(Kind::Leaf),
        (Kind::TensorType, 2) => message::<TensorShapeProto>(Kind::Shape),
        (Kind::InnerType, 1 | 2) => message::<TypeProto>(Kind::Type),
        (Kind::Shape, 1) => message::<tensor_shape_proto::Dimension>(Kind::Leaf),
        (Kind::Function, 7) => message::<NodeProto>(Kind::Node),
        (Kind::Function, 9) => message::<OperatorSetIdProto>(Kind::Leaf),
        (Kind::Function, 11) => message::<AttributeProto>(Kind::Attribute),
        (Kind::Function, 12) => message::<ValueInfoProto>(Kind::ValueInfo),
        (Kind::Training, 1 | 2) => message::<GraphProto>(Kind::Graph),
        (Kind::Device, 2) => message::<ShardingSpecProto>(Kind::Sharding),
        (Kind::Sharding, 2) => Field::Packed(8),
        (Kind::Sharding, 3) => message::<IntIntListEntryProto>(Kind::IntList),
        (Kind::Sharding, 4) => message::<ShardedDimProto>(Kind::ShardedDim),
        (Kind::ShardedDim, 2) => message::<SimpleShardedDimProto>(Kind::Leaf),
        (Kind::IntList, 2) => Field::Packed(8),
        (Kind::Model, 14)
        | (Kind::Graph, 16)
        | (Kind::Node, 9)
        | (Kind::Tensor, 13 | 16)
        | (Kind::ValueInfo, 4)
        | (Kind::Function, 14)
        | (Kind::Training, 3 | 4)
        | (Kind::Annotation, 2) => ENTRY,
        _ => Field::Bytes,
    }
}

/// Refuses a model whose decoding needs more than `limit` bytes besides the file's own buffer.
pub(super) fn check(bytes: &[u8], limit: u64) -> Result<(), OnnxError> {
    let cost = cost(bytes, limit);
    error::check_limit("bytes of the model's graphs when decoded", cost, limit)
}

/// The memory that decoding takes; counting stops above `limit`.
fn cost(bytes: &[u8], limit: u64) -> u64 {
    let mut cost = 0u64;
    let mut at = 0;
    // The messages around the current one and where each ends.
    let mut stack = vec![(Kind::Model, bytes.len())];
    while let Some(&(kind, end)) = stack.last() {
        if at >= end {
            stack.pop();
            continue;
        }
        let Some(tag) = varint(bytes, &mut at) else { break };
        match tag & 7 {
            0 => {
                if varint(bytes, &mut at).is_none() {
                    break;
                }
                cost += SLOT;
            }
            1 => (at, cost) = (at.saturating_add(8), cost + SLOT),
            5 => (at, cost) = (at.saturating_add(4), cost + SLOT),
            2 => {
                let Some(len) = varint(bytes, &mut at) else { break };
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                let Some(stop) = at.checked_add(len).filter(|&stop| stop <= end) else { break };
                match field(kind, tag >> 3) {
                    Field::Message(inner, size) => {
                        // A growing list has twice the room that it needs.
                        cost += 2 * size as u64;
                        if stack.len() > DEPTH {
                            break;
                        }
                        stack.push((inner, stop));
                    }
                    // Weights and names are not copied or are no longer than in the file.
                    Field::Bytes => (at, cost) = (stop, cost + 2 * SLOT),
                    Field::Packed(factor) => {
                        (at, cost) = (stop, cost + 2 * factor * len as u64);
                    }
                }
            }
            // The marks of a group, which the decoder skips field by field.
            3 | 4 => {}
            _ => break,
        }
        if cost > limit {
            break;
        }
    }
    cost
}

/// The base-128 number at `at`, which moves behind it.
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

    #[test]
    fn many_empty_nodes_cost_what_they_take_in_memory() {
        let graph = proto::GraphProto {
            node: vec![proto::NodeProto::default(); 1000],
            ..Default::default()
        };
        let model = proto::ModelProto { graph: Some(graph), ..Default::default() };
        let cost = cost(&model.encode_to_vec(), u64::MAX);
        assert!(cost >= 1000 * size_of::<proto::NodeProto>() as u64, "{cost}");
    }

    #[test]
    fn weights_cost_nothing_but_their_handle() {
        let tensor =
            proto::TensorProto { raw_data: Some(vec![0; 1 << 20].into()), ..Default::default() };
        let graph = proto::GraphProto { initializer: vec![tensor], ..Default::default() };
        let model = proto::ModelProto { graph: Some(graph), ..Default::default() };
        let cost = cost(&model.encode_to_vec(), u64::MAX);
        assert!(cost < 4096, "{cost}");
    }

    #[test]
    fn the_limit_names_the_cost() {
        let err = check(&[0x3a, 0], 10).unwrap_err();
        assert!(matches!(err, OnnxError::Limit { limit: 10, .. }), "{err}");
    }
}
