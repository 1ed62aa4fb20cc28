//! The values of fields that scripts read and write.

use stead_app::schema::Step;

use super::machine::{Machine, Stop, fail};
use super::{Datum, tensors};
use crate::kind::DataType;
use crate::value::FieldValue;

impl Machine<'_> {
    pub(super) fn given(&self, field: usize) -> Option<Datum> {
        let value = self.given.iter().find(|(at, _)| *at == field).map(|(_, v)| v.clone())?;
        let kind = self.kind.field_kind(field)?.clone();
        Some(Datum { kind, value })
    }

    /// The value of a field, or of a member of its structs behind a dot.
    pub(super) fn input(&self, name: &str) -> Option<Datum> {
        let mut parts = name.split('.');
        let (field, _) = self.kind.field(parts.next().unwrap_or_default())?;
        let mut value = self.given(field)?;
        for part in parts {
            value = self.member(&value, part)?;
        }
        Some(value)
    }

    pub(super) fn member(&self, of: &Datum, name: &str) -> Option<Datum> {
        match (&of.kind, &of.value) {
            (DataType::Struct(kind), value) => {
                let kind = self.kind.find_struct(kind)?;
                let (_, kind) = kind.members.iter().find(|(n, _)| n == name)?;
                Some(Datum { kind: kind.clone(), value: value.member(name)?.clone() })
            }
            (DataType::Position, FieldValue::Position(place)) => {
                let number = if name == "x" { place.longitude } else { place.latitude };
                let value = FieldValue::Integer(number.into());
                Some(Datum { kind: DataType::Int, value })
            }
            // An entry of a map.
            (DataType::Map(key, value), FieldValue::Map(entries)) => {
                let (k, v) = entries.first()?;
                let entry = Datum { kind: (**value).clone(), value: v.clone() };
                match name {
                    "$key" => Some(Datum { kind: (**key).clone(), value: k.clone() }),
                    "$value" => Some(entry),
                    _ => self.member(&entry, name),
                }
            }
            _ => None,
        }
    }

    /// Writes a value to a field; the last one that is written stays.
    pub(super) fn write(&mut self, step: &Step, field: usize, value: Datum) -> Result<(), Stop> {
        let Some(kind) = self.kind.field_kind(field) else { return Ok(()) };
        let found = value.kind.clone();
        let Some(value) = fitted(value, kind) else {
            return fail(step, format!("expected a value of type {kind}, found one of {found}"));
        };
        self.written.retain(|(at, _)| *at != field);
        self.written.push((field, value));
        Ok(())
    }
}

/// The value as a field has it; nothing if it is none of its type.
fn fitted(datum: Datum, kind: &DataType) -> Option<FieldValue> {
    let Datum { kind: found, value } = datum;
    match (kind, value) {
        (DataType::Tensor(kind), FieldValue::Tensor(value)) => {
            tensors::converted(value, kind).map(FieldValue::Tensor)
        }
        // How wide a number is that the script writes out is not said there.
        (DataType::Byte, FieldValue::Integer(n)) if i8::try_from(n).is_err() => None,
        (DataType::Int, FieldValue::Integer(n)) if i32::try_from(n).is_err() => None,
        (DataType::Byte | DataType::Int | DataType::Long, value @ FieldValue::Integer(_)) => {
            Some(value)
        }
        (DataType::Float16 | DataType::Float | DataType::Double, value) => match value {
            FieldValue::Integer(number) => Some(FieldValue::Number(number as f64)),
            FieldValue::Number(_) => Some(value),
            _ => None,
        },
        // Positions were strings once.
        (DataType::Text, FieldValue::Position(_)) => None,
        (_, value) if found == *kind => Some(value),
        // An empty list has elements of any type.
        (DataType::Array(_), FieldValue::Array(list)) if list.is_empty() => {
            Some(FieldValue::Array(list))
        }
        (DataType::Array(of), FieldValue::Array(list)) => {
            let DataType::Array(inner) = found else { return None };
            let element = |value| fitted(Datum { kind: (*inner).clone(), value }, of);
            list.into_iter().map(element).collect::<Option<_>>().map(FieldValue::Array)
        }
        _ => None,
    }
}
