//! Arguments of a call, from the command line.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use stead_python::Value;
use stead_tensor::{npy, npz};

use crate::failure::Failure;

/// Arguments of a call.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Arguments {
    pub positional: Vec<Value>,
    pub keywords: Vec<(String, Value)>,
}

/// Reads `[name=]VALUE` and `[name=]@FILE`.
pub(super) fn parse(texts: &[String]) -> Result<Arguments, Failure> {
    let mut found = Arguments::default();
    for text in texts {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) if is_name(name) => (Some(name), value),
            _ => (None, text.as_str()),
        };
        let value = match value.strip_prefix('@') {
            Some(path) => of_file(Path::new(path))?,
            None => of_text(value)?,
        };
        match (name, value) {
            (Some(name), value) => found.keyword(name.to_owned(), value)?,
            // Arrays have names, and the file of a whole call holds an object or an array.
            (None, Value::Dict(entries)) if text.starts_with('@') => {
                entries.into_iter().try_for_each(|(name, value)| found.keyword(name, value))?;
            }
            (None, Value::List(items)) if text.ends_with(".json") && text.starts_with('@') => {
                found.positional.extend(items);
            }
            (None, value) => found.positional.push(value),
        }
    }
    Ok(found)
}

impl Arguments {
    fn keyword(&mut self, name: String, value: Value) -> Result<(), Failure> {
        if self.keywords.iter().any(|(other, _)| *other == name) {
            return Err(Failure::usage(format!("--input: `{name}` is given twice")));
        }
        self.keywords.push((name, value));
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

fn of_text(text: &str) -> Result<Value, Failure> {
    match serde_json::from_str(text) {
        Ok(value) => of_json(value).map_err(Failure::usage),
        Err(_) => Ok(text.into()),
    }
}

fn of_file(path: &Path) -> Result<Value, Failure> {
    let failed =
        |error: &dyn std::fmt::Display| Failure::failed(format!("{}: {error}", path.display()));
    let open = || File::open(path).map(BufReader::new).map_err(|e| failed(&e));
    // The file is the user's own: no limit holds.
    match path.extension().and_then(|end| end.to_str()) {
        Some("npy") => npy::read(&mut open()?, u64::MAX).map(Value::Tensor).map_err(|e| failed(&e)),
        Some("npz") => {
            let arrays = npz::read(open()?, u64::MAX).map_err(|e| failed(&e))?;
            Ok(Value::Dict(arrays.into_iter().map(|(name, array)| (name, array.into())).collect()))
        }
        Some("json") => {
            let value = serde_json::from_reader(open()?).map_err(|e| failed(&e))?;
            of_json(value).map_err(|e| failed(&e))
        }
        _ => std::fs::read(path).map(Value::Bytes).map_err(|e| failed(&e)),
    }
}

fn of_json(value: serde_json::Value) -> Result<Value, String> {
    use serde_json::Value as Json;
    Ok(match value {
        Json::Null => Value::None,
        Json::Bool(value) => value.into(),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(value), _) => value.into(),
            (None, Some(value)) if !number.is_u64() => value.into(),
            _ => return Err(format!("{number} does not fit 64 bits")),
        },
        Json::String(text) => text.into(),
        Json::Array(items) => items.into_iter().map(of_json).collect::<Result<Vec<_>, _>>()?.into(),
        Json::Object(entries) => {
            let entry = |(key, value)| Ok((key, of_json(value)?));
            Value::Dict(entries.into_iter().map(entry).collect::<Result<_, String>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_tensor::Tensor;

    fn parsed(texts: &[&str]) -> Result<Arguments, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        parse(&texts).map_err(|e| e.to_string())
    }

    #[test]
    fn values_are_json_or_texts() {
        let cases: [(&str, Option<&str>, Value); 9] = [
            ("n=3", Some("n"), 3.into()),
            ("x=[1, 2.5, null]", Some("x"), vec![1.into(), 2.5.into(), Value::None].into()),
            ("\"a=b\"", None, "a=b".into()),
            ("true", None, true.into()),
            ("name=a text", Some("name"), "a text".into()),
            ("1=1", None, "1=1".into()),
            ("_x1=-1e3", Some("_x1"), (-1000.0).into()),
            ("empty=", Some("empty"), "".into()),
            ("o={\"a\": {}}", Some("o"), Value::Dict(vec![("a".into(), Value::Dict(vec![]))])),
        ];
        for (text, name, value) in cases {
            let found = parsed(&[text]).unwrap();
            let expected = match name {
                Some(name) => {
                    Arguments { keywords: vec![(name.into(), value)], ..Default::default() }
                }
                None => Arguments { positional: vec![value], ..Default::default() },
            };
            assert_eq!(found, expected, "{text}");
        }
        assert_eq!(parsed(&["a=1", "a=2"]), Err("--input: `a` is given twice".into()));
        let large = parsed(&["18446744073709551615"]).unwrap_err();
        assert!(large.contains("does not fit 64 bits"), "{large}");
    }

    #[test]
    fn files_are_what_their_ending_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let tensor = Tensor::from_slice(&[1f32, 2.0], &[2]).unwrap();
        npy::write(&mut File::create(path("x.npy")).unwrap(), &tensor.view()).unwrap();
        npz::write(
            File::create(path("all.npz")).unwrap(),
            [("a", tensor.view()), ("b", tensor.view())],
        )
        .unwrap();
        std::fs::write(path("call.json"), "{\"k\": 5}").unwrap();
        std::fs::write(path("list.json"), "[1, 2]").unwrap();
        std::fs::write(path("words.txt"), "abc").unwrap();
        let array: Value = tensor.into();
        let arrays = || vec![("a".to_owned(), array.clone()), ("b".to_owned(), array.clone())];
        let cases: [(String, Vec<Value>, Vec<(String, Value)>); 6] = [
            (format!("@{}", path("x.npy")), vec![array.clone()], vec![]),
            (format!("x=@{}", path("x.npy")), vec![], vec![("x".into(), array.clone())]),
            (format!("@{}", path("all.npz")), vec![], arrays()),
            (format!("d=@{}", path("all.npz")), vec![], vec![("d".into(), Value::Dict(arrays()))]),
            (format!("@{}", path("call.json")), vec![], vec![("k".into(), 5.into())]),
            (format!("@{}", path("list.json")), vec![1.into(), 2.into()], vec![]),
        ];
        for (text, positional, keywords) in cases {
            assert_eq!(parsed(&[&text]), Ok(Arguments { positional, keywords }), "{text}");
        }
        let bytes = parsed(&[&format!("@{}", path("words.txt"))]).unwrap();
        assert_eq!(bytes.positional, [Value::Bytes(b"abc".to_vec())]);
        assert!(parsed(&["@/nowhere/x.npy"]).unwrap_err().contains("/nowhere/x.npy"));
    }
}
