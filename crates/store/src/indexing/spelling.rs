//! Values as texts, the way Vespa spells them: `to_string`, concatenation, `join`.

use super::Datum;
use super::numbers::rounded;
use crate::kind::DataType;
use crate::value::FieldValue;

/// A value as a text.
pub(super) fn spelled(datum: &Datum) -> String {
    text(&datum.kind, &datum.value)
}

/// Values nest as deep as their types, which have a limit.
fn text(kind: &DataType, value: &FieldValue) -> String {
    let inner = match kind {
        DataType::Array(of) | DataType::WeightedSet(of) => of,
        other => other,
    };
    let list = |parts: Vec<String>, [open, close]: [char; 2]| {
        let mut text = String::from(open);
        text += &parts.join(", ");
        text.push(close);
        text
    };
    match value {
        FieldValue::Bool(value) => value.to_string(),
        FieldValue::Integer(number) => number.to_string(),
        FieldValue::Number(number) => match kind {
            DataType::Float | DataType::Float16 => float(*number as f32),
            _ => double(rounded(kind, *number)),
        },
        FieldValue::Text(text) => text.clone(),
        FieldValue::Bytes(bytes) => bytes.iter().map(|b| format!("{b:02x}")).collect(),
        FieldValue::Position(place) => {
            format!("({},{})", place.longitude, place.latitude)
        }
        FieldValue::Tensor(value) => value.to_string(),
        FieldValue::Array(elements) => {
            list(elements.iter().map(|e| text(inner, e)).collect(), ['[', ']'])
        }
        FieldValue::Weighted(pairs) => list(
            pairs.iter().map(|(key, weight)| format!("{}={weight}", text(inner, key))).collect(),
            ['{', '}'],
        ),
        FieldValue::Map(pairs) => {
            let (key, value) = match kind {
                DataType::Map(key, value) => (&**key, &**value),
                other => (other, other),
            };
            let pair =
                |(k, v): &(FieldValue, FieldValue)| format!("{}={}", text(key, k), text(value, v));
            list(pairs.iter().map(pair).collect(), ['{', '}'])
        }
        FieldValue::Struct(members) => list(
            // The types of members are not known here; only floats would be spelled in another way.
            members.iter().map(|(n, v)| format!("{n}={}", text(&DataType::Text, v))).collect(),
            ['{', '}'],
        ),
    }
}

/// The fewest digits that are this double, with an exponent where there would be many zeros
/// (Java, `Double.toString`).
pub(super) fn double(number: f64) -> String {
    java(number, format!("{number:e}"))
}

/// The fewest digits that are this float.
pub(super) fn float(number: f32) -> String {
    java(f64::from(number), format!("{number:e}"))
}

fn java(number: f64, scientific: String) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if number == 0.0 || (-3..7).contains(&exponent) {
        let sign = if digits.starts_with('-') { "-" } else { "" };
        let plain: String = digits.chars().filter(char::is_ascii_digit).collect();
        let point = exponent + 1;
        let (whole, fraction) = match usize::try_from(point) {
            Ok(point) if point > 0 => {
                let padded = format!("{plain:0<point$}");
                let (whole, fraction) = padded.split_at(point);
                (whole.to_owned(), fraction.to_owned())
            }
            _ => ("0".to_owned(), "0".repeat(point.unsigned_abs() as usize) + &plain),
        };
        let fraction = if fraction.is_empty() { "0" } else { &fraction };
        return format!("{sign}{whole}.{fraction}");
    }
    let digits = if digits.contains('.') { digits.to_owned() } else { format!("{digits}.0") };
    format!("{digits}E{exponent}")
}

#[cfg(test)]
mod tests {
    use super::{double, float};

    #[test]
    fn numbers_are_spelled_as_in_java() {
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-12.5, "-12.5"),
            (0.001, "0.001"),
            (0.00012, "1.2E-4"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (1.5e300, "1.5E300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(double(number), expected);
        }
        assert_eq!(float(0.1), "0.1");
        assert_eq!(double(f64::from(0.1_f32)), "0.10000000149011612");
    }
}
