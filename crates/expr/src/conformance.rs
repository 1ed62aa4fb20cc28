//! Cases in the forms in which Vespa's test programs write them, one JSON object a line.
//!
//! * `{"expression":"a+b","inputs":{"a":"0x..","b":"0x.."},"result":{"expect":"0x.."}}`: tensors in the binary format;
//! * `{"expression":"(a+b)","params":["a","b"],"cases":[{"in":[1,2],"out":3}]}`: numbers;
//! * `{"tensor":{"type":"..","cells":[..]},"binary":["0x.."]}`: every encoding of a tensor that must be read.
//!
//! Each expression runs for one value of each name, and for a batch of documents of which some names are the query's.
//!
//! Types must be the same and cells equal but for rounding to a float, as Vespa's own verification has it.

use serde_json::Value as Json;

use crate::codec::{binary, json};
use crate::{Attribute, Documents, Rate, Scratch, Stored, TensorType, Value, compile, parse_type};

/// How many cases agree, and what the others say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Cases that agree.
    pub passed: usize,
    /// A text for each that does not.
    pub failures: Vec<String>,
}

impl Tally {
    /// Adds those of another.
    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
    }

    fn note(&mut self, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(text) => self.failures.push(text),
        }
    }
}

/// The cases of a line; none for a line of another form, such as the one that tells how many there are.
#[must_use]
pub fn check(line: &Json) -> Tally {
    let mut tally = Tally::default();
    if let Some(encodings) = line["binary"].as_array() {
        encodings.iter().for_each(|e| tally.note(encoding(&line["tensor"], e, encodings)));
    } else if let Some(cases) = line["cases"].as_array() {
        cases.iter().for_each(|c| tally.note(numbers(line, c)));
    } else if line["result"]["expect"].is_string() {
        tally.note(tensors(line));
    }
    tally
}

fn tensors(line: &Json) -> Result<(), String> {
    let none = serde_json::Map::new();
    let inputs = line["inputs"].as_object().unwrap_or(&none);
    let inputs: Vec<(String, Value)> =
        inputs.iter().map(|(n, v)| Ok((n.clone(), decoded(v)?))).collect::<Result<_, String>>()?;
    compare(&line["expression"], &inputs, &decoded(&line["result"]["expect"])?)
}

fn numbers(line: &Json, case: &Json) -> Result<(), String> {
    let list = |json: &Json| json.as_array().cloned().unwrap_or_default();
    let name = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let values = list(&case["in"]).iter().map(number).collect::<Result<Vec<f64>, String>>()?;
    let inputs: Vec<(String, Value)> =
        list(&line["params"]).iter().map(name).zip(values.into_iter().map(Value::double)).collect();
    compare(&line["expression"], &inputs, &Value::double(number(&case["out"])?))
}

fn encoding(tensor: &Json, encoding: &Json, all: &[Json]) -> Result<(), String> {
    let kind =
        parse_type(tensor["type"].as_str().unwrap_or_default()).map_err(|e| e.to_string())?;
    let expected = json::from_json(&kind, &tensor["cells"]).map_err(|e| e.to_string())?;
    let found = decoded(encoding)?;
    if found != expected {
        return Err(format!("{encoding} is {found}, not {expected}"));
    }
    let own: String = binary::encode(&found).iter().map(|b| format!("{b:02X}")).collect();
    let own = Json::String(format!("0x{own}"));
    if all.contains(&own) {
        Ok(())
    } else {
        Err(format!("{found} is written as {own}, which is none of {all:?}"))
    }
}

/// Whether the value of an expression is the expected one.
fn compare(expression: &Json, inputs: &[(String, Value)], expected: &Value) -> Result<(), String> {
    let text = expression.as_str().unwrap_or_default();
    let value = |name: &str| inputs.iter().find(|(n, _)| n == name).map(|(_, v)| v);
    let find = |name: &str| -> Option<(TensorType, Rate)> {
        value(name).map(|v| (v.kind().clone(), Rate::Document))
    };
    let compiled = compile(text, &find).map_err(|e| format!("{text}: {e}"))?;
    let values: Vec<&Value> = compiled.names().iter().filter_map(|n| value(n)).collect();
    let mut found = vec![compiled.run(&values).map_err(|e| format!("{text}: {e}"))?];
    for query in [&|_: usize| false, &|at| at % 2 == 0] as [&dyn Fn(usize) -> bool; 2] {
        found.append(&mut batch(text, inputs, query)?);
    }
    let Some(wrong) = found.iter().find(|v| !v.approx_eq(expected)) else { return Ok(()) };
    let inputs: Vec<String> = inputs.iter().map(|(n, v)| format!("{n} = {v}")).collect();
    Err(format!("{text} with {} is {wrong}, not {expected}", inputs.join(", ")))
}

/// The values of an expression for documents that all have the same values; some of the names are the query's.
fn batch(
    text: &str,
    inputs: &[(String, Value)],
    is_of_query: &dyn Fn(usize) -> bool,
) -> Result<Vec<Value>, String> {
    const COUNT: usize = 3;
    let value = |name: &str| {
        let at = inputs.iter().position(|(n, _)| n == name)?;
        Some((&inputs[at].1, if is_of_query(at) { Rate::Query } else { Rate::Document }))
    };
    let scope = |name: &str| -> Option<(TensorType, Rate)> {
        value(name).map(|(value, rate)| (value.kind().clone(), rate))
    };
    let compiled = compile(text, &scope).map_err(|e| format!("{text}: {e}"))?;
    let of_query: Vec<&Value> =
        compiled.query_names().filter_map(|n| value(n).map(|(v, _)| v)).collect();
    let stored = compiled.document_names().filter_map(value).map(|(value, _)| {
        let mut stored = Stored::new(value.kind().clone());
        (0..COUNT).all(|_| stored.push(value)).then_some(stored)
    });
    let stored: Option<Vec<Stored>> = stored.collect();
    let stored = stored.ok_or_else(|| format!("{text}: the values of documents do not fit"))?;
    let attributes: Vec<Attribute<'_>> = stored.iter().map(Stored::attribute).collect();
    let documents = Documents { count: COUNT, index: None, attributes: &attributes };
    let bound = compiled.for_query(&of_query).map_err(|e| format!("{text}: {e}"))?;
    bound.values(&documents, &mut Scratch::default()).map_err(|e| format!("{text}: {e}"))
}

fn decoded(json: &Json) -> Result<Value, String> {
    let hex = json.as_str().and_then(|t| t.strip_prefix("0x")).unwrap_or_default();
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok();
        text.and_then(|t| u8::from_str_radix(t, 16).ok())
            .ok_or_else(|| format!("{json} is no hexadecimal text"))
    };
    let bytes = hex.as_bytes().chunks(2).map(byte).collect::<Result<Vec<u8>, String>>()?;
    binary::decode(&bytes).map_err(|e| format!("{json}: {e}"))
}

fn number(json: &Json) -> Result<f64, String> {
    let named = || json.as_str().and_then(|t| t.parse().ok());
    json.as_f64().or_else(named).ok_or_else(|| format!("{json} is no number"))
}
