//! Values of fields.

use stead_expr::Value;

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

    /// The member of a struct.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&FieldValue> {
        match self {
            FieldValue::Struct(members) => members.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }
}
