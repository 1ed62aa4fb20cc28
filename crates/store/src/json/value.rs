//! JSON as the value of a field.

use base64::Engine as _;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use stead_expr::codec::json::{from_json, from_json_text};

use super::members::without_place;
use crate::kind::{DataType, DocumentType};
use crate::position::Position;
use crate::predicate;
use crate::value::FieldValue;

/// The longest piece of JSON that an error shows.
const MAX_SHOWN: usize = 40;

/// Reads values, and knows how far into a field it is.
pub(crate) struct Reader<'k> {
    kind: &'k DocumentType,
    /// The field, with the way into it.
    pub(crate) path: String,
}

impl<'k> Reader<'k> {
    pub(crate) fn new(kind: &'k DocumentType, field: &str) -> Reader<'k> {
        Reader { kind, path: field.to_owned() }
    }

    /// A value of a type from the text of JSON.
    pub(crate) fn text(&mut self, of: &DataType, json: &RawValue) -> Result<FieldValue, String> {
        if let DataType::Tensor(kind) = of {
            return from_json_text(kind, json).map(FieldValue::Tensor).map_err(|e| e.to_string());
        }
        match (of, serde_json::from_str(json.get()).map_err(|e| without_place(&e))?) {
            (DataType::Text, Json::String(text)) => Ok(FieldValue::Text(text)),
            (_, json) => self.value(of, &json),
        }
    }

    /// A value of a type. The way into the field stays where an error is.
    ///
    /// JSON nests less deep than the stack is, so this may follow it.
    pub(crate) fn value(&mut self, of: &DataType, json: &Json) -> Result<FieldValue, String> {
        match of {
            DataType::Bool => match json {
                Json::Bool(value) => Ok(FieldValue::Bool(*value)),
                Json::String(text) if text == "true" || text == "false" => {
                    Ok(FieldValue::Bool(text == "true"))
                }
                other => unexpected("true or false", other),
            },
            DataType::Byte | DataType::Int | DataType::Long => integer(of, json),
            DataType::Float16 | DataType::Float | DataType::Double => number(of, json),
            DataType::Text => match json {
                Json::String(text) => Ok(FieldValue::Text(text.clone())),
                other => unexpected("a text", other),
            },
            DataType::Predicate => match json {
                Json::String(text) => match predicate::check(text) {
                    Ok(()) => Ok(FieldValue::Text(text.clone())),
                    Err(error) => Err(format!("no predicate: {error}")),
                },
                other => unexpected("a predicate as a text", other),
            },
            DataType::Raw => match json {
                Json::String(text) => base64::engine::general_purpose::STANDARD
                    .decode(text)
                    .map(FieldValue::Bytes)
                    .map_err(|_| format!("expected bytes in base64, found {}", shown(json))),
                other => unexpected("bytes in base64", other),
            },
            DataType::Position => position(json),
            DataType::Tensor(kind) => {
                from_json(kind, json).map(FieldValue::Tensor).map_err(|e| e.to_string())
            }
            DataType::Array(element) => {
                let Json::Array(list) = json else { return unexpected(&format!("an {of}"), json) };
                let read = |(at, json): (usize, &Json)| {
                    self.within(&format!("[{at}]"), |r| r.value(element, json))
                };
                list.iter().enumerate().map(read).collect::<Result<_, _>>().map(FieldValue::Array)
            }
            DataType::WeightedSet(element) => {
                let Json::Object(object) = json else {
                    return unexpected(&format!("a {of} such as {{\"element\": 1}}"), json);
                };
                let read = |(key, weight): (&String, &Json)| {
                    self.within(&format!("{{{key}}}"), |r| {
                        let key = r.value(element, &Json::String(key.clone()))?;
                        match integer(&DataType::Int, weight)? {
                            FieldValue::Integer(weight) => Ok((key, weight as i32)),
                            _ => unexpected("a weight", &Json::Null),
                        }
                    })
                };
                object.iter().map(read).collect::<Result<_, _>>().map(FieldValue::Weighted)
            }
            DataType::Map(key, value) => self.map(of, key, value, json),
            DataType::Struct(name) => self.members(name, json),
        }
    }

    fn within<T>(
        &mut self,
        step: &str,
        read: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        let length = self.path.len();
        self.path += step;
        let found = read(self)?;
        self.path.truncate(length);
        Ok(found)
    }

    /// `{"key": value}`, or a list of `{"key": key, "value": value}`.
    fn map(
        &mut self,
        of: &DataType,
        key: &DataType,
        value: &DataType,
        json: &Json,
    ) -> Result<FieldValue, String> {
        let mut pairs = Vec::new();
        match json {
            Json::Object(object) => {
                for (text, json) in object {
                    pairs.push(self.within(&format!("{{{text}}}"), |r| {
                        Ok((r.value(key, &Json::String(text.clone()))?, r.value(value, json)?))
                    })?);
                }
            }
            Json::Array(list) => {
                for (at, entry) in list.iter().enumerate() {
                    pairs.push(self.within(&format!("[{at}]"), |r| {
                        let (Some(k), Some(v)) = (entry.get("key"), entry.get("value")) else {
                            return unexpected("an object with key and value", entry);
                        };
                        Ok((r.value(key, k)?, r.value(value, v)?))
                    })?);
                }
            }
            other => return unexpected(&format!("a {of}"), other),
        }
        Ok(FieldValue::Map(pairs))
    }

    fn members(&mut self, name: &str, json: &Json) -> Result<FieldValue, String> {
        let Json::Object(object) = json else {
            return unexpected(&format!("a struct {name}"), json);
        };
        let Some(found) = self.kind.find_struct(name) else {
            return Err(format!("values of the type {name} are not known"));
        };
        let mut members = Vec::new();
        for (member, json) in object {
            let Some((_, of)) = found.members.iter().find(|(n, _)| n == member) else {
                let known: Vec<&str> = found.members.iter().map(|(n, _)| n.as_str()).collect();
                return Err(format!(
                    "struct {name} has no member {member}; it has {}",
                    known.join(", ")
                ));
            };
            if json.is_null() {
                continue;
            }
            let value = self.within(&format!(".{member}"), |r| r.value(of, json))?;
            members.push((member.clone(), value));
        }
        Ok(FieldValue::Struct(members))
    }
}

fn integer(of: &DataType, json: &Json) -> Result<FieldValue, String> {
    let article = if *of == DataType::Int { "an" } else { "a" };
    let number = match json {
        Json::Number(number) => number.as_i64(),
        Json::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let Some(number) = number else { return unexpected(&format!("{article} {of}"), json) };
    let (least, most) = match of {
        DataType::Byte => (i64::from(i8::MIN), i64::from(i8::MAX)),
        DataType::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    if (least..=most).contains(&number) {
        return Ok(FieldValue::Integer(number));
    }
    Err(format!("expected {article} {of} from {least} to {most}, found {number}"))
}

fn number(of: &DataType, json: &Json) -> Result<FieldValue, String> {
    let number = match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    match number {
        Some(number) => Ok(FieldValue::Number(of.rounded(number))),
        None => unexpected(&format!("a {of}"), json),
    }
}

/// `{"lat": 63.4, "lng": 10.4}` or `"N63.4;E10.4"`.
fn position(json: &Json) -> Result<FieldValue, String> {
    let of = |object: &Map<String, Json>| {
        let degrees = |key: &str| object.get(key).and_then(Json::as_f64);
        Position::from_degrees(degrees("lat")?, degrees("lng")?)
    };
    let found = match json {
        Json::String(text) => Position::parse(text),
        Json::Object(object) => of(object),
        _ => None,
    };
    match found {
        Some(position) => Ok(FieldValue::Position(position)),
        None => unexpected("a position such as {\"lat\": 63.4, \"lng\": 10.4}", json),
    }
}

fn unexpected<T>(expected: &str, found: &Json) -> Result<T, String> {
    Err(format!("expected {expected}, found {}", shown(found)))
}

/// JSON for an error, cut where it is long.
pub(crate) fn shown(json: &Json) -> String {
    let text = json.to_string();
    if text.chars().count() <= MAX_SHOWN {
        return text;
    }
    text.chars().take(MAX_SHOWN).chain("...".chars()).collect()
}
