//! Results of a call: as text, as JSON and as files.

use std::fs::File;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};
use stead_python::Value;
use stead_tensor::{Tensor, npy, npz};

use crate::failure::Failure;
use crate::values::{json_of, preview};

/// For people: arrays as their first elements.
pub(super) fn text(value: &Value) -> String {
    let mut lines = Vec::new();
    add(value, String::new(), &mut lines);
    lines.join("\n")
}

fn add(value: &Value, place: String, lines: &mut Vec<String>) {
    let holds_more =
        |value: &Value| matches!(value, Value::Tensor(_) | Value::List(_) | Value::Dict(_));
    let prefix = if place.is_empty() { String::new() } else { format!("{place}: ") };
    match value {
        Value::Tensor(tensor) => {
            lines.push(format!("{prefix}{} {:?}", tensor.dtype(), tensor.shape().dims()));
            lines.push(format!("  {}", preview(tensor.view())));
        }
        Value::List(items) if items.iter().any(holds_more) => {
            for (i, item) in items.iter().enumerate() {
                add(item, format!("{place}[{i}]"), lines);
            }
        }
        Value::Dict(entries) if !entries.is_empty() => {
            for (key, value) in entries {
                add(value, format!("{place}[{key:?}]"), lines);
            }
        }
        Value::Bytes(bytes) => lines.push(format!("{prefix}{} bytes", bytes.len())),
        Value::Str(text) if place.is_empty() => lines.push(text.clone()),
        value => lines.push(format!("{prefix}{}", json(value))),
    }
}

/// Arrays as objects with `datatype`, `shape` and `data`, bytes as objects with `base64`.
pub(super) fn json(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Float(value) if value.is_finite() => json!(value),
        Value::Float(value) => json!(value.to_string()),
        Value::Str(text) => json!(text),
        Value::Bytes(bytes) => json!({"base64": BASE64_STANDARD.encode(bytes)}),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Dict(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key.clone(), json(value))).collect())
        }
        Value::Tensor(tensor) => json!({
            "datatype": tensor.dtype().name(),
            "shape": tensor.shape().dims(),
            "data": json_of(tensor.view()),
        }),
    }
}

/// Writes a result to a file in the form that its ending names.
pub(super) fn write(path: &Path, value: &Value) -> Result<(), Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::failed(format!("{}: {error}", path.display()));
    let create = || File::create(path).map_err(|e| failed(&e));
    match (path.extension().and_then(|end| end.to_str()), value) {
        (Some("npy"), Value::Tensor(tensor)) => {
            npy::write(&mut create()?, &tensor.view()).map_err(|e| failed(&e))
        }
        (Some("npz"), Value::Dict(entries)) => {
            let array = |(name, value): &'_ (String, Value)| match value {
                Value::Tensor(tensor) => Ok((name.clone(), tensor.clone())),
                _ => Err(failed(&format!("the result at {name:?} is not an array"))),
            };
            let arrays: Vec<(String, Tensor)> =
                entries.iter().map(array).collect::<Result<_, _>>()?;
            let arrays = arrays.iter().map(|(name, tensor)| (name.as_str(), tensor.view()));
            npz::write(create()?, arrays).map_err(|e| failed(&e))
        }
        (Some("npy"), _) => Err(failed(&"the result is not an array; .json takes every result")),
        (Some("npz"), _) => Err(failed(&"the result is not a dict of arrays; .npy takes an array")),
        (Some("json"), value) => {
            std::fs::write(path, json(value).to_string()).map_err(|e| failed(&e))
        }
        (_, Value::Bytes(bytes)) => std::fs::write(path, bytes).map_err(|e| failed(&e)),
        (_, Value::Str(text)) => std::fs::write(path, text).map_err(|e| failed(&e)),
        _ => Err(failed(&"the result is neither bytes nor text; .json takes every result")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_shown_with_their_places() {
        let tensor: Value = Tensor::from_slice(&[1f32, f32::NAN], &[2]).unwrap().into();
        let value = Value::Dict(vec![
            ("scores".into(), tensor),
            ("names".into(), vec!["a".into(), Value::None].into()),
            ("raw".into(), Value::Bytes(vec![0, 255])),
        ]);
        let expected =
            "[\"scores\"]: f32 [2]\n  [1, NaN]\n[\"names\"]: [\"a\",null]\n[\"raw\"]: 2 bytes";
        assert_eq!(text(&value), expected);
        assert_eq!(
            json(&value),
            json!({
                "scores": {"datatype": "f32", "shape": [2], "data": [1.0, "NaN"]},
                "names": ["a", null],
                "raw": {"base64": "AP8="},
            })
        );
        assert_eq!(text(&"plain".into()), "plain");
        assert_eq!(json(&Value::Float(f64::INFINITY)), json!("inf"));
    }

    #[test]
    fn files_are_what_their_ending_says_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        let tensor = Tensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
        let array: Value = tensor.clone().into();
        let arrays = Value::Dict(vec![("a".into(), array.clone())]);
        let written = |name: &str, value: &Value| {
            let path = folder.path().join(name);
            write(&path, value).map(|()| path).map_err(|e| e.to_string())
        };
        let path = written("x.npy", &array).unwrap();
        assert_eq!(npy::read(&mut File::open(path).unwrap(), u64::MAX).unwrap(), tensor);
        let path = written("x.npz", &arrays).unwrap();
        let read = npz::read(File::open(path).unwrap(), u64::MAX).unwrap();
        assert_eq!(read, [("a".to_owned(), tensor)]);
        let path = written("x.json", &vec![1.into()].into()).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "[1]");
        let path = written("x.txt", &"text".into()).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "text");
        for (name, value) in [("a.npy", &arrays), ("a.npz", &array), ("a.png", &array)] {
            let error = written(name, value).unwrap_err();
            assert!(error.contains(name) && error.contains("the result is"), "{error}");
        }
    }
}
