//! What a selection says of a document.

use super::bucket;
use super::compare::{Value, compare, fits, number};
use super::{Function, IdPart, Node, Way};
use crate::id::IdParts;
use crate::kind::DocumentType;
use crate::value::FieldValue;

/// What is known of a document.
pub(super) struct Subject<'d> {
    pub(super) kind: &'d DocumentType,
    pub(super) id: &'d str,
    /// Nothing where they are not known: comparisons with them are neither true nor false then.
    pub(super) fields: Option<&'d [(usize, FieldValue)]>,
    pub(super) now: i64,
}

/// Whether a part is true of a document; nothing where it says nothing. Parts nest no deeper than the parser lets them.
pub(super) fn truth(node: &Node, document: &Subject<'_>) -> Option<bool> {
    match node {
        Node::And(parts) => joined(parts, false, document),
        Node::Or(parts) => joined(parts, true, document),
        Node::Not(inner) => truth(inner, document).map(|inner| !inner),
        Node::Compare(comparison, left, right) => {
            compare(*comparison, &value(left, document)?, &value(right, document)?)
        }
        Node::Matches(left, pattern) => fits(pattern, &value(left, document)?),
        Node::Bool(truth) => Some(*truth),
        Node::Type(name) => Some(name == document.kind.name()),
        // A field alone asks whether there is a value.
        other => value(other, document).map(|value| value != Value::Null),
    }
}

/// What one part decides for all, or else what all others say together.
fn joined(parts: &[Node], decides: bool, document: &Subject<'_>) -> Option<bool> {
    let mut all = Some(!decides);
    for part in parts {
        match truth(part, document) {
            Some(truth) if truth == decides => return Some(decides),
            Some(_) => {}
            None => all = None,
        }
    }
    all
}

/// The value of a part; nothing where there can be none.
fn value(node: &Node, document: &Subject<'_>) -> Option<Value> {
    match node {
        Node::Null => Some(Value::Null),
        Node::Integer(number) => Some(Value::Integer(*number)),
        Node::Number(number) => Some(Value::Number(*number)),
        Node::Text(text) => Some(Value::Text(text.clone())),
        Node::Bool(truth) => Some(Value::Integer(i64::from(*truth))),
        Node::Now => Some(Value::Integer(document.now)),
        Node::Id(part) => id(*part, document.id),
        Node::Field(kind, ways) => field(kind, ways, document),
        Node::Calculate(operator, left, right) => {
            calculate(*operator, &value(left, document)?, &value(right, document)?)
        }
        Node::Call(function, of) => match (function, value(of, document)?) {
            (Function::Abs, Value::Integer(number)) => Some(Value::Integer(number.checked_abs()?)),
            (Function::Abs, Value::Number(number)) => Some(Value::Number(number.abs())),
            (Function::Hash, Value::Integer(number)) => hashed(&number.to_le_bytes()),
            (Function::Hash, Value::Number(number)) => hashed(&number.to_le_bytes()),
            (Function::Hash, Value::Text(text)) => hashed(text.as_bytes()),
            (Function::Lowercase, Value::Text(text)) => Some(Value::Text(text.to_lowercase())),
            _ => None,
        },
        Node::And(_) | Node::Or(_) | Node::Not(_) | Node::Compare(..) | Node::Matches(..) => {
            truth(node, document).map(|truth| Value::Integer(i64::from(truth)))
        }
        Node::Type(_) => None,
    }
}

fn hashed(bytes: &[u8]) -> Option<Value> {
    Some(Value::Integer(bucket::hash(bytes)))
}

fn calculate(operator: char, left: &Value, right: &Value) -> Option<Value> {
    if let (Value::Text(a), '+', Value::Text(b)) = (left, operator, right) {
        return Some(Value::Text(format!("{a}{b}")));
    }
    if let (Value::Integer(a), Value::Integer(b)) = (left, right) {
        return match operator {
            '+' => a.checked_add(*b),
            '-' => a.checked_sub(*b),
            '*' => a.checked_mul(*b),
            '/' => a.checked_div(*b),
            _ => a.checked_rem(*b),
        }
        .map(Value::Integer);
    }
    let (a, b) = (number(left)?, number(right)?);
    Some(Value::Number(match operator {
        '+' => a + b,
        '-' => a - b,
        '*' => a * b,
        '/' => a / b,
        _ => a % b,
    }))
}

/// A part of `id:namespace:type:key:specific`.
fn id(part: IdPart, id: &str) -> Option<Value> {
    let text = |text: &str| Some(Value::Text(text.to_owned()));
    if part == IdPart::Whole {
        return text(id);
    }
    if part == IdPart::Bucket {
        return bucket::of_document(id).map(Value::Bucket);
    }
    let parts = IdParts::of(id)?;
    match part {
        IdPart::Whole | IdPart::Bucket => None,
        IdPart::Namespace => text(parts.namespace),
        IdPart::Type => text(parts.kind),
        IdPart::Specific => text(parts.specific),
        IdPart::Group => text(parts.group()?),
        IdPart::User => parts.user()?.parse().ok().map(Value::Integer),
    }
}

fn field(kind: &str, ways: &[Way], document: &Subject<'_>) -> Option<Value> {
    if kind != document.kind.name() {
        return None;
    }
    let (Way::Member(name), ways) = ways.split_first()? else { return None };
    let (number, _) = document.kind.field(name)?;
    let found = document.fields?.iter().find(|(field, _)| *field == number);
    Some(found.map_or(Value::Null, |(_, value)| inner(value, ways)))
}

/// What is at the end of a way into a value.
fn inner(value: &FieldValue, ways: &[Way]) -> Value {
    let Some((way, rest)) = ways.split_first() else { return plain(value) };
    let many = |values: &mut dyn Iterator<Item = &FieldValue>| {
        Value::Many(values.map(|value| inner(value, rest)).collect())
    };
    let next = match (value, way) {
        (FieldValue::Struct(_), Way::Member(name)) => value.member(name),
        // A member of a struct is that of each element.
        (FieldValue::Array(list), Way::Member(_)) => {
            return Value::Many(list.iter().map(|value| inner(value, ways)).collect());
        }
        (FieldValue::Map(pairs), Way::Member(name)) if name == "key" => {
            return many(&mut pairs.iter().map(|(key, _)| key));
        }
        (FieldValue::Map(pairs), Way::Member(name)) if name == "value" => {
            return many(&mut pairs.iter().map(|(_, value)| value));
        }
        (FieldValue::Array(list), Way::Place(at)) => list.get(*at),
        (FieldValue::Map(pairs), Way::Key(key)) => {
            let found = pairs.iter().find(|(k, _)| k.label().as_ref() == Some(key));
            found.map(|(_, value)| value)
        }
        (FieldValue::Weighted(pairs), Way::Key(key)) => {
            let found = pairs.iter().find(|(k, _)| k.label().as_ref() == Some(key));
            return found.map_or(Value::Null, |(_, w)| Value::Integer(i64::from(*w)));
        }
        _ => None,
    };
    next.map_or(Value::Null, |value| inner(value, rest))
}

fn plain(value: &FieldValue) -> Value {
    match value {
        FieldValue::Bool(value) => Value::Integer(i64::from(*value)),
        FieldValue::Integer(number) => Value::Integer(*number),
        FieldValue::Number(number) => Value::Number(*number),
        FieldValue::Text(text) => Value::Text(text.clone()),
        FieldValue::Array(list) => Value::Many(list.iter().map(plain).collect()),
        FieldValue::Weighted(pairs) => {
            Value::Many(pairs.iter().map(|(key, _)| plain(key)).collect())
        }
        _ => Value::Other,
    }
}
