//! Single values in `.pb` files: the inputs and outputs of ONNX test data.
//!
//! Such a file holds a `TensorProto`, `SequenceProto`, `MapProto` or `OptionalProto` and does not say which:
//! the declared type of the model's input or output tells.

use crate::read::{Source, read_tensor};
use crate::{Limits, OnnxError, ValueType, encode, error, error::quote, proto};
use prost::Message;
use stead_tensor::{DType, Tensor, TensorView};

/// A value of any type that has one.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// A list.
    Sequence(Vec<Value>),
    /// A value or none.
    Optional(Option<Box<Value>>),
    /// A map; `keys` is a tensor of rank 1 with one entry for each value.
    Map {
        /// The keys: integers or strings.
        keys: Tensor,
        /// The values in the order of the keys.
        values: Vec<Value>,
    },
}

/// The name and the tensor of a `TensorProto`.
///
/// # Errors
/// [`OnnxError::Malformed`] and every error of a tensor.
pub fn decode_tensor(bytes: &[u8]) -> Result<(String, Tensor), OnnxError> {
    let proto: proto::TensorProto = decode("a tensor", bytes)?;
    tensor(proto)
}

/// The name and the value of a message of the type that `ty` calls for; an unknown type is taken for a
/// tensor.
///
/// # Errors
/// As [`decode_tensor`].
pub fn decode_value(bytes: &[u8], ty: &ValueType) -> Result<(String, Value), OnnxError> {
    Ok(match ty {
        ValueType::Sequence(_) => {
            let proto: proto::SequenceProto = decode("a sequence", bytes)?;
            (proto.name.clone().unwrap_or_default(), sequence(proto)?)
        }
        ValueType::Optional(_) => {
            let proto: proto::OptionalProto = decode("an optional", bytes)?;
            (proto.name.clone().unwrap_or_default(), optional(proto)?)
        }
        ValueType::Map { .. } => {
            let proto: proto::MapProto = decode("a map", bytes)?;
            (proto.name.clone().unwrap_or_default(), map(proto)?)
        }
        _ => {
            let (name, tensor) = decode_tensor(bytes)?;
            (name, Value::Tensor(tensor))
        }
    })
}

/// The bytes of a `TensorProto`.
pub fn encode_tensor(name: &str, tensor: &TensorView<'_>) -> Vec<u8> {
    encode::tensor(name, tensor).encode_to_vec()
}

/// The bytes of the message that holds `value`.
pub fn encode_value(name: &str, value: &Value) -> Vec<u8> {
    let name = (!name.is_empty()).then(|| name.to_owned());
    match value {
        Value::Tensor(tensor) => encode_tensor(name.as_deref().unwrap_or_default(), &tensor.view()),
        Value::Sequence(values) => {
            proto::SequenceProto { name, ..sequence_proto(values) }.encode_to_vec()
        }
        Value::Optional(value) => {
            proto::OptionalProto { name, ..optional_proto(value.as_deref()) }.encode_to_vec()
        }
        Value::Map { keys, values } => {
            proto::MapProto { name, ..map_proto(keys, values) }.encode_to_vec()
        }
    }
}

fn decode<M: Message + Default>(expected: &'static str, bytes: &[u8]) -> Result<M, OnnxError> {
    M::decode(bytes).map_err(|e| error::malformed(expected, &e))
}

fn tensor(proto: proto::TensorProto) -> Result<(String, Tensor), OnnxError> {
    let limits = Limits::default();
    read_tensor(proto, "without name", &mut Source::new(None, None, &limits))
}

/// A sequence; the depth is bounded by the decoder, as for all values.
fn sequence(proto: proto::SequenceProto) -> Result<Value, OnnxError> {
    let sparse = proto.sparse_tensor_values.len();
    if sparse > 0 {
        return Err(error::malformed("a supported sequence", &format!("{sparse} sparse tensors")));
    }
    let mut values = Vec::new();
    for t in proto.tensor_values {
        values.push(Value::Tensor(tensor(t)?.1));
    }
    for s in proto.sequence_values {
        values.push(sequence(s)?);
    }
    for m in proto.map_values {
        values.push(map(m)?);
    }
    for o in proto.optional_values {
        values.push(optional(o)?);
    }
    Ok(Value::Sequence(values))
}

fn optional(proto: proto::OptionalProto) -> Result<Value, OnnxError> {
    if proto.sparse_tensor_value.is_some() {
        return Err(error::malformed("a supported optional", &"a sparse tensor"));
    }
    let value = if let Some(t) = proto.tensor_value {
        Some(Value::Tensor(tensor(t)?.1))
    } else if let Some(s) = proto.sequence_value {
        Some(sequence(s)?)
    } else if let Some(m) = proto.map_value {
        Some(map(m)?)
    } else if let Some(o) = proto.optional_value {
        Some(optional(*o)?)
    } else {
        None
    };
    Ok(Value::Optional(value.map(Box::new)))
}

