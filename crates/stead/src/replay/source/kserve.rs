//! KServe's JSON as messages of its gRPC, so that one file replays over both.

use std::collections::BTreeMap;

use bytes::Bytes;
use half::{bf16, f16};
use serde_json::Value;
use stead_server::proto::kserve as pb;

/// The message for a request to `/v2/models/NAME[/versions/VERSION]/infer`.
///
/// # Errors
/// What of the request has no place in a message, or is none.
pub fn message(path: &str, body: &Bytes) -> Result<pb::ModelInferRequest, String> {
    let (model_name, model_version) = named(path).ok_or_else(|| {
        format!("--protocol grpc sends what goes to /v2/models/NAME/infer, not to {path}")
    })?;
    let body: Value = serde_json::from_slice(body).map_err(|e| format!("the body: {e}"))?;
    let members = body.as_object().ok_or("the body must be an object of JSON")?;
    if let Some(unknown) = members.keys().find(|key| !MEMBERS.contains(&key.as_str())) {
        return Err(format!("unknown `{unknown}` in the body"));
    }
    let list = |key: &str| body[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let (mut inputs, mut raw) = (Vec::new(), Vec::new());
    for tensor in list("inputs") {
        let text = |key: &str| tensor[key].as_str().unwrap_or_default().to_owned();
        let (name, datatype) = (text("name"), text("datatype"));
        let shape = tensor["shape"].as_array().map(Vec::as_slice).unwrap_or_default();
        let shape: Vec<i64> = shape.iter().filter_map(Value::as_i64).collect();
        let mut bytes = Vec::new();
        let data = tensor.get("data").ok_or_else(|| format!("input `{name}` has no `data`"))?;
        append(&datatype, data, &mut bytes).map_err(|text| format!("input `{name}`: {text}"))?;
        raw.push(bytes.into());
        let parameters = parameters(&tensor["parameters"])?;
        inputs.push(pb::model_infer_request::InferInputTensor {
            name,
            datatype,
            shape,
            parameters,
            ..Default::default()
        });
    }
    let outputs = list("outputs").iter().map(|output| {
        Ok(pb::model_infer_request::InferRequestedOutputTensor {
            name: output["name"].as_str().unwrap_or_default().to_owned(),
            parameters: parameters(&output["parameters"])?,
        })
    });
    Ok(pb::ModelInferRequest {
        model_name,
        model_version,
        id: body["id"].as_str().unwrap_or_default().to_owned(),
        parameters: parameters(&body["parameters"])?,
        inputs,
        outputs: outputs.collect::<Result<_, String>>()?,
        raw_input_contents: raw,
    })
}

const MEMBERS: [&str; 4] = ["id", "parameters", "inputs", "outputs"];

/// The model and the version of a path.
fn named(path: &str) -> Option<(String, String)> {
    let rest = path.strip_prefix("/v2/models/")?.strip_suffix("/infer")?;
    let (name, version) = rest.split_once("/versions/").unwrap_or((rest, ""));
    let is_plain = !name.is_empty() && !name.contains('/') && !version.contains('/');
    Some((decoded(name)?, decoded(version)?)).filter(|_| is_plain)
}

/// A segment of a path as text.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = segment;
    while let Some((plain, escaped)) = rest.split_once('%') {
        bytes.extend(plain.bytes());
        bytes.push(u8::from_str_radix(escaped.get(..2)?, 16).ok()?);
        rest = &escaped[2..];
    }
    bytes.extend(rest.bytes());
    String::from_utf8(bytes).ok()
}

fn parameters(value: &Value) -> Result<BTreeMap<String, pb::InferParameter>, String> {
    use pb::infer_parameter::ParameterChoice as Choice;
    let parameter = |(name, value): (&String, &Value)| {
        let choice = match value {
            Value::Bool(flag) => Choice::BoolParam(*flag),
            Value::String(text) => Choice::StringParam(text.clone()),
            Value::Number(number) if number.is_i64() => {
                Choice::Int64Param(number.as_i64().unwrap_or_default())
            }
            _ => return Err(format!("parameter `{name}` is no flag, whole number or text")),
        };
        if name.starts_with("binary_data") {
            return Err(format!("`{name}` is of HTTP; --protocol grpc takes `data` as JSON"));
        }
        Ok((name.clone(), pb::InferParameter { parameter_choice: Some(choice) }))
    };
    value.as_object().into_iter().flatten().map(parameter).collect()
}

