//! Tensors as the literals that Vespa writes, with blanks behind commas and numbers as Java has them.

use serde_json::Value as Json;

/// The literal of a type and of cells as JSON has them without their type.
pub fn literal(kind: &str, cells: &Json) -> String {
    let mut out = format!("{kind}:");
    match cells {
        // A number alone.
        Json::Array(list) if kind == "tensor()" => {
            let number = match list.first() {
                Some(Json::Object(cell)) => cell.get("value").unwrap_or(&Json::Null),
                Some(number) => number,
                None => &Json::Null,
            };
            braces(out, |out| write(number, false, out))
        }
        other => {
            write(other, kind.starts_with("tensor<string>"), &mut out);
            out
        }
    }
}

fn braces(mut out: String, inner: impl FnOnce(&mut String)) -> String {
    out.push('{');
    inner(&mut out);
    out.push('}');
    out
}

/// Recursion is as deep as a tensor has dimensions. `is_text` says that words are texts, and not numbers without digits.
fn write(json: &Json, is_text: bool, out: &mut String) {
    match json {
        Json::Array(list) if list.first().is_some_and(Json::is_object) => {
            join(['{', '}'], list, out, |cell, out| {
                let places = cell.get("address").and_then(Json::as_object);
                let place = |(name, label): (&String, &Json)| {
                    format!("{name}:{}", quoted(label.as_str().unwrap_or_default()))
                };
                let places: Vec<String> = places.into_iter().flatten().map(place).collect();
                *out += &format!("{{{}}}:", places.join(","));
                write(
                    cell.get("value").or(cell.get("values")).unwrap_or(&Json::Null),
                    is_text,
                    out,
                );
            });
        }
        Json::Array(list) => join(['[', ']'], list, out, |cell, out| write(cell, is_text, out)),
        Json::Object(cells) => join(['{', '}'], cells, out, |(label, cell), out| {
            *out += &format!("{}:", quoted(label));
            write(cell, is_text, out);
        }),
        Json::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => *out += &java(float),
            None => *out += &number.to_string(),
        },
        Json::String(word) if !is_text && word == "inf" => *out += "Infinity",
        Json::String(word) if !is_text && word == "-inf" => *out += "-Infinity",
        Json::String(word) if !is_text && word == "NaN" => *out += "NaN",
        other => *out += &other.to_string(),
    }
}

fn join<T>(
    [open, close]: [char; 2],
    list: impl IntoIterator<Item = T>,
    out: &mut String,
    write: impl Fn(T, &mut String),
) {
    out.push(open);
    for (at, item) in list.into_iter().enumerate() {
        *out += if at == 0 { "" } else { ", " };
        write(item, out);
    }
    out.push(close);
}

/// A label; in quotes unless it is a word.
fn quoted(label: &str) -> String {
    match !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        true => label.to_owned(),
        false => format!("'{}'", label.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

/// A number as `Double.toString` writes it: a fraction always, an exponent from 10^7 on and below 10^-3.
fn java(number: f64) -> String {
    if number == 0.0 || (1e-3..1e7).contains(&number.abs()) {
        return format!("{number:?}");
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_java() {
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-4.376_59, "-4.37659"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (1.25e-7, "1.25E-7"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (-1.5e300, "-1.5E300"),
        ] {
            assert_eq!(java(number), expected);
        }
    }
}
