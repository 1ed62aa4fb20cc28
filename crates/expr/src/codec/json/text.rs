//! Tensors as JSON text, without a tree of values between: vectors of hits are most of an answer.

use std::io::Write;

use super::Form;
use super::write::{address, digits, named};
use crate::types::CellType;
use crate::value::{Number, Value};

/// Magnitudes that have no exponent, and at most so many digits behind the point as there are powers.
const PLAIN: std::ops::Range<f32> = 1e-4..1e9;

/// Powers of ten, whose products with numbers of 32 bits are exact.
const POWERS: [f64; 13] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12];

/// Writes a tensor as [`to_json`](super::to_json) has it.
pub fn write_json(value: &Value, form: Form, out: &mut Vec<u8>) {
    let kind = value.kind();
    let is_hex = matches!(form, Form::Hex | Form::HexValue);
    let is_long = matches!(form, Form::Long | Form::LongValue);
    let is_mixed = kind.indexed().next().is_some();
    let cells = |at: usize, out: &mut Vec<u8>| match is_hex {
        true => write_text(&digits(value, at), out),
        false => write_block(value, at, out),
    };
    let (key, mapped) = (named(value, form), kind.mapped_count());
    let is_alone = matches!(form, Form::ShortValue | Form::LongValue | Form::HexValue);
    let name = || if kind.is_double() { "tensor()".to_owned() } else { kind.to_string() };
    // Members stand in the order of their names.
    if !is_alone {
        out.push(b'{');
        if key > "type" {
            write_member("type", out);
            write_text(&name(), out);
            out.push(b',');
        }
        write_member(key, out);
    }
    match (mapped, is_mixed) {
        (0, _) if !is_long => cells(0, out),
        (1, _) if !is_long => {
            let label = |at: usize| value.labels()[at].text();
            let mut labels: Vec<(String, usize)> =
                (0..value.blocks()).map(|at| (label(at), at)).collect();
            labels.sort_unstable();
            write_list(b"{}", labels, out, |(label, at), out| {
                write_member(&label, out);
                match is_mixed {
                    true => cells(at, out),
                    false => write_cell(value, at, out),
                }
            });
        }
        (_, true) if !is_long => write_list(b"[]", value.in_order_of_texts(), out, |at, out| {
            write_addressed(value, (at, None), "values", out);
            cells(at, out);
            out.push(b'}');
        }),
        _ => {
            let size = kind.block_size();
            let blocks = value.in_order_of_texts().into_iter();
            let all = blocks.flat_map(|block| (0..size).map(move |cell| (block, cell)));
            write_list(b"[]", all, out, |(block, cell), out| {
                write_addressed(value, (block, Some(cell)), "value", out);
                write_cell(value, block * size + cell, out);
                out.push(b'}');
            });
        }
    }
    if !is_alone {
        if key < "type" {
            out.push(b',');
            write_member("type", out);
            write_text(&name(), out);
        }
        out.push(b'}');
    }
}

fn write_list<T>(
    ends: &[u8; 2],
    list: impl IntoIterator<Item = T>,
    out: &mut Vec<u8>,
    mut one: impl FnMut(T, &mut Vec<u8>),
) {
    out.push(ends[0]);
    for (at, element) in list.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        one(element, out);
    }
    out.push(ends[1]);
}

fn write_member(name: &str, out: &mut Vec<u8>) {
    write_text(name, out);
    out.push(b':');
}

/// The begin of an object with the address of a block or a cell, up to the value of its other member.
fn write_addressed(
    value: &Value,
    (block, cell): (usize, Option<usize>),
    name: &str,
    out: &mut Vec<u8>,
) {
    out.push(b'{');
    write_member("address", out);
    let mut places = address(value, block, cell);
    places.sort_unstable();
    write_list(b"{}", places, out, |(dimension, place), out| {
        write_member(dimension, out);
        write_text(&place, out);
    });
    out.push(b',');
    write_member(name, out);
}

/// The cells of a block as nested arrays.
fn write_block(value: &Value, at: usize, out: &mut Vec<u8>) {
    let size = value.kind().block_size();
    // The cells within each level of brackets, the outermost first.
    let mut levels = vec![size];
    for (_, outer) in value.kind().indexed() {
        levels.push(levels.last().map_or(1, |all| all / outer.max(1)));
    }
    // Within the last dimension are single cells, which have no brackets.
    if levels.len() > 1 {
        levels.pop();
    }
    if size == 0 {
        out.extend_from_slice(b"[]");
    }
    for cell in 0..size {
        if cell > 0 {
            out.push(b',');
        }
        levels.iter().filter(|all| cell % **all == 0).for_each(|_| out.push(b'['));
        write_cell(value, at * size + cell, out);
        levels.iter().filter(|all| (cell + 1) % **all == 0).for_each(|_| out.push(b']'));
    }
}

fn write_cell(value: &Value, at: usize, out: &mut Vec<u8>) {
    let number = match value.cells().number(at) {
        Some(Number::Whole(whole)) => return write_whole(whole, out),
        Some(Number::Float(float)) => float,
        None => 0.0,
    };
    match value.kind().cell() {
        _ if number.is_nan() => out.extend_from_slice(b"\"NaN\""),
        _ if number.is_infinite() && number > 0.0 => out.extend_from_slice(b"\"inf\""),
        _ if number.is_infinite() => out.extend_from_slice(b"\"-inf\""),
        CellType::Float | CellType::BFloat16 | CellType::Float16 => write_f32(number as f32, out),
        _ => write_f64(number, out),
    }
}

