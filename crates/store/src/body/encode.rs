//! Values to bytes.

use stead_expr::codec::binary;

use super::{
    ARRAY, BYTES, DOUBLE, FALSE, FLOAT, INTEGER, MAP, POSITION, STRUCT, TENSOR, TEXT, TRUE,
    WEIGHTED,
};
use crate::value::FieldValue;

/// A number in seven bits of each byte.
pub(crate) fn number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A number that may be below 0.
pub(crate) fn signed(signed: i64, out: &mut Vec<u8>) {
    number(((signed << 1) ^ (signed >> 63)) as u64, out);
}

/// The number of bytes, and the bytes.
fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A text.
pub(crate) fn text(text: &str, out: &mut Vec<u8>) {
    bytes(text.as_bytes(), out);
}

/// A value with its tag. Values nest no deeper than the JSON that they were.
pub(crate) fn put_value(value: &FieldValue, out: &mut Vec<u8>) {
    let list = |tag: u8, count: usize, out: &mut Vec<u8>| {
        out.push(tag);
        number(count as u64, out);
    };
    match value {
        FieldValue::Bool(value) => out.push(if *value { TRUE } else { FALSE }),
        FieldValue::Integer(value) => {
            out.push(INTEGER);
            signed(*value, out);
        }
        FieldValue::Number(value) => {
            let narrow = *value as f32;
            if f64::from(narrow).to_bits() == value.to_bits() {
                out.push(FLOAT);
                out.extend_from_slice(&narrow.to_le_bytes());
            } else {
                out.push(DOUBLE);
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
        FieldValue::Text(value) => {
            out.push(TEXT);
            text(value, out);
        }
        FieldValue::Bytes(value) => {
            out.push(BYTES);
            bytes(value, out);
        }
        FieldValue::Position(position) => {
            out.push(POSITION);
            out.extend_from_slice(&position.latitude.to_le_bytes());
            out.extend_from_slice(&position.longitude.to_le_bytes());
        }
        FieldValue::Tensor(value) => {
            out.push(TENSOR);
            bytes(&binary::encode(value), out);
        }
        FieldValue::Array(values) => {
            list(ARRAY, values.len(), out);
            values.iter().for_each(|value| put_value(value, out));
        }
        FieldValue::Weighted(values) => {
            list(WEIGHTED, values.len(), out);
            for (value, weight) in values {
                put_value(value, out);
                signed(i64::from(*weight), out);
            }
        }
        FieldValue::Map(pairs) => {
            list(MAP, pairs.len(), out);
            for (key, value) in pairs {
                put_value(key, out);
                put_value(value, out);
            }
        }
        FieldValue::Struct(members) => {
            list(STRUCT, members.len(), out);
            for (name, value) in members {
                text(name, out);
                put_value(value, out);
            }
        }
    }
}
