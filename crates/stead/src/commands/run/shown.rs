//! Outputs as JSON and as text: tensors, sequences, optionals and maps.

use serde_json::{Map, Value as Json, json};
use stead_engine::Value;
use stead_tensor::{DType, Tensor};

use crate::values::{json_of, preview};

/// Maps of a sequence that a text has.
const SHOWN_MAPS: usize = 3;

/// An output for programs: a tensor with its type, shape and elements, a sequence as the list of its tensors, a map as an
/// object, several as a list of objects, and null for an optional in which there is nothing.
pub fn json(value: &Value<Tensor>) -> Json {
    match value {
        Value::Tensor(tensor) => json!({
            "datatype": tensor.dtype().name(),
            "shape": tensor.shape().dims(),
            "data": json_of(tensor.view()),
        }),
        Value::Sequence(tensors) => {
            let element = |tensor: &Tensor| json(&Value::Tensor(tensor.clone()));
            json!({"datatype": "sequence", "data": tensors.iter().map(element).collect::<Vec<_>>()})
        }
        Value::Map { keys, values } => {
            let maps = maps(keys, values);
            json!({"datatype": type_of(keys, values), "data": maps.into_iter().next()})
        }
        Value::Maps { keys, values } => {
            let datatype = format!("seq({})", type_of(keys, values));
            json!({"datatype": datatype, "data": maps(keys, values)})
        }
        Value::Nothing => json!({"datatype": "optional", "data": null}),
    }
}

/// An output for people: its type, and in the lines that follow the first elements.
pub fn text(value: &Value<Tensor>) -> String {
    match value {
        Value::Tensor(tensor) => {
            let (dtype, shape) = (tensor.dtype(), tensor.shape());
            format!("{dtype} {:?}\n  {}", shape.dims(), preview(tensor.view()))
        }
        Value::Sequence(tensors) => {
            let line = |tensor: &Tensor| format!("\n  {}", text(&Value::Tensor(tensor.clone())));
            let lines: String = tensors.iter().map(line).collect();
            format!("sequence of {}{lines}", tensors.len())
        }
        Value::Map { keys, values } => {
            let shown = maps(keys, values).into_iter().next().unwrap_or_default();
            format!("{}\n  {shown}", type_of(keys, values))
        }
        Value::Maps { keys, values } => {
            let maps = maps(keys, values);
            let dots = if maps.len() > SHOWN_MAPS { "\n  ..." } else { "" };
            let lines: String =
                maps.iter().take(SHOWN_MAPS).map(|map| format!("\n  {map}")).collect();
            let (count, of) = (maps.len(), type_of(keys, values));
            format!("{count} of {of}{lines}{dots}")
        }
        Value::Nothing => "nothing".to_owned(),
    }
}

fn type_of(keys: &Tensor, values: &Tensor) -> String {
    format!("map({},{})", keys.dtype(), values.dtype())
}

/// The maps of these keys, one for each row of values. JSON has strings for keys.
fn maps(keys: &Tensor, values: &Tensor) -> Vec<Json> {
    let names: Vec<String> = match keys.dtype() {
        DType::String => {
            let text = |key: &Vec<u8>| String::from_utf8_lossy(key).into_owned();
            keys.view().strings().iter().map(text).collect()
        }
        _ => keys.as_slice::<i64>().unwrap_or_default().iter().map(i64::to_string).collect(),
    };
    let Json::Array(values_of_all) = json_of(values.view()) else { return Vec::new() };
    let rows = match values.shape().dims() {
        [rows, _] => *rows,
        _ => 1,
    };
    let mut values = values_of_all.into_iter();
    let map = |_| {
        let map: Map<String, Json> = names.iter().cloned().zip(values.by_ref()).collect();
        Json::Object(map)
    };
    (0..rows).map(map).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[f32], dims: &[usize]) -> Tensor {
        Tensor::from_slice(values, dims).unwrap()
    }

    #[test]
    fn outputs_that_are_no_tensors_are_written() {
        let names = || Tensor::from_strings(vec![b"no".to_vec(), b"yes".to_vec()], &[2]).unwrap();
        let numbers = || Tensor::from_slice(&[-1i64, 1], &[2]).unwrap();
        let cases = [
            (
                Value::Maps { keys: names(), values: row(&[0.25, 0.75, 1.0, 0.0], &[2, 2]) },
                json!({"datatype": "seq(map(string,f32))", "data": [{"no": 0.25, "yes": 0.75}, {"no": 1.0, "yes": 0.0}]}),
                "2 of map(string,f32)\n  {\"no\":0.25,\"yes\":0.75}\n  {\"no\":1.0,\"yes\":0.0}",
            ),
            (
                Value::Maps { keys: names(), values: row(&[], &[0, 2]) },
                json!({"datatype": "seq(map(string,f32))", "data": []}),
                "0 of map(string,f32)",
            ),
            (
                Value::Map { keys: numbers(), values: row(&[0.25, 0.75], &[2]) },
                json!({"datatype": "map(i64,f32)", "data": {"-1": 0.25, "1": 0.75}}),
                "map(i64,f32)\n  {\"-1\":0.25,\"1\":0.75}",
            ),
            (
                Value::Sequence(vec![row(&[0.5], &[1])]),
                json!({"datatype": "sequence", "data": [{"datatype": "f32", "shape": [1], "data": [0.5]}]}),
                "sequence of 1\n  f32 [1]\n  [0.500000]",
            ),
            (Value::Nothing, json!({"datatype": "optional", "data": null}), "nothing"),
        ];
        for (value, expected, lines) in cases {
            assert_eq!(json(&value), expected);
            assert_eq!(text(&value), lines);
        }
    }
}