/// Writes a whole number.
pub fn write_whole(number: impl std::fmt::Display, out: &mut Vec<u8>) {
    // Memory takes all that is written to it.
    let _ = write!(out, "{number}");
}

/// Writes a finite number with as few digits as tell it from others, and a point.
pub fn write_f64(number: f64, out: &mut Vec<u8>) {
    let _ = write!(out, "{number:?}");
}

/// The same for a number of 32 bits: the digits are those of the standard library, in a third of the time.
pub fn write_f32(number: f32, out: &mut Vec<u8>) {
    if PLAIN.contains(&number.abs()) {
        let mut buffer = zmij::Buffer::new();
        let digits = buffer.format_finite(number).as_bytes();
        let places = digits.iter().rev().position(|byte| *byte == b'.');
        let scaled = places.and_then(|at| POWERS.get(at)).map(|power| f64::from(number) * power);
        // Exactly between two numbers of so many digits each takes another one.
        if scaled.is_some_and(|scaled| scaled.fract().abs() != 0.5) {
            return out.extend_from_slice(digits);
        }
    }
    let _ = write!(out, "{number:?}");
}

/// Writes a text with quotes around it.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    // What stands as it is, up to the next byte that does not, is copied at once.
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..0x20)) {
        let (plain, behind) = rest.split_at(at);
        out.extend_from_slice(plain);
        match behind[0] {
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
        rest = &behind[1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::{write_f32, write_f64, write_json, write_text};
    use crate::codec::json::{Form, to_json};
    use crate::compile;

    /// A tree as text, number by number as the standard library writes them.
    fn text(json: &Json, out: &mut Vec<u8>) {
        match json {
            Json::Number(number) => match number.as_i64() {
                Some(whole) => out.extend(whole.to_string().bytes()),
                None => out.extend(format!("{:?}", number.as_f64().unwrap()).bytes()),
            },
            Json::String(string) => write_text(string, out),
            Json::Array(list) => {
                super::write_list(b"[]", list, out, text);
            }
            Json::Object(members) => super::write_list(b"{}", members, out, |(name, json), out| {
                super::write_member(name, out);
                text(json, out);
            }),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn tensors_are_what_their_trees_are() {
        for literal in [
            "tensor<float>(x[3]):[0.1,-2,1e-7]",
            "tensor<float>(x[2],y[3]):[[1,2,3],[4,5,6]]",
            "tensor<bfloat16>(x[2],y[2],z[2]):[[[1,2],[3,4]],[[5,6],[7,0.1]]]",
            "tensor<int8>(x[3]):[1,-2,127]",
            "tensor<int64>(x[2]):[9007199254740993,-1]",
            "tensor(x[4]):[1e300,0.00002,123456789012,0]",
            "tensor(k{}):{a:1,b:2.5}",
            "tensor(k{}):{10:1,9:2,x:3}",
            "tensor(k{}):{}",
            "tensor<float>(k{},x[2]):{10:[1,2],9:[3,4]}",
            "tensor(a{},b{}):{{a:x,b:1}:1,{a:y,b:2}:2}",
            "tensor<float>(a{},b{},x[2]):{{a:x,b:1,x:0}:1,{a:x,b:1,x:1}:2,{a:y,b:2,x:0}:3,{a:y,b:2,x:1}:4}",
            "tensor(b{},a[2]):{x:[1,2]}",
            "tensor(k{}):{'q\"\\n':1}",
            "tensor(x[3]):[0/0,1/0,-1/0]",
            "tensor<float>(x[2]):[0/0,-1/0]",
            "5.5",
        ] {
            let value = compile(literal, &|_: &str| None).unwrap().run(&[]).unwrap();
            for form in ["short", "long", "hex", "short-value", "long-value", "hex-value"] {
                let form = Form::from_name(form).unwrap();
                let (mut found, mut expected) = (Vec::new(), Vec::new());
                write_json(&value, form, &mut found);
                text(&to_json(&value, form), &mut expected);
                let [found, expected] = [found, expected].map(|t| String::from_utf8(t).unwrap());
                assert_eq!(found, expected, "{literal} {form:?}");
            }
        }
    }

    #[test]
    fn numbers_have_the_digits_of_the_standard_library() {
        let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
        for at in 0..200_000_u32 {
            bits ^= bits << 13;
            bits ^= bits >> 7;
            bits ^= bits << 17;
            // Of any magnitude, and of those that are usual.
            let double = match at % 2 {
                0 => f64::from_bits(bits),
                _ => (bits as i64 as f64 / 2_f64.powi(63)) * 10_f64.powi((at % 40) as i32 - 20),
            };
            let float = double as f32;
            let (mut found, mut expected) = (Vec::new(), String::new());
            if double.is_finite() {
                write_f64(double, &mut found);
                expected += &format!("{double:?}");
            }
            if float.is_finite() {
                write_f32(float, &mut found);
                expected += &format!("{float:?}");
            }
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        }
        for number in [0.0, -0.0, 1e-4, 9.999e-5, 1e9, 999_999_999.0, 1.0, -3.0, 18_091.313] {
            let mut found = Vec::new();
            write_f32(number, &mut found);
            assert_eq!(String::from_utf8(found).unwrap(), format!("{number:?}"));
        }
    }
}
