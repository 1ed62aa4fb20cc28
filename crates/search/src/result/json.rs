//! Values as JSON.

use std::fmt::Arguments;
use std::io::Write;

use super::item::Item;

/// Writes a value. Numbers that JSON does not have are texts: `"NaN"`, `"Infinity"`, `"-Infinity"`.
pub(super) fn write(item: &Item, out: &mut Vec<u8>) {
    match item {
        Item::Null => out.extend(b"null"),
        Item::Bool(value) => out.extend(value.to_string().bytes()),
        Item::Integer(number) => write_digits(out, format_args!("{number}")),
        Item::Number(number) => write_number(*number, out, format_args!("{number:?}")),
        Item::Float(number) => write_number(f64::from(*number), out, format_args!("{number:?}")),
        Item::Text(text) => write_text(text, out),
        Item::List(list) => {
            out.push(b'[');
            for (at, item) in list.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write(item, out);
            }
            out.push(b']');
        }
        Item::Map(members) => {
            out.push(b'{');
            for (at, (name, item)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_text(name, out);
                out.push(b':');
                write(item, out);
            }
            out.push(b'}');
        }
    }
}

fn write_digits(out: &mut Vec<u8>, digits: Arguments<'_>) {
    // Memory takes all that is written to it.
    let _ = out.write_fmt(digits);
}

fn write_number(number: f64, out: &mut Vec<u8>, digits: Arguments<'_>) {
    match number.is_finite() {
        true => write_digits(out, digits),
        false if number.is_nan() => out.extend(b"\"NaN\""),
        false if number > 0.0 => out.extend(b"\"Infinity\""),
        false => out.extend(b"\"-Infinity\""),
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
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
            control => write_digits(out, format_args!("\\u{control:04x}")),
        }
        rest = &behind[1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::{Item, write};

    #[test]
    fn values_are_json() {
        for (item, expected) in [
            (Item::Null, "null"),
            (Item::Number(0.1), "0.1"),
            (Item::Number(1.0), "1.0"),
            (Item::Number(1e300), "1e300"),
            (Item::Float(0.1), "0.1"),
            (Item::Number(f64::NAN), "\"NaN\""),
            (Item::Number(f64::NEG_INFINITY), "\"-Infinity\""),
            (Item::text("a\"\\\n\u{1}\u{e9}"), "\"a\\\"\\\\\\n\\u0001\u{e9}\""),
            (Item::List(vec![Item::Integer(-1), Item::Bool(true)]), "[-1,true]"),
            (Item::map([("b", Item::Null), ("a", Item::List(vec![]))]), "{\"b\":null,\"a\":[]}"),
        ] {
            let mut out = Vec::new();
            write(&item, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
            let _valid: serde_json::Value = serde_json::from_str(expected).unwrap();
        }
    }
}
