//! What a client sends as the values of arguments.

use serde_json::Value as Json;
use serde_json::value::RawValue;
use stead_app::Literal;
use stead_expr::codec::from_literal;
use stead_expr::codec::json::from_json_text;
use stead_expr::{TensorType, Value, text_number};
use stead_tensor::{DType, Tensor};

use super::choice::short;
use super::model::{Datum, Served};
use super::signature::{EvaluationArgument, EvaluationType};
use crate::literal::tensor_of;
use crate::{Code, Error};

/// The value of an argument as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvaluationInput {
    /// A text of a URL or form: a literal of tensors.
    Text(String),
    /// The text of JSON: a tensor in any of its forms, a number, or a text that is read as the texts of forms are.
    Json(String),
}

/// The values of all arguments of a function by the names that its model has for them. Names are those of others too where only
/// capitals differ; of those that stand twice the first counts. `missing` is the value of what is not given; without it numbers
/// are NaN.
///
/// # Errors
/// [`Code::InvalidArgument`] with the first argument, in the order of their names, that has no value of its type.
pub(super) fn bind(
    served: &Served,
    given: &[(String, EvaluationInput)],
    missing: Option<&EvaluationInput>,
) -> Result<Vec<(String, Datum)>, Error> {
    let mut bound = Vec::with_capacity(served.inputs.len());
    for (argument, input) in served.function.arguments.iter().zip(&served.inputs) {
        let EvaluationArgument { name, kind } = argument;
        let wrong = |why: &str| {
            let text = format!("Argument '{name}' must be bound to a value of type {kind}{why}");
            Error::new(Code::InvalidArgument, text)
        };
        let alike = || given.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let found = given.iter().find(|(known, _)| known == name).or_else(alike);
        let datum = match (found, missing, kind) {
            (Some((_, found)), _, _) => {
                let is_word = served.categories.contains(input);
                read(kind, found, is_word).map_err(|why| wrong(&format!(": {why}")))?
            }
            (None, Some(missing), _) => read(kind, missing, false).map_err(|_| wrong(""))?,
            (None, None, EvaluationType::Tensor(kind)) if kind.is_double() => {
                Datum::Value(Value::double(f64::NAN))
            }
            _ => return Err(wrong("")),
        };
        bound.push((input.clone(), datum));
    }
    Ok(bound)
}

/// A value of a type; `is_word` says that it is the name of a category.
fn read(kind: &EvaluationType, input: &EvaluationInput, is_word: bool) -> Result<Datum, String> {
    match (kind, input) {
        (EvaluationType::Tensor(_), EvaluationInput::Text(text)) if is_word => {
            Ok(word(unquoted(text).unwrap_or(text)))
        }
        (EvaluationType::Tensor(kind), EvaluationInput::Text(text)) => tensor(kind, text),
        (EvaluationType::Tensor(kind), EvaluationInput::Json(json)) => {
            match serde_json::from_str::<&RawValue>(json).map(RawValue::get) {
                Ok(text) if text.starts_with('"') => {
                    let text: String = serde_json::from_str(text).map_err(|e| e.to_string())?;
                    read(
                        &EvaluationType::Tensor(kind.clone()),
                        &EvaluationInput::Text(text),
                        is_word,
                    )
                }
                Ok(number) if is_word => Ok(word(number)),
                // What is a literal too needs no tree of JSON values, which takes many times the memory of its cells.
                Ok(text) if text.starts_with('[') => match from_literal(kind, text) {
                    Ok(value) => Ok(Datum::Value(value)),
                    Err(_) => of_json(kind, text),
                },
                Ok(text) => of_json(kind, text),
                Err(error) => Err(error.to_string()),
            }
        }
        (EvaluationType::Array { dtype, dims }, input) => {
            let rank = dims.as_ref().map(Vec::len);
            array(*dtype, rank, input).map(Datum::Array)
        }
    }
}

/// A tensor, or a number, from a text: a literal, or JSON.
fn tensor(kind: &TensorType, text: &str) -> Result<Datum, String> {
    let error = match from_literal(kind, text) {
        Ok(value) => return Ok(Datum::Value(value)),
        Err(error) => error,
    };
    if kind.is_double() {
        return match unquoted(text) {
            Some(text) => Ok(word(text)),
            None => {
                let found = short(text);
                Err(format!("{found:?} is no number; a text stands in quotes of its own"))
            }
        };
    }
    match text.trim_start().starts_with(['{', '[']) {
        true => of_json(kind, text).map_err(|_| error.to_string()),
        false => Err(error.to_string()),
    }
}

fn of_json(kind: &TensorType, text: &str) -> Result<Datum, String> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|e| e.to_string())?;
    from_json_text(kind, raw).map(Datum::Value).map_err(|e| e.to_string())
}

/// The number that a text is in expressions.
fn word(text: &str) -> Datum {
    Datum::Value(Value::double(text_number(text)))
}

fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim();
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

/// An array of JSON, with or without the object that tensors have around them. A text alone is all of an array of one element.
fn array(dtype: DType, rank: Option<usize>, input: &EvaluationInput) -> Result<Tensor, String> {
    let is_text = dtype == DType::String;
    let json: Json = match input {
        EvaluationInput::Text(text) => match serde_json::from_str(text) {
            Ok(json @ (Json::Array(_) | Json::Object(_))) => json,
            _ if is_text => Json::String(unquoted(text).unwrap_or(text).to_owned()),
            Ok(json) => json,
            Err(_) => return Err(format!("{:?} is no array of JSON", short(text))),
        },
        EvaluationInput::Json(json) => serde_json::from_str(json).map_err(|e| e.to_string())?,
    };
    let values = match json {
        Json::Object(mut object) => {
            object.remove("values").ok_or("an object without values is no array")?
        }
        other => other,
    };
    let mut literal = Literal::from_json(&values)?;
    if literal.dims.is_empty() {
        literal.dims = vec![1; rank.unwrap_or(0)];
    }
    if rank.is_some_and(|rank| rank != literal.dims.len()) {
        let (expected, found) = (rank.unwrap_or(0), literal.dims.len());
        return Err(format!("expected an array of {expected} dimensions, found one of {found}"));
    }
    tensor_of(&literal, dtype).map_err(|text| match is_text {
        true => "expected texts in arrays of equal lengths".to_owned(),
        false => text,
    })
}

#[cfg(test)]
mod tests;
