//! Values as JSON.

use stead_expr::codec::json::{write_f32, write_f64, write_json, write_text, write_whole};

use super::item::Item;

/// Writes a value. Numbers that JSON does not have are texts: `"NaN"`, `"Infinity"`, `"-Infinity"`.
pub(super) fn write(item: &Item, out: &mut Vec<u8>) {
    match item {
        Item::Null => out.extend(b"null"),
        Item::Bool(value) => out.extend(value.to_string().bytes()),
        Item::Integer(number) => write_whole(number, out),
        Item::Number(number) => write_number(*number, out, |out| write_f64(*number, out)),
        Item::Float(number) => {
            write_number(f64::from(*number), out, |out| write_f32(*number, out));
        }
        Item::Tensor(value, form) => write_json(value, *form, out),
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

/// A number of which JSON has the digits, or the text for it.
fn write_number(number: f64, out: &mut Vec<u8>, digits: impl FnOnce(&mut Vec<u8>)) {
    match number.is_finite() {
        true => digits(out),
        false if number.is_nan() => out.extend(b"\"NaN\""),
        false if number > 0.0 => out.extend(b"\"Infinity\""),
        false => out.extend(b"\"-Infinity\""),
    }
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
