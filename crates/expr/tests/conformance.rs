//! Vespa's own cases: results of expressions over tensors, of scalar expressions, and every encoding of tensors.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use serde_json::Value as Json;
use stead_expr::codec::binary;
use stead_expr::{Rate, TensorType, Value, compile};

fn data(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/vespa").join(name);
    let bytes = fs::read(&path).unwrap();
    if name.ends_with(".zst") { zstd::decode_all(&bytes[..]).unwrap() } else { bytes }
}

fn lines(name: &str) -> Vec<Json> {
    let text = String::from_utf8(data(name)).unwrap();
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn tensor(hex: &Json) -> Value {
    let hex = hex.as_str().unwrap().strip_prefix("0x").unwrap();
    binary::decode(&bytes(hex)).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// The value of an expression with these inputs, or why there is none.
fn evaluate(expression: &str, inputs: &[(String, Value)]) -> Result<Value, String> {
    let find = |name: &str| -> Option<(TensorType, Rate)> {
        let (_, value) = inputs.iter().find(|(n, _)| n == name)?;
        Some((value.kind().clone(), Rate::Document))
    };
    let compiled = compile(expression, &find).map_err(|e| e.to_string())?;
    let value = |name: &String| inputs.iter().find(|(n, _)| n == name).map(|(_, v)| v);
    let values: Vec<&Value> = compiled.names().iter().filter_map(value).collect();
    compiled.run(&values).map_err(|e| e.to_string())
}

#[test]
fn tensor_expressions_give_what_vespa_gives() {
    let (mut passed, mut failures) = (0, Vec::new());
    for case in lines("conformance_some_2539.jsonl.zst") {
        let Some(expression) = case["expression"].as_str() else { continue };
        let inputs: Vec<(String, Value)> = case["inputs"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(n, v)| (n.clone(), tensor(v)))
            .collect();
        let expected = tensor(&case["result"]["expect"]);
        match evaluate(expression, &inputs) {
            Ok(got) if got.approx_eq(&expected) => passed += 1,
            got => failures
                .push(format!("{expression} of {inputs:?}\n  got {got:?}\n  not {expected:?}")),
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {}:\n{}",
        failures.len(),
        passed + failures.len(),
        failures[..failures.len().min(10)].join("\n")
    );
    assert_eq!(passed, 2539);
}

#[test]
fn scalar_expressions_give_what_vespa_gives() {
    let number = |json: &Json| match json.as_str() {
        Some("nan") => f64::NAN,
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        Some(other) => other.parse().unwrap(),
        None => json.as_f64().unwrap(),
    };
    let (mut passed, mut failures) = (0, Vec::new());
    for line in lines("scalar_eval_spec.jsonl") {
        let expression = line["expression"].as_str().unwrap();
        let names: Vec<&str> =
            line["params"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
        for case in line["cases"].as_array().unwrap() {
            let values = case["in"].as_array().unwrap().iter().map(number);
            let inputs: Vec<(String, Value)> =
                names.iter().map(|n| (*n).to_owned()).zip(values.map(Value::double)).collect();
            let expected = number(&case["out"]);
            match evaluate(expression, &inputs) {
                Ok(got) if got.approx_eq(&Value::double(expected)) => passed += 1,
                got => failures
                    .push(format!("{expression} of {}: got {got:?}, not {expected}", case["in"])),
            }
        }
    }
    assert!(failures.is_empty(), "{}:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(passed, 1646);
}

#[test]
fn every_encoding_of_a_tensor_is_read() {
    let mut tensors = 0;
    for line in lines("binary_format_test_spec.jsonl") {
        let Some(encodings) = line["binary"].as_array() else { continue };
        let text = &line["tensor"];
        let values: Vec<Value> = encodings.iter().map(tensor).collect();
        for (value, encoding) in values.iter().zip(encodings) {
            assert_eq!(value.kind().to_string(), text["type"].as_str().unwrap(), "{encoding}");
            assert_eq!(value, &values[0], "{encoding}");
            assert_eq!(value.cells().len(), text["cells"].as_array().unwrap().len(), "{encoding}");
        }
        let own: String = binary::encode(&values[0]).iter().map(|b| format!("{b:02X}")).collect();
        let own = Json::String(format!("0x{own}"));
        assert!(
            values[0].cells().is_empty() || encodings.contains(&own),
            "{own} is none of {encodings:?}"
        );
        tensors += 1;
    }
    assert_eq!(tensors, 42);
}
