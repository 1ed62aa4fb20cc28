//! Words that take a value and give one, and know nothing else.

use stead_app::schema::{Argument, IndexingLiteral};
use stead_text::without_accents;

use super::spelling::spelled;
use super::{Datum, numbers, tensors, texts, time};
use crate::kind::DataType;
use crate::position::Position;
use crate::value::FieldValue;

/// What a word makes of a value.
pub(super) fn call(
    word: &str,
    arguments: &[Argument],
    input: Datum,
) -> Result<Option<Datum>, String> {
    let found = match word {
        "lowercase" => Datum::text(spelled(&input).to_lowercase()),
        "trim" => Datum::text(texts::trim(&spelled(&input))),
        "normalize" => Datum::text(without_accents(&spelled(&input))),
        "substring" => {
            let at = |at: usize| match arguments.get(at) {
                Some(Argument::Literal(IndexingLiteral::Integer(n))) => usize::try_from(*n).ok(),
                _ => None,
            };
            let (Some(from), Some(to)) = (at(0), at(1)) else {
                return Err("expected two numbers from 0".to_owned());
            };
            Datum::text(texts::substring(&spelled(&input), from, to))
        }
        "join" => match (&input.kind, &input.value) {
            (DataType::Array(of), FieldValue::Array(list)) => {
                let one = |value: &FieldValue| {
                    spelled(&Datum { kind: (**of).clone(), value: value.clone() })
                };
                let delimiter = match arguments.first() {
                    Some(Argument::Literal(IndexingLiteral::Text(text))) => text.as_str(),
                    _ => "",
                };
                Datum::text(list.iter().map(one).collect::<Vec<_>>().join(delimiter))
            }
            _ => return Err(format!("expected an array, found {}", spelled(&input))),
        },
        "get_value" => return Ok(entry(&input, arguments)),
        "to_string" | "to_uri" | "uri" => Datum::text(spelled(&input)),
        "to_byte" => numbers::converted(&input, DataType::Byte)?,
        "to_int" => numbers::converted(&input, DataType::Int)?,
        "to_long" => numbers::converted(&input, DataType::Long)?,
        "to_float" => numbers::converted(&input, DataType::Float)?,
        "to_double" => numbers::converted(&input, DataType::Double)?,
        "to_bool" => {
            Datum { kind: DataType::Bool, value: FieldValue::Bool(numbers::truth(&input)) }
        }
        "to_array" => {
            let Datum { kind, value } = input;
            Datum { kind: DataType::Array(Box::new(kind)), value: FieldValue::Array(vec![value]) }
        }
        "to_wset" => {
            let Datum { kind, value } = input;
            let value = FieldValue::Weighted(vec![(value, 1)]);
            Datum { kind: DataType::WeightedSet(Box::new(kind)), value }
        }
        "to_pos" => {
            let text = spelled(&input);
            let Some(place) = Position::parse(&text) else {
                return Err(format!("expected a position such as N63.4;E10.4, found {text:?}"));
            };
            Datum { kind: DataType::Position, value: FieldValue::Position(place) }
        }
        "to_epoch_second" => {
            let text = spelled(&input);
            let Some(seconds) = time::epoch_second(&text) else {
                return Err(format!(
                    "expected a moment such as 2023-12-24T17:00:43Z, found {text:?}"
                ));
            };
            Datum::long(seconds)
        }
        "zcurve" => match input.value {
            FieldValue::Position(place) => Datum::long(place.curve()),
            _ => return Err(format!("expected a position, found {}", spelled(&input))),
        },
        "base64encode" => Datum::text(texts::base64_encode(long(&input)?)),
        "hexencode" | "hex_encode" => Datum::text(format!("{:x}", long(&input)?)),
        "base64decode" => coded("base64", &spelled(&input), texts::base64_decode)?,
        "hexdecode" | "hex_decode" => {
            coded("hexadecimal digits", &spelled(&input), texts::hex_decode)?
        }
        "binarize" => {
            let threshold = match arguments.first() {
                Some(Argument::Literal(IndexingLiteral::Integer(number))) => *number as f64,
                Some(Argument::Literal(IndexingLiteral::Number(number))) => *number,
                _ => 0.0,
            };
            tensor(input, |value| tensors::binarize(value, threshold))?
        }
        "pack_bits" => tensor(input, tensors::pack_bits)?,
        // Texts are analysed when they are indexed, which leaves the value as it is.
        _ => input,
    };
    Ok(Some(found))
}

/// The value of a key of a map.
fn entry(input: &Datum, arguments: &[Argument]) -> Option<Datum> {
    let Some(Argument::Name(name)) = arguments.first() else { return None };
    match (&input.kind, &input.value) {
        (DataType::Map(_, kind), FieldValue::Map(entries)) => {
            let (_, value) = entries.iter().find(|(k, _)| k.label().as_ref() == Some(name))?;
            Some(Datum { kind: (**kind).clone(), value: value.clone() })
        }
        _ => None,
    }
}

fn long(input: &Datum) -> Result<i64, String> {
    match input.value {
        FieldValue::Integer(number) => Ok(number),
        _ => Err(format!("expected a long, found {}", spelled(input))),
    }
}

fn coded(what: &str, text: &str, decode: impl Fn(&str) -> Option<i64>) -> Result<Datum, String> {
    decode(text)
        .map(Datum::long)
        .ok_or_else(|| format!("expected {what} of a long, found {text:?}"))
}

fn tensor(
    input: Datum,
    of: impl Fn(&stead_expr::Value) -> Option<stead_expr::Value>,
) -> Result<Datum, String> {
    let found = match &input.value {
        FieldValue::Tensor(value) => of(value),
        _ => None,
    };
    match found {
        Some(value) => {
            let kind = DataType::Tensor(value.kind().clone());
            Ok(Datum { kind, value: FieldValue::Tensor(value) })
        }
        None => Err(format!("expected a tensor, found {}", spelled(&input))),
    }
}