/// Appends the elements of JSON, nested or not, as they stand in a message: little-endian, texts behind their lengths.
fn append(datatype: &str, data: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    if let Value::Array(parts) = data {
        return parts.iter().try_for_each(|part| append(datatype, part, out));
    }
    let wrong = || format!("{data} is no element of the type {datatype}");
    let real = || data.as_f64().ok_or_else(wrong);
    let signed = || data.as_i64().ok_or_else(wrong);
    macro_rules! whole {
        ($type:ty) => {
            <$type>::try_from(signed()?).map_err(|_| wrong())?.to_le_bytes().to_vec()
        };
    }
    out.extend(match datatype {
        "BOOL" => {
            vec![u8::from(data.as_bool().or(data.as_u64().map(|n| n != 0)).ok_or_else(wrong)?)]
        }
        "INT8" => whole!(i8),
        "INT16" => whole!(i16),
        "INT32" => whole!(i32),
        "INT64" => whole!(i64),
        "UINT8" => whole!(u8),
        "UINT16" => whole!(u16),
        "UINT32" => whole!(u32),
        "UINT64" => data.as_u64().ok_or_else(wrong)?.to_le_bytes().to_vec(),
        "FP16" => f16::from_f64(real()?).to_le_bytes().to_vec(),
        "BF16" => bf16::from_f64(real()?).to_le_bytes().to_vec(),
        "FP32" => (real()? as f32).to_le_bytes().to_vec(),
        "FP64" => real()?.to_le_bytes().to_vec(),
        "BYTES" => {
            let text = data.as_str().ok_or_else(wrong)?;
            let length = u32::try_from(text.len()).map_err(|_| wrong())?;
            [&length.to_le_bytes(), text.as_bytes()].concat()
        }
        other => return Err(format!("unknown type `{other}`")),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(path: &str, body: &Value) -> Result<pb::ModelInferRequest, String> {
        message(path, &body.to_string().into())
    }

    #[test]
    fn json_becomes_a_message() {
        let input = |datatype: &str, data: Value| json!({"inputs": [{"name": "x", "datatype": datatype, "shape": [2], "data": data}]});
        let cases: [(&str, Value, &[u8]); 8] = [
            ("FP32", json!([[1.0], [-2.0]]), &[0, 0, 128, 63, 0, 0, 0, 192]),
            (
                "INT64",
                json!([-1, 2]),
                &[255, 255, 255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 0, 0, 0],
            ),
            ("UINT8", json!([0, 255]), &[0, 255]),
            ("BOOL", json!([true, 0]), &[1, 0]),
            ("FP16", json!([1.0, 0.5]), &[0, 60, 0, 56]),
            ("BF16", json!([1.0, 0.5]), &[128, 63, 0, 63]),
            ("BYTES", json!(["a", "bc"]), b"\x01\0\0\0a\x02\0\0\0bc"),
            ("UINT64", json!([u64::MAX]), &[255; 8]),
        ];
        for (datatype, data, expected) in cases {
            let message = of("/v2/models/m/infer", &input(datatype, data)).unwrap();
            assert_eq!(message.raw_input_contents, [expected], "{datatype}");
            assert_eq!((&*message.inputs[0].name, &*message.inputs[0].shape), ("x", &[2][..]));
        }
        let body = json!({"id": "7", "inputs": [], "outputs": [{"name": "y"}],
            "parameters": {"sequence_id": 3, "sequence_start": true, "k": "v"}});
        let message = of("/v2/models/a%20b/versions/2/infer", &body).unwrap();
        assert_eq!(
            (&*message.model_name, &*message.model_version, &*message.id),
            ("a b", "2", "7")
        );
        assert_eq!((message.parameters.len(), &*message.outputs[0].name), (3, "y"));
    }

    #[test]
    fn what_has_no_place_in_a_message_is_refused() {
        let input = |datatype: &str, data: Value| json!({"inputs": [{"name": "x", "datatype": datatype, "shape": [1], "data": data}]});
        let infer = "/v2/models/m/infer";
        for (label, path, body, expected) in [
            ("a search", "/search/", json!({}), "not to /search/"),
            ("no name", "/v2/models//infer", json!({}), "not to"),
            ("a range", infer, input("INT8", json!([300])), "300 is no element of the type INT8"),
            ("a type", infer, input("FP8", json!([1])), "unknown type `FP8`"),
            ("text", infer, input("FP32", json!(["1"])), "no element"),
            ("no data", infer, json!({"inputs": [{"name": "x"}]}), "has no `data`"),
            ("binary", infer, json!({"parameters": {"binary_data_output": true}}), "is of HTTP"),
            ("a list", infer, json!({"parameters": {"a": [1]}}), "is no flag"),
            ("an unknown member", infer, json!({"input": []}), "unknown `input`"),
            ("no object", infer, json!([]), "an object"),
        ] {
            let found = of(path, &body).unwrap_err();
            assert!(found.contains(expected), "{label}: {found}");
        }
    }
}
