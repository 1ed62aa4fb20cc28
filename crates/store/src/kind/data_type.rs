//! Types of values.

use std::fmt;

use stead_app::schema::FieldType;
use stead_expr::TensorType;

use super::DocumentType;
use crate::predicate;
use crate::value::FieldValue;

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of the schema language.
pub enum DataType {
    Bool,
    Byte,
    Int,
    Long,
    Float16,
    Float,
    Double,
    /// A string, uri or reference.
    Text,
    /// A [condition](crate::predicate), as a text.
    Predicate,
    Raw,
    Position,
    Tensor(TensorType),
    Array(Box<DataType>),
    WeightedSet(Box<DataType>),
    Map(Box<DataType>, Box<DataType>),
    /// A struct by its name, since structs may hold themselves.
    Struct(String),
}

impl DataType {
    pub(super) fn new(kind: &FieldType) -> DataType {
        let inner = |kind: &FieldType| Box::new(DataType::new(kind));
        match kind {
            FieldType::Bool => DataType::Bool,
            FieldType::Byte => DataType::Byte,
            FieldType::Int => DataType::Int,
            FieldType::Long => DataType::Long,
            FieldType::Float16 => DataType::Float16,
            FieldType::Float => DataType::Float,
            FieldType::Double => DataType::Double,
            FieldType::String | FieldType::Uri | FieldType::Reference(_) => DataType::Text,
            FieldType::Predicate => DataType::Predicate,
            FieldType::Raw => DataType::Raw,
            FieldType::Position => DataType::Position,
            FieldType::Tensor(kind) => DataType::Tensor(kind.clone()),
            FieldType::Array(of) => DataType::Array(inner(of)),
            FieldType::WeightedSet(of) => DataType::WeightedSet(inner(of)),
            FieldType::Map(key, value) => DataType::Map(inner(key), inner(value)),
            FieldType::Named(name) => DataType::Struct(name.clone()),
        }
    }

    /// Whether a column has values of this type as they were put: where a document has one, which its body tells.
    pub(super) fn lies_in_columns(&self) -> bool {
        match self {
            DataType::Position | DataType::Map(..) | DataType::Struct(_) => false,
            DataType::Array(of) | DataType::WeightedSet(of) => {
                !matches!(
                    **of,
                    DataType::Array(_)
                        | DataType::WeightedSet(_)
                        | DataType::Raw
                        | DataType::Tensor(_)
                ) && of.lies_in_columns()
            }
            _ => true,
        }
    }

    /// The least and the greatest whole number that it has.
    #[must_use]
    pub fn integers(&self) -> (i64, i64) {
        match self {
            DataType::Byte => (i64::from(i8::MIN), i64::from(i8::MAX)),
            DataType::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        }
    }

    /// The nearest number that it has.
    #[must_use]
    pub fn rounded(&self, number: f64) -> f64 {
        match self {
            DataType::Float | DataType::Float16 => f64::from(number as f32),
            _ => number,
        }
    }

    /// Whether a value is of this type. Values nest no deeper than what reads them lets them.
    #[must_use]
    pub fn holds(&self, kind: &DocumentType, value: &FieldValue) -> bool {
        let is_within = |n: i64| {
            let (least, most) = self.integers();
            (least..=most).contains(&n)
        };
        match (self, value) {
            (DataType::Bool, FieldValue::Bool(_))
            | (DataType::Float16 | DataType::Float | DataType::Double, FieldValue::Number(_))
            | (DataType::Text, FieldValue::Text(_))
            | (DataType::Raw, FieldValue::Bytes(_))
            | (DataType::Position, FieldValue::Position(_)) => true,
            (DataType::Byte | DataType::Int | DataType::Long, FieldValue::Integer(n)) => {
                is_within(*n)
            }
            (DataType::Predicate, FieldValue::Text(text)) => predicate::check(text).is_ok(),
            (DataType::Tensor(of), FieldValue::Tensor(tensor)) => of == tensor.kind(),
            (DataType::Array(of), FieldValue::Array(list)) => {
                list.iter().all(|v| of.holds(kind, v))
            }
            (DataType::WeightedSet(of), FieldValue::Weighted(pairs)) => {
                pairs.iter().all(|(key, _)| of.holds(kind, key))
            }
            (DataType::Map(of, to), FieldValue::Map(pairs)) => {
                pairs.iter().all(|(key, value)| of.holds(kind, key) && to.holds(kind, value))
            }
            (DataType::Struct(name), FieldValue::Struct(members)) => {
                let Some(found) = kind.find_struct(name) else { return false };
                members.iter().all(|(member, value)| {
                    let of = found.members.iter().find(|(n, _)| n == member);
                    of.is_some_and(|(_, of)| of.holds(kind, value))
                })
            }
            _ => false,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataType::Bool => f.write_str("bool"),
            DataType::Byte => f.write_str("byte"),
            DataType::Int => f.write_str("int"),
            DataType::Long => f.write_str("long"),
            DataType::Float16 => f.write_str("float16"),
            DataType::Float => f.write_str("float"),
            DataType::Double => f.write_str("double"),
            DataType::Text => f.write_str("string"),
            DataType::Predicate => f.write_str("predicate"),
            DataType::Raw => f.write_str("raw"),
            DataType::Position => f.write_str("position"),
            DataType::Tensor(kind) => write!(f, "{kind}"),
            DataType::Array(of) => write!(f, "array<{of}>"),
            DataType::WeightedSet(of) => write!(f, "weightedset<{of}>"),
            DataType::Map(key, value) => write!(f, "map<{key},{value}>"),
            DataType::Struct(name) => f.write_str(name),
        }
    }
}