fn map(proto: proto::MapProto) -> Result<Value, OnnxError> {
    let name = proto.name.clone().unwrap_or_default();
    let bad = |reason| OnnxError::Tensor { tensor: format!("keys of {}", quote(&name)), reason };
    let count = proto.keys.len().max(proto.string_keys.len());
    let keys = if proto.string_keys.is_empty() {
        Tensor::from_slice(&proto.keys, &[count]).map_err(bad)?
    } else {
        Tensor::from_strings(proto.string_keys, &[count]).map_err(bad)?
    };
    let values = match proto.values.map(sequence).transpose()? {
        Some(Value::Sequence(values)) => values,
        _ => Vec::new(),
    };
    if values.len() != count {
        let (expected, actual) = (count, values.len());
        return Err(bad(stead_tensor::TensorError::WrongElementCount { expected, actual }));
    }
    Ok(Value::Map { keys, values })
}

/// The numbers of `SequenceProto.DataType` and `OptionalProto.DataType`, which are the same.
fn kind(value: &Value) -> i32 {
    use proto::sequence_proto::DataType;
    match value {
        Value::Tensor(_) => DataType::Tensor as i32,
        Value::Sequence(_) => DataType::Sequence as i32,
        Value::Map { .. } => DataType::Map as i32,
        Value::Optional(_) => DataType::Optional as i32,
    }
}

fn sequence_proto(values: &[Value]) -> proto::SequenceProto {
    let elem_type = Some(values.first().map_or(0, kind));
    let mut out = proto::SequenceProto { elem_type, ..Default::default() };
    for value in values {
        match value {
            Value::Tensor(t) => out.tensor_values.push(encode::tensor("", &t.view())),
            Value::Sequence(v) => out.sequence_values.push(sequence_proto(v)),
            Value::Map { keys, values } => out.map_values.push(map_proto(keys, values)),
            Value::Optional(v) => out.optional_values.push(optional_proto(v.as_deref())),
        }
    }
    out
}

fn optional_proto(value: Option<&Value>) -> proto::OptionalProto {
    let elem_type = Some(value.map_or(0, kind));
    let mut out = proto::OptionalProto { elem_type, ..Default::default() };
    match value {
        None => {}
        Some(Value::Tensor(t)) => out.tensor_value = Some(encode::tensor("", &t.view())),
        Some(Value::Sequence(v)) => out.sequence_value = Some(sequence_proto(v)),
        Some(Value::Map { keys, values }) => out.map_value = Some(map_proto(keys, values)),
        Some(Value::Optional(v)) => {
            out.optional_value = Some(Box::new(optional_proto(v.as_deref())));
        }
    }
    out
}

fn map_proto(keys: &Tensor, values: &[Value]) -> proto::MapProto {
    let mut out = proto::MapProto {
        key_type: Some(keys.dtype().onnx_number()),
        values: Some(sequence_proto(values)),
        ..Default::default()
    };
    if keys.dtype() == DType::String {
        out.string_keys = keys.view().strings().to_vec();
    } else {
        out.keys = keys.as_slice::<i64>().unwrap_or_default().to_vec();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip() {
        let floats = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
        let words = Tensor::from_strings(vec![b"a".to_vec(), vec![0xff]], &[2]).unwrap();
        let any = Box::new(ValueType::Unknown);
        let list =
            Value::Sequence(vec![Value::Tensor(floats.clone()), Value::Tensor(words.clone())]);
        let some = |value: &Value| Value::Optional(Some(Box::new(value.clone())));
        let optional = ValueType::Optional(any.clone());
        let map = ValueType::Map { key: DType::String, value: any.clone() };
        let cases = [
            ("tensor", Value::Tensor(floats.clone()), ValueType::Unknown),
            ("strings", Value::Tensor(words.clone()), ValueType::tensor(DType::String, None)),
            ("sequence", list.clone(), ValueType::Sequence(any.clone())),
            ("empty sequence", Value::Sequence(vec![]), ValueType::Sequence(any.clone())),
            ("none", Value::Optional(None), optional.clone()),
            ("some sequence", some(&list), optional.clone()),
            ("some none", some(&Value::Optional(None)), optional.clone()),
            (
                "nested",
                Value::Sequence(vec![list.clone(), Value::Sequence(vec![])]),
                ValueType::Sequence(any),
            ),
            (
                "map",
                Value::Map {
                    keys: words,
                    values: vec![Value::Tensor(floats.clone()), Value::Tensor(floats)],
                },
                map,
            ),
        ];
        for (label, value, ty) in cases {
            let bytes = encode_value(label, &value);
            assert_eq!(decode_value(&bytes, &ty), Ok((label.to_owned(), value)), "{label}");
        }
    }

    #[test]
    fn malformed_bytes_say_what_was_expected() {
        let err = decode_tensor(&[0x0a, 0xff]).unwrap_err();
        assert!(err.to_string().starts_with("not a tensor: "), "{err}");
    }
}
