//! Walks over tags and lengths of a model before it is decoded.
//!
//! The walk bounds what decoding may cost: it turns two bytes of a file (the tag and the length of an empty
//! message) into some hundred bytes of memory, so the walk adds up the memory that the decoder would ask for,
//! and a hostile file is refused rather than a server killed. It also finds the weights, which a file's
//! reader puts into buffers of their own. It goes as the decoder does and stops where the decoder would: what
//! is malformed is the decoder's to report.

use crate::{OnnxError, error, proto};

/// How deep messages may nest: the decoder's own limit.
const DEPTH: usize = 100;

/// Memory for one element of a list of strings or numbers that is not packed.
const SLOT: u64 = 32;

/// The messages of the format that hold others or lists of numbers.
#[derive(Clone, Copy)]
pub(super) enum Kind {
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
    /// The raw data of a tensor.
    Weights,
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
        (Kind::Tensor, 9) => Field::Weights,
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

/// Where the walk gets its bytes.
pub(super) trait Input {
    /// The next byte, `None` at the end.
    fn byte(&mut self) -> Option<u8>;
    /// Passes over `len` bytes; false when there are fewer.
    fn skip(&mut self, len: usize) -> bool;
    /// Passes over the `len` bytes of a tensor's raw data; false when there are fewer.
    fn weights(&mut self, len: usize) -> bool {
        self.skip(len)
    }
    /// A message of `len` bytes begins inside of `depth` others.
    fn message(&mut self, _kind: Kind, _depth: usize, _len: usize) {}
    /// Bytes passed so far.
    fn position(&self) -> usize;
}

impl Input for std::io::Cursor<&[u8]> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.get_ref().get(self.position() as usize).copied();
        self.set_position(self.position() + 1);
        byte
    }

    fn skip(&mut self, len: usize) -> bool {
        self.set_position(self.position().saturating_add(len as u64));
        self.position() <= self.get_ref().len() as u64
    }

    fn position(&self) -> usize {
        self.position() as usize
    }
}

/// Walks over a model of `len` bytes.
///
/// # Errors
/// [`OnnxError::Limit`] when decoding needs more than `limit` bytes besides the weights and names.
pub(super) fn check(input: &mut impl Input, len: usize, limit: u64) -> Result<(), OnnxError> {
    let cost = cost(input, len, limit);
    error::check_limit("bytes of the model's graphs when decoded", cost, limit)
}

/// The memory that decoding takes; the walk ends above `limit`.
fn cost(input: &mut impl Input, len: usize, limit: u64) -> u64 {
    let mut cost = 0u64;
    // The messages around the current place and where each ends.
    let mut stack = vec![(Kind::Model, len)];
    while let Some(&(kind, end)) = stack.last() {
        if input.position() >= end {
            stack.pop();
            continue;
        }
        let Some(tag) = varint(input) else { break };
        let goes_on = match tag & 7 {
            0 => {
                cost += SLOT;
                varint(input).is_some()
            }
            1 => {
                cost += SLOT;
                input.skip(8)
            }
            5 => {
                cost += SLOT;
                input.skip(4)
            }
            2 => {
                let Some(len) = varint(input).and_then(|len| usize::try_from(len).ok()) else {
                    break;
                };
                let stop = input.position().checked_add(len).filter(|&stop| stop <= end);
                let Some(stop) = stop else { break };
                match field(kind, tag >> 3) {
                    Field::Message(inner, size) => {
                        // A growing list has twice the room that it needs.
                        cost += 2 * size as u64;
                        input.message(inner, stack.len(), len);
                        stack.push((inner, stop));
                        stack.len() <= DEPTH
                    }
                    Field::Weights => {
                        cost += SLOT;
                        input.weights(len)
                    }
                    // Names are no longer than in the file.
                    Field::Bytes => {
                        cost += 2 * SLOT;
                        input.skip(len)
                    }
                    Field::Packed(factor) => {
                        cost += 2 * factor * len as u64;
                        input.skip(len)
                    }
                }
            }
            // The marks of a group, which the decoder skips field by field.
            3 | 4 => true,
            _ => false,
        };
        if !goes_on || cost > limit {
            break;
        }
    }
    cost
}

/// A base-128 number.
fn varint(input: &mut impl Input) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = input.byte()?;
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
    use std::io::Cursor;

    fn cost_of(model: &proto::ModelProto) -> u64 {
        let bytes = model.encode_to_vec();
        cost(&mut Cursor::new(&*bytes), bytes.len(), u64::MAX)
    }

    #[test]
    fn many_empty_nodes_cost_what_they_take_in_memory() {
        let graph = proto::GraphProto {
            node: vec![proto::NodeProto::default(); 1000],
            ..Default::default()
        };
        let model = proto::ModelProto { graph: Some(graph), ..Default::default() };
        let cost = cost_of(&model);
        assert!(cost >= 1000 * size_of::<proto::NodeProto>() as u64, "{cost}");
    }

    #[test]
    fn weights_cost_nothing_but_their_handle() {
        let tensor =
            proto::TensorProto { raw_data: Some(vec![0; 1 << 20].into()), ..Default::default() };
        let graph = proto::GraphProto { initializer: vec![tensor], ..Default::default() };
        let model = proto::ModelProto { graph: Some(graph), ..Default::default() };
        let cost = cost_of(&model);
        assert!(cost < 4096, "{cost}");
    }

    #[test]
    fn the_limit_names_the_cost() {
        let err = check(&mut Cursor::new(&[0x3a, 0][..]), 2, 10).unwrap_err();
        assert!(matches!(err, OnnxError::Limit { limit: 10, .. }), "{err}");
    }
}
