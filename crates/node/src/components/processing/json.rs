//! JSON as components see it.

use serde_json::{Map, Number, Value as Json};
use stead_python::Value as Plain;

use crate::components::plain::kind;

/// A value from JSON.
pub(super) fn plain(json: Json) -> Plain {
    match json {
        Json::Null => Plain::None,
        Json::Bool(value) => Plain::Bool(value),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Plain::Int(number),
            None => Plain::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Plain::Str(text),
        Json::Array(list) => Plain::List(list.into_iter().map(plain).collect()),
        Json::Object(members) => {
            Plain::Dict(members.into_iter().map(|(name, json)| (name, plain(json))).collect())
        }
    }
}

/// The JSON that a value is. Values nest no deeper than what passes from Python.
///
/// # Errors
/// When it has parts that JSON does not have.
pub(super) fn json(value: Plain) -> Result<Json, String> {
    Ok(match value {
        Plain::None => Json::Null,
        Plain::Bool(value) => Json::Bool(value),
        Plain::Int(number) => Json::from(number),
        Plain::Float(number) => {
            let number = Number::from_f64(number);
            Json::Number(number.ok_or("a number that JSON does not have: NaN or an infinity")?)
        }
        Plain::Str(text) => Json::String(text),
        Plain::List(list) => Json::Array(list.into_iter().map(json).collect::<Result<_, _>>()?),
        Plain::Dict(members) => {
            let member = |(name, value)| Ok((name, json(value)?));
            Json::Object(members.into_iter().map(member).collect::<Result<Map<_, _>, String>>()?)
        }
        other @ (Plain::Bytes(_) | Plain::Tensor(_)) => {
            return Err(format!("{}, which JSON does not have", kind(&other)));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_back() {
        for text in [
            "null",
            "true",
            "-9223372036854775808",
            "0.1",
            "\"a\\u00e9\\n\"",
            "[]",
            "{\"a{b}\":{\"increment\":1},\"$\":[1,null,{}]}",
        ] {
            let parsed: Json = serde_json::from_str(text).unwrap();
            assert_eq!(json(plain(parsed.clone())), Ok(parsed), "{text}");
        }
        let large: Json = serde_json::from_str("18446744073709551615").unwrap();
        assert_eq!(plain(large), Plain::Float(18_446_744_073_709_551_615.0));
        assert!(json(Plain::List(vec![Plain::Float(f64::NAN)])).unwrap_err().contains("NaN"));
        assert!(json(Plain::Bytes(vec![1])).unwrap_err().contains("1 bytes"));
    }
}
