//! Values as CBOR (RFC 8949).

use stead_expr::codec::json::to_json;

use super::item::Item;

/// The types of items, in the highest three bits of their first byte.
const POSITIVE: u8 = 0;
const NEGATIVE: u8 = 1;
const TEXT: u8 = 3;
const LIST: u8 = 4;
const MAP: u8 = 5;

/// Writes a value.
pub(super) fn write(item: &Item, out: &mut Vec<u8>) {
    match item {
        Item::Null => out.push(0xf6),
        Item::Bool(value) => out.push(0xf4 + u8::from(*value)),
        // -1 is the negative number 0.
        Item::Integer(number) => match u64::try_from(*number) {
            Ok(number) => head(POSITIVE, number, out),
            Err(_) => head(NEGATIVE, !(*number) as u64, out),
        },
        Item::Number(number) => {
            out.push(0xfb);
            out.extend(number.to_be_bytes());
        }
        Item::Float(number) => {
            out.push(0xfa);
            out.extend(number.to_be_bytes());
        }
        Item::Text(text) => write_text(text, out),
        Item::Tensor(value, form) => write(&Item::from(to_json(value, *form)), out),
        Item::List(list) => {
            head(LIST, list.len() as u64, out);
            list.iter().for_each(|item| write(item, out));
        }
        Item::Map(members) => {
            head(MAP, members.len() as u64, out);
            for (name, item) in members {
                write_text(name, out);
                write(item, out);
            }
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    head(TEXT, text.len() as u64, out);
    out.extend(text.bytes());
}

/// The type of an item with its number or length, in as few bytes as it takes.
fn head(kind: u8, number: u64, out: &mut Vec<u8>) {
    let kind = kind << 5;
    match number {
        0..24 => out.push(kind | number as u8),
        24..0x100 => out.extend([kind | 24, number as u8]),
        0x100..0x1_0000 => {
            out.push(kind | 25);
            out.extend((number as u16).to_be_bytes());
        }
        0x1_0000..0x1_0000_0000 => {
            out.push(kind | 26);
            out.extend((number as u32).to_be_bytes());
        }
        _ => {
            out.push(kind | 27);
            out.extend(number.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Item, write};

    #[test]
    fn values_are_those_of_the_examples_of_the_standard() {
        for (item, expected) in [
            (Item::Integer(0), "00"),
            (Item::Integer(23), "17"),
            (Item::Integer(24), "1818"),
            (Item::Integer(1000), "1903e8"),
            (Item::Integer(1_000_000), "1a000f4240"),
            (Item::Integer(1_000_000_000_000), "1b000000e8d4a51000"),
            (Item::Integer(-1), "20"),
            (Item::Integer(-1000), "3903e7"),
            (Item::Integer(i64::MIN), "3b7fffffffffffffff"),
            (Item::Number(1.1), "fb3ff199999999999a"),
            (Item::Float(100_000.0), "fa47c35000"),
            (Item::Bool(false), "f4"),
            (Item::Bool(true), "f5"),
            (Item::Null, "f6"),
            (Item::text("\u{fc}"), "62c3bc"),
            (Item::List(vec![Item::Integer(1), Item::Integer(2)]), "820102"),
            (Item::map([("a", Item::Integer(1))]), "a1616101"),
        ] {
            let mut out = Vec::new();
            write(&item, &mut out);
            let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected, "{item:?}");
        }
    }
}
