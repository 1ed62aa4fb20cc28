//! `select.grouping`: groupings as JSON, to their texts.

use super::{SelectError, json};
use crate::ordered::Ordered;

/// What stands behind everything else in an operation: operations within it.
const OPERATIONS: [&str; 2] = ["all", "each"];

/// The texts of groupings in a list, or of one that stands alone.
///
/// # Errors
/// When it is none. What the texts mean is for those who read them.
pub fn groupings(text: &str) -> Result<Vec<String>, SelectError> {
    let json = json(text)?;
    let list = match &json {
        Ordered::List(list) => &list[..],
        Ordered::Object(_) => std::slice::from_ref(&json),
        other => {
            let text = format!("expected a list of groupings, found {}", other.kind());
            return Err(SelectError::new(text));
        }
    };
    let mut found = Vec::with_capacity(list.len());
    for (at, grouping) in list.iter().enumerate() {
        let mut text = String::new();
        write(grouping, &mut text).map_err(|error| error.at(at))?;
        found.push(text);
    }
    Ok(found)
}

/// A value as a text.
fn write(json: &Ordered, text: &mut String) -> Result<(), SelectError> {
    match json {
        Ordered::List(list) => {
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    text.push_str(", ");
                }
                write(value, text).map_err(|error| error.at(at))?;
            }
        }
        Ordered::Object(members) => calls(members, None, text)?,
        Ordered::Text(part) => text.push_str(part),
        Ordered::Number(number) => text.push_str(&number.to_string()),
        Ordered::Bool(value) => text.push_str(&value.to_string()),
        Ordered::Null => return Err(SelectError::new("expected a value, found null")),
    }
    Ok(())
}

/// Members as `name(value)`, in the order of the grammar: writers of JSON that sort them must not matter. The label is that of `each`.
fn calls(
    members: &[(String, Ordered)],
    label: Option<&str>,
    text: &mut String,
) -> Result<(), SelectError> {
    let is_written = |(name, _): &&(String, Ordered)| label.is_none() || name != "label";
    let mut members: Vec<&(String, Ordered)> = members.iter().filter(is_written).collect();
    members.sort_by_key(|(name, _)| match name.as_str() {
        "group" => 0,
        name if OPERATIONS.contains(&name) => 2,
        _ => 1,
    });
    for (at, (name, value)) in members.into_iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        text.push_str(name);
        text.push('(');
        let inner = match value {
            Ordered::Object(inner) if OPERATIONS.contains(&name.as_str()) => {
                label_of(inner).and_then(|label| calls(inner, label, text))
            }
            _ => write(value, text),
        };
        inner.map_err(|error| error.within(name))?;
        text.push(')');
        if let (Some(label), "each") = (label, name.as_str()) {
            text.push_str(" as(");
            text.push_str(label);
            text.push(')');
        }
    }
    Ok(())
}

/// The name that an operation says of the list of its `each`.
fn label_of(members: &[(String, Ordered)]) -> Result<Option<&str>, SelectError> {
    let of = |wanted: &'static str| members.iter().filter(move |(name, _)| name == wanted);
    let label = match of("label").next() {
        None => return Ok(None),
        Some((_, Ordered::Text(label))) if of("label").count() == 1 => label,
        Some(_) => return Err(SelectError::new("expected one label, a text")),
    };
    match of("each").count() {
        1 => Ok(Some(label)),
        _ => Err(SelectError::new("expected one each beside label, whose list it names")),
    }
}
