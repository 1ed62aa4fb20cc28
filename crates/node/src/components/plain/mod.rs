//! Values of stead as components in Python see them, and the way back: the only place that knows how tensors, documents' fields
//! and arrays lie in a [`stead_python::Value`]. `python/stead/src/stead/values.py` is the other side.
//!
//! What is no None, bool, number, text, bytes, list, array or dict of texts is a dict whose member `$` tells what it is:
//!
//! | `$` | its other members |
//! |---|---|
//! | `tensor` | `type` with sizes everywhere; `labels`, for each block one for each mapped dimension; `cells`, block behind block |
//! | `position` | `lat` and `lng` in degrees |
//! | `strings` | `shape`, and `values` as bytes: an array of texts |
//! | `dict` | `items`: pairs of a dict whose keys are not all texts, or one of which is `$` |

pub(crate) mod array;
pub(crate) mod field;
pub(crate) mod item;
#[cfg(test)]
mod random;
pub(crate) mod tensor;

use stead_python::Value as Plain;
use stead_tensor::TensorError;

/// The member that tells what a dict stands for.
const TAG: &str = "$";

/// What a dict stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Tensor,
    Position,
    Strings,
    Dict,
}

impl Tag {
    const fn name(self) -> &'static str {
        match self {
            Tag::Tensor => "tensor",
            Tag::Position => "position",
            Tag::Strings => "strings",
            Tag::Dict => "dict",
        }
    }

    /// What it is, for those who write Python.
    const fn title(self) -> &'static str {
        match self {
            Tag::Tensor => "a stead.Tensor",
            Tag::Position => "a stead.Position",
            Tag::Strings => "an array of texts",
            Tag::Dict => "a dict",
        }
    }
}

/// A value that does not stand for what it should, or memory that is short.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct PlainError(String);

impl From<TensorError> for PlainError {
    fn from(error: TensorError) -> PlainError {
        PlainError(error.to_string())
    }
}

/// A dict of some members.
pub(crate) fn dict<const N: usize>(members: [(&str, Plain); N]) -> Plain {
    Plain::Dict(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A dict that stands for something else.
fn tagged<const N: usize>(tag: Tag, members: [(&str, Plain); N]) -> Plain {
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
    Plain::Dict(std::iter::once((TAG.to_owned(), tag.name().into())).chain(members).collect())
}

/// What a dict stands for, if it is one that stands for something else.
fn tag(value: &Plain) -> Option<Tag> {
    let Plain::Dict(members) = value else { return None };
    let Some((_, Plain::Str(tag))) = members.iter().find(|(name, _)| name == TAG) else {
        return None;
    };
    let all = [Tag::Tensor, Tag::Position, Tag::Strings, Tag::Dict];
    all.into_iter().find(|known| known.name() == tag)
}

/// Whether a value is a tensor of named dimensions.
pub(crate) fn is_tensor(value: &Plain) -> bool {
    tag(value) == Some(Tag::Tensor)
}

/// The members of a dict with this tag, in the order of these names.
fn members<const N: usize>(
    value: Plain,
    of: Tag,
    names: [&str; N],
) -> Result<[Plain; N], PlainError> {
    let found = match (tag(&value) == Some(of), value) {
        (true, Plain::Dict(members)) => members,
        (_, other) => return Err(unexpected(of.title(), &other)),
    };
    let mut places = names.map(|_| None);
    for (name, value) in found {
        let known = names.iter().zip(&mut places).find(|(known, _)| **known == name);
        if let Some((_, place)) = known {
            *place = Some(value);
        }
    }
    if let Some((name, _)) = names.iter().zip(&places).find(|(_, place)| place.is_none()) {
        return Err(PlainError(format!("{} without {name}", of.title())));
    }
    Ok(places.map(|place| place.unwrap_or(Plain::None)))
}

fn unexpected(expected: &str, found: &Plain) -> PlainError {
    PlainError(format!("expected {expected}, found {}", kind(found)))
}

/// What a value is, for messages to those who write Python.
pub(crate) fn kind(value: &Plain) -> String {
    match (tag(value), value) {
        (Some(tag), _) => tag.title().to_owned(),
        (_, Plain::None) => "None".to_owned(),
        (_, Plain::Bool(value)) => if *value { "True" } else { "False" }.to_owned(),
        (_, Plain::Int(number)) => number.to_string(),
        (_, Plain::Float(number)) => number.to_string(),
        (_, Plain::Str(text)) => {
            let shown: String = text.chars().take(40).collect();
            format!("{shown:?}{}", if shown.len() < text.len() { "..." } else { "" })
        }
        (_, Plain::Bytes(bytes)) => format!("{} bytes", bytes.len()),
        (_, Plain::List(_)) => "a list".to_owned(),
        (_, Plain::Dict(_)) => "a dict".to_owned(),
        (_, Plain::Tensor(tensor)) => {
            format!("an array {}{:?}", tensor.dtype(), tensor.shape().dims())
        }
    }
}
