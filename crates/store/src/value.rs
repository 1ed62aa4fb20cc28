//! Values of fields.

use stead_expr::Value;

use crate::body::{self, BodyError};
use crate::position::Position;

/// The value of a field of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldValue {
    /// Of a bool.
    Bool(bool),
    /// Of a byte, int or long.
    Integer(i64),
    /// Of a float16, float or double.
    Number(f64),
    /// Of a string, uri, predicate or reference.
    Text(String),
    /// Of a raw.
    Bytes(Vec<u8>),
    /// Of a position.
    Position(Position),
    /// Of a tensor.
    Tensor(Value),
    /// Of an array.
    Array(Vec<FieldValue>),
    /// Of a weighted set: elements with their weights.
    Weighted(Vec<(FieldValue, i32)>),
    /// Of a map.
    Map(Vec<(FieldValue, FieldValue)>),
    /// Of a struct: the members that have a value.
    Struct(Vec<(String, FieldValue)>),
}

impl FieldValue {
    /// The value as a text, if it is a text or a whole number: as what labels of tensors and keys are made from.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        match self {
            FieldValue::Text(text) => Some(text.clone()),
            FieldValue::Integer(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// The value as bytes, in a format that other processes and later versions read.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        body::put_value(self, &mut bytes);
        bytes
    }

    /// A value from its bytes.
    ///
    /// # Errors
    /// When the bytes are none. Nothing is allocated beyond what they can fill.
    pub fn from_bytes(bytes: &[u8]) -> Result<FieldValue, BodyError> {
        body::value(bytes)
    }

    /// The member of a struct.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&FieldValue> {
        match self {
            FieldValue::Struct(members) => members.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The parts of a value on a way into it, as an array: `name` of an array of structs, `key` or `value` of a map, and further.
    pub(crate) fn part(&self, path: &[String]) -> FieldValue {
        let mut list: Vec<&FieldValue> = match self {
            FieldValue::Array(list) => list.iter().collect(),
            other => vec![other],
        };
        for step in path {
            list = list
                .into_iter()
                .flat_map(|value| match value {
                    FieldValue::Map(pairs) => pairs
                        .iter()
                        .map(|(key, value)| if step == "key" { key } else { value })
                        .collect::<Vec<_>>(),
                    value => vec![value.member(step).unwrap_or(&NOTHING)],
                })
                .collect();
        }
        FieldValue::Array(list.into_iter().cloned().collect())
    }
}

/// Stands where an element has no such member, so that the attributes of its members stay beside each other.
static NOTHING: FieldValue = FieldValue::Struct(Vec::new());
