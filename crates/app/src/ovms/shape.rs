//! `batch_size`, `shape` and `layout`.

use super::{unsupported, unwrapped};
use crate::fields::{bad, join, string};
use crate::{BatchSize, ConfigError, InputShape};
use serde_json::Value;
use std::collections::BTreeMap;

/// Above this a dimension cannot be meant.
const MAX_DIM: u64 = 1 << 40;

pub(super) fn batch_size(value: &Value, pointer: &str) -> Result<Option<BatchSize>, ConfigError> {
    let text = match value {
        Value::Number(n) => n.to_string(),
        v => string(v, pointer)?.trim().to_owned(),
    };
    match text.as_str() {
        // The model's own.
        "0" => return Ok(None),
        "auto" | "-1" => return Ok(Some(BatchSize::Auto)),
        _ => {}
    }
    let range = match dimension(&text) {
        Some(Some((low, high))) if low > 0 => Some((low, high)),
        _ => None,
    };
    let (low, high) = range.ok_or_else(|| {
        bad(pointer, "an integer from 0, \"auto\" or a range such as \"1:8\"", value)
    })?;
    Ok(Some(if low == high { BatchSize::Fixed(low) } else { BatchSize::Range(low, high) }))
}

/// `-1`, `5` or `1:8`; the outer `None` when it is none of them.
fn dimension(text: &str) -> Option<Option<(usize, usize)>> {
    let size = |t: &str| {
        let n: u64 = t.trim().parse().ok()?;
        if n > MAX_DIM { None } else { usize::try_from(n).ok() }
    };
    match text.trim().split_once(':') {
        None if text.trim() == "-1" => Some(None),
        None => size(text).map(|n| Some((n, n))),
        Some((low, high)) => {
            let (low, high) = (size(low)?, size(high)?);
            (low <= high).then_some(Some((low, high)))
        }
    }
}

fn shape(value: &Value, pointer: &str) -> Result<Option<InputShape>, ConfigError> {
    const EXPECTED: &str = "\"auto\" or a shape such as \"(1,3,-1,64:128)\"";
    let text = string(value, pointer)?.trim();
    if text == "auto" {
        return Ok(None);
    }
    let inner = text
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'))
        .ok_or_else(|| bad(pointer, EXPECTED, value))?;
    let dims: Option<Vec<_>> = match inner.trim() {
        "" => Some(Vec::new()),
        inner => inner.strip_suffix(',').unwrap_or(inner).split(',').map(dimension).collect(),
    };
    dims.map(Some).ok_or_else(|| bad(pointer, EXPECTED, value))
}

pub(super) fn shapes(
    value: &Value,
    pointer: &str,
) -> Result<BTreeMap<String, InputShape>, ConfigError> {
    let value = unwrapped(value, pointer)?;
    let mut shapes = BTreeMap::new();
    match &value {
        Value::Object(map) => {
            for (input, value) in map {
                if let Some(shape) = shape(value, &join(pointer, input))? {
                    shapes.insert(input.clone(), shape);
                }
            }
        }
        value => {
            if let Some(shape) = shape(value, pointer)? {
                shapes.insert(String::new(), shape);
            }
        }
    }
    Ok(shapes)
}

/// Whether every request chooses the shape of an input.
pub(super) fn is_auto(value: &Value) -> bool {
    let value = unwrapped(value, "").unwrap_or_default();
    let auto = |v: &Value| v.as_str().is_some_and(|text| text.trim() == "auto");
    auto(&value) || value.as_object().is_some_and(|map| map.values().any(auto))
}

/// Layouts name axes; only one that would move axes changes anything, and that is not offered.
pub(super) fn layout(value: &Value, pointer: &str) -> Result<(), ConfigError> {
    let check = |value: &Value, pointer: &str| -> Result<(), ConfigError> {
        let text = string(value, pointer)?;
        let valid = |t: &str| {
            t == "auto"
                || (!t.is_empty()
                    && t.chars().all(|c| {
                        c.is_ascii_alphabetic() || matches!(c, '.' | '?' | ',' | '[' | ']')
                    }))
        };
        match text.split_once(':') {
            None if valid(text) => Ok(()),
            Some((from, to)) if valid(from) && from == to => Ok(()),
            Some((from, to)) if valid(from) && valid(to) => {
                Err(unsupported(pointer, "send inputs in the layout of the model"))
            }
            _ => Err(bad(pointer, "a layout such as \"NCHW\"", value)),
        }
    };
    match &unwrapped(value, pointer)? {
        Value::Object(map) => map.iter().try_for_each(|(t, v)| check(v, &join(pointer, t))),
        value => check(value, pointer),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;
    use serde_json::json;

    #[test]
    fn batch_sizes() {
        let cases = [
            (json!(0), Ok(None)),
            (json!("0"), Ok(None)),
            (json!(4), Ok(Some(BatchSize::Fixed(4)))),
            (json!("4"), Ok(Some(BatchSize::Fixed(4)))),
            (json!("auto"), Ok(Some(BatchSize::Auto))),
            (json!("-1"), Ok(Some(BatchSize::Auto))),
            (json!(-1), Ok(Some(BatchSize::Auto))),
            (json!("1:8"), Ok(Some(BatchSize::Range(1, 8)))),
            (json!("8:1"), Err(())),
            (json!("0:8"), Err(())),
            (json!("many"), Err(())),
            (json!(1.5), Err(())),
            (json!(u64::MAX), Err(())),
        ];
        for (value, expected) in cases {
            let got = read("batch_size", value.clone()).map(|s| s.batch_size).map_err(|_| ());
            assert_eq!(got, expected, "{value}");
        }
    }

    #[test]
    fn shapes_for_one_and_for_named_inputs() {
        let one = read("shape", json!("(1,3, -1,64:128)")).unwrap().shapes;
        assert_eq!(one[""], vec![Some((1, 1)), Some((3, 3)), None, Some((64, 128))]);
        for value in
            [json!({"a": "(1,2)", "b": "auto"}), json!("{\"a\": \"(1,2)\", \"b\": \"auto\"}")]
        {
            let named = read("shape", value).unwrap().shapes;
            assert_eq!(named.keys().collect::<Vec<_>>(), ["a"]);
        }
        assert_eq!(read("shape", json!("auto")).unwrap().shapes.len(), 0);
        assert_eq!(read("shape", json!("()")).unwrap().shapes[""], vec![]);
        for bad in [json!("1,2"), json!("(a)"), json!("(1,,2)"), json!(3), json!("(1"), json!("{")]
        {
            assert!(read("shape", bad.clone()).is_err(), "{bad}");
        }
    }
}
