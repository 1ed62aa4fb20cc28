//! A parsed JSON or UBJSON file as a flat list of items in the order of the file.
//!
//! A container knows where it ends, so that walking over it needs no recursion, and a document of
//! any depth is dropped like any list.

mod builder;
mod cursor;
pub(crate) mod json;
pub(crate) mod ubjson;

use builder::Builder;

/// One value; those of a container follow it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Item {
    Null,
    Bool(bool),
    Number(f64),
    /// Bytes of `Document::text`.
    Text {
        start: u32,
        len: u32,
    },
    /// `end`: the first item behind it.
    Array {
        end: u32,
        len: u32,
    },
    /// As an array; before each value stands its key as text.
    Object {
        end: u32,
        len: u32,
    },
}

/// A parsed file.
#[derive(Debug)]
pub(crate) struct Document {
    items: Vec<Item>,
    text: String,
}

impl Document {
    /// The outermost value; a document always has one.
    pub(crate) fn root(&self) -> Value<'_> {
        Value { document: self, at: 0 }
    }
}

/// A value in a document.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a> {
    document: &'a Document,
    at: usize,
}

impl<'a> Value<'a> {
    fn item(self) -> Item {
        self.document.items.get(self.at).copied().unwrap_or(Item::Null)
    }

    /// The first item behind this value.
    fn end(self) -> usize {
        match self.item() {
            Item::Array { end, .. } | Item::Object { end, .. } => end as usize,
            _ => self.at + 1,
        }
    }

    pub(crate) fn is_object(self) -> bool {
        matches!(self.item(), Item::Object { .. })
    }

    pub(crate) fn is_array(self) -> bool {
        matches!(self.item(), Item::Array { .. })
    }

    pub(crate) fn number(self) -> Option<f64> {
        match self.item() {
            Item::Number(x) => Some(x),
            _ => None,
        }
    }

    /// A truth value; numbers as C has it.
    pub(crate) fn truth(self) -> Option<bool> {
        match self.item() {
            Item::Bool(x) => Some(x),
            Item::Number(x) => Some(x != 0.0),
            _ => None,
        }
    }

    pub(crate) fn text(self) -> Option<&'a str> {
        match self.item() {
            Item::Text { start, len } => {
                self.document.text.get(start as usize..(start + len) as usize)
            }
            _ => None,
        }
    }

    /// How many elements an array or members an object has.
    pub(crate) fn len(self) -> usize {
        match self.item() {
            Item::Array { len, .. } | Item::Object { len, .. } => len as usize,
            _ => 0,
        }
    }

    /// The elements of an array; none of anything else.
    pub(crate) fn elements(self) -> impl Iterator<Item = Value<'a>> {
        let end = if self.is_array() { self.end() } else { 0 };
        let mut next = Value { document: self.document, at: self.at + 1 };
        std::iter::from_fn(move || {
            let value = (next.at < end).then_some(next)?;
            next.at = value.end();
            Some(value)
        })
    }

    /// The members of an object; none of anything else.
    pub(crate) fn members(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let end = if self.is_object() { self.end() } else { 0 };
        let mut next = Value { document: self.document, at: self.at + 1 };
        std::iter::from_fn(move || {
            let key = (next.at < end).then(|| next.text())??;
            let value = Value { document: self.document, at: next.at + 1 };
            next.at = value.end();
            Some((key, value))
        })
    }

    /// The first member of that name.
    pub(crate) fn get(self, name: &str) -> Option<Value<'a>> {
        self.members().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// The value at the end of a path of names.
    pub(crate) fn at(self, path: &[&str]) -> Option<Value<'a>> {
        path.iter().try_fold(self, |value, name| value.get(name))
    }

    /// The elements of an array of numbers.
    pub(crate) fn numbers(self) -> Option<Vec<f64>> {
        self.is_array().then(|| self.elements().map(Value::number).collect())?
    }
}
