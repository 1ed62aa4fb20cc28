//! Values of fields as bytes: what is kept of a document beside its columns, and what logs have.
//!
//! A **value** begins with a tag that tells what follows. Numbers of 4 and 8 bytes are little-endian; a *number* is a LEB128
//! of at most ten bytes (7 bits in each, the lowest first, the highest bit set in all but the last), a *signed number* one of which
//! `0, 1, 2, 3, ..` stand for `0, -1, 1, -2, ..`; a *text* is the number of its bytes and its bytes, UTF-8.
//!
//! | tag | value | what follows |
//! |---|---|---|
//! | 1 | `false` | |
//! | 2 | `true` | |
//! | 3 | whole number | signed number |
//! | 4 | number | `f32`, if it is as exact |
//! | 5 | number | `f64` |
//! | 6 | text | text |
//! | 7 | bytes | the number of bytes, bytes |
//! | 8 | position | `i32` millionths of a degree to the north, `i32` to the east |
//! | 9 | tensor | the number of bytes, a tensor in [the typed binary format](stead_expr::codec::binary) |
//! | 10 | array | the number of elements, a value for each |
//! | 11 | weighted set | the number of elements; for each a value and its weight, a signed number |
//! | 12 | map | the number of entries; for each the key and the value |
//! | 13 | struct | the number of members; for each its name, a text, and its value |
//!
//! A **body** has what a document consists of: the version, a byte that is 1, and for each field that has a value, in ascending order of
//! their numbers: the number of the field, the number of bytes of the value, the value. No bytes mean that the value is that of the
//! field's column.
//!
//! A **change** of a body says what becomes of some fields, whatever the others are: a byte that is 2, and for each of these fields in
//! ascending order: its number, 0 if it has no value any more or 1 + the number of bytes of the value, the value.
//!
//! Readers take whatever bytes there are: nothing is allocated beyond what the bytes can fill, and values nest at most 130 deep.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::BodyError;
pub(crate) use decode::{Bytes, value};
pub(crate) use encode::{number, put_value, signed, text};

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::value::FieldValue;

/// The version that this stead writes, and the only one that there has been.
const VERSION: u8 = 1;

/// What a change begins with.
const CHANGE: u8 = 2;

/// The deepest that values nest. JSON nests at most 128 deep.
const MAX_DEPTH: usize = 130;

const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INTEGER: u8 = 3;
const FLOAT: u8 = 4;
const DOUBLE: u8 = 5;
const TEXT: u8 = 6;
const BYTES: u8 = 7;
const POSITION: u8 = 8;
const TENSOR: u8 = 9;
const ARRAY: u8 = 10;
const WEIGHTED: u8 = 11;
const MAP: u8 = 12;
const STRUCT: u8 = 13;

/// The body of a document. `in_column` tells of which fields the value is to be taken from the column.
pub(crate) fn encode(fields: &[(usize, FieldValue)], in_column: impl Fn(usize) -> bool) -> Vec<u8> {
    let mut order: Vec<&(usize, FieldValue)> = fields.iter().collect();
    order.sort_by_key(|(field, _)| *field);
    let (mut body, mut one) = (vec![VERSION], Vec::new());
    for (field, value) in order {
        one.clear();
        if !in_column(*field) {
            put_value(value, &mut one);
        }
        entry(*field, &one, &mut body);
    }
    body
}

/// The change that gives some fields other values, or none.
pub(crate) fn change(
    changes: &[(usize, Option<FieldValue>)],
    in_column: impl Fn(usize) -> bool,
) -> Vec<u8> {
    let mut fields: Changes<'_> = BTreeMap::new();
    for (field, value) in changes {
        let bytes = value.as_ref().map(|value| {
            let mut bytes = Vec::new();
            if !in_column(*field) {
                put_value(value, &mut bytes);
            }
            bytes.into()
        });
        fields.insert(*field, bytes);
    }
    written(&fields)
}

/// Whether bytes are a change, not a body.
pub(crate) fn is_change(bytes: &[u8]) -> bool {
    bytes.first() == Some(&CHANGE)
}

/// A body behind a change of it; of a change, both as one.
pub(crate) fn changed(of: &[u8], change: &[u8]) -> Result<Vec<u8>, BodyError> {
    let more = changes(change)?;
    if is_change(of) {
        let mut all = changes(of)?;
        all.extend(more);
        return Ok(written(&all));
    }
    let mut values: BTreeMap<usize, Cow<'_, [u8]>> =
        fields(of)?.into_iter().map(|(field, bytes)| (field, bytes.into())).collect();
    for (field, value) in more {
        match value {
            Some(value) => drop(values.insert(field, value)),
            None => drop(values.remove(&field)),
        }
    }
    let mut body = vec![VERSION];
    values.iter().for_each(|(field, bytes)| entry(*field, bytes, &mut body));
    Ok(body)
}

/// By field: the bytes of its value, or that it has none any more.
type Changes<'c> = BTreeMap<usize, Option<Cow<'c, [u8]>>>;

fn written(changes: &Changes<'_>) -> Vec<u8> {
    let mut out = vec![CHANGE];
    for (field, value) in changes {
        number(*field as u64, &mut out);
        number(value.as_ref().map_or(0, |value| value.len() as u64 + 1), &mut out);
        out.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    out
}

fn changes(bytes: &[u8]) -> Result<Changes<'_>, BodyError> {
    let mut bytes = Bytes::new(bytes);
    match bytes.byte()? {
        CHANGE => {}
        other => return Err(BodyError::Version(other)),
    }
    let mut found: Changes<'_> = BTreeMap::new();
    while !bytes.is_empty() {
        let field = bytes.length()?;
        if found.last_key_value().is_some_and(|(last, _)| *last >= field) {
            return Err(BodyError::Order);
        }
        let size = bytes.length()?.checked_sub(1);
        found.insert(field, size.map(|size| bytes.take(size)).transpose()?.map(Cow::Borrowed));
    }
    Ok(found)
}

fn entry(field: usize, value: &[u8], body: &mut Vec<u8>) {
    number(field as u64, body);
    number(value.len() as u64, body);
    body.extend_from_slice(value);
}

/// The fields of a body: their numbers, and the bytes of their values, none where they are in columns.
pub(crate) fn fields(body: &[u8]) -> Result<Vec<(usize, &[u8])>, BodyError> {
    let mut bytes = Bytes::new(body);
    match bytes.byte()? {
        VERSION => {}
        other => return Err(BodyError::Version(other)),
    }
    let mut found: Vec<(usize, &[u8])> = Vec::new();
    while !bytes.is_empty() {
        let field = bytes.length()?;
        if found.last().is_some_and(|(last, _)| *last >= field) {
            return Err(BodyError::Order);
        }
        let size = bytes.length()?;
        found.push((field, bytes.take(size)?));
    }
    Ok(found)
}
