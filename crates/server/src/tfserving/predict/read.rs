//! From a body to the inputs of a model.

use super::values::Values;
use super::{Format, PredictBody};
use crate::fault::Fault;
use crate::json::{JsonError, Kind, Reader};
use crate::tfserving::special::one_for_all;
use bytes::Bytes;
use stead_node::{ErrorKind, ModelMetadata, TensorInfo};
use stead_tensor::Tensor;

/// Parses a body with the model's inputs at hand, whose types decide how numbers are read.
///
/// # Errors
/// Bodies that are no JSON, have neither `instances` nor `inputs`, name inputs that the model lacks, or whose
/// arrays are ragged or hold other values than the type takes.
pub fn parse_predict(body: &Bytes, metadata: &ModelMetadata) -> Result<PredictBody, Fault> {
    let mut reader = Reader::new(body);
    let mut parsed: Option<PredictBody> = None;
    reader.object::<Fault>(|r, key| {
        let format = match key {
            "instances" => Format::Row,
            "inputs" => Format::Column,
            _ => {
                r.skip()?;
                return Ok(());
            }
        };
        if parsed.is_some() {
            return Err(Fault::invalid(
                "Invalid JSON structure. Only one of instances and inputs may be given",
            ));
        }
        let inputs = match format {
            Format::Row => read_rows(r, metadata)?,
            Format::Column => read_columns(r, metadata)?,
        };
        parsed = Some(PredictBody { format, inputs });
        Ok(())
    })?;
    reader.end()?;
    parsed.ok_or_else(|| {
        Fault::invalid("Invalid JSON structure. Could not detect row or column format")
    })
}

fn find<'m>(metadata: &'m ModelMetadata, name: &str) -> Result<&'m TensorInfo, Fault> {
    let special = &metadata.special_inputs;
    metadata.inputs.iter().chain(special).find(|i| i.name == name).ok_or_else(|| {
        let known: Vec<&str> = metadata.inputs.iter().map(|i| i.name.as_str()).collect();
        ErrorKind::UnexpectedInput {
            model: metadata.name.clone(),
            input: name.chars().take(256).collect(),
            known: known.join(", "),
        }
        .into()
    })
}

/// The one input of a model, for requests that do not name it.
fn only(metadata: &ModelMetadata) -> Result<&TensorInfo, Fault> {
    match metadata.inputs.as_slice() {
        [input] => Ok(input),
        inputs => Err(Fault::invalid(format!(
            "model {} has {} inputs: the request must name them",
            metadata.name,
            inputs.len()
        ))),
    }
}

fn slot<'v, 'm>(
    values: &'v mut Vec<Values<'m>>,
    info: &'m TensorInfo,
) -> Option<&'v mut Values<'m>> {
    let index = match values.iter().position(|v| v.info.name == info.name) {
        Some(index) => index,
        None => {
            values.push(Values::new(info));
            values.len() - 1
        }
    };
    values.get_mut(index)
}

fn read_rows(
    reader: &mut Reader<'_>,
    metadata: &ModelMetadata,
) -> Result<Vec<(String, Tensor)>, Fault> {
    let mut values: Vec<Values<'_>> = Vec::new();
    let mut rows = 0usize;
    let uneven =
        || Fault::invalid("Invalid JSON structure. Request inputs have different batch sizes");
    reader.array::<Fault>(|r| {
        rows += 1;
        if r.peek()? == Kind::Object && !is_base64(r) {
            r.object::<Fault>(|r, name| {
                let info = find(metadata, name)?;
                match slot(&mut values, info) {
                    // Each row must hold each input once.
                    Some(v) if v.pieces + 1 == rows => v.read(r, "instance"),
                    _ => Err(uneven()),
                }
            })
        } else {
            let info = only(metadata)?;
            match slot(&mut values, info) {
                Some(v) => v.read(r, "instance"),
                None => Ok(()),
            }
        }
    })?;
    if values.iter().any(|v| v.pieces != rows) {
        return Err(uneven());
    }
    if rows == 0 {
        return Err(Fault::invalid("Invalid JSON structure. instances is an empty list"));
    }
    let mut inputs: Vec<(String, Tensor)> =
        values.into_iter().map(|v| v.finish(Format::Row)).collect::<Result<_, Fault>>()?;
    for (name, tensor) in &mut inputs {
        if metadata.special_inputs.iter().any(|i| i.name == *name) {
            *tensor = one_for_all(name, tensor)?;
        }
    }
    Ok(inputs)
}

fn read_columns(
    reader: &mut Reader<'_>,
    metadata: &ModelMetadata,
) -> Result<Vec<(String, Tensor)>, Fault> {
    let mut values: Vec<Values<'_>> = Vec::new();
    if reader.peek()? == Kind::Object && !is_base64(reader) {
        reader.object::<Fault>(|r, name| {
            let info = find(metadata, name)?;
            match slot(&mut values, info) {
                Some(v) if v.pieces == 0 => v.read(r, "input"),
                _ => Err(ErrorKind::DuplicateInput { input: info.name.clone() }.into()),
            }
        })?;
    } else if let Some(v) = slot(&mut values, only(metadata)?) {
        v.read(reader, "input")?;
    }
    values.into_iter().map(|v| v.finish(Format::Column)).collect()
}

/// Whether the object that comes next is `{"b64": ...}` and not a list of inputs.
fn is_base64(reader: &Reader<'_>) -> bool {
    let mut probe = reader.clone();
    let mut found = false;
    let _ = probe.object::<JsonError>(|r, key| {
        found = key == "b64";
        // One member is enough to tell.
        Err(r.wrong_kind("nothing"))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_node::Code;
    use stead_tensor::DType;

    fn model(inputs: &[(&str, DType)]) -> ModelMetadata {
        let info = |&(name, dtype): &(&str, DType)| TensorInfo {
            name: name.into(),
            dtype,
            shape: vec![-1],
            optional: false,
        };
        ModelMetadata {
            name: "m".into(),
            version: 1,
            versions: vec![1],
            platform: "onnx".into(),
            inputs: inputs.iter().map(info).collect(),
            special_inputs: Vec::new(),
            outputs: vec![],
        }
    }

    #[test]
    fn bodies() {
        let one = model(&[("x", DType::F32)]);
        let two = model(&[("x", DType::F32), ("n", DType::I64)]);
        let text = model(&[("s", DType::String)]);
        let f = |v: &[f32], dims: &[usize]| Tensor::from_slice(v, dims).unwrap();
        let cases: Vec<(&ModelMetadata, &str, Result<Vec<Tensor>, &str>)> = vec![
            (&one, r#"{"instances":[1,2]}"#, Ok(vec![f(&[1., 2.], &[2])])),
            (&one, r#"{"instances":[[1,2],[3,4]]}"#, Ok(vec![f(&[1., 2., 3., 4.], &[2, 2])])),
            (&one, r#"{"instances":[{"x":[1]},{"x":[2]}]}"#, Ok(vec![f(&[1., 2.], &[2, 1])])),
            (
                &two,
                r#"{"signature_name":"s","instances":[{"x":1,"n":5},{"n":6,"x":2}]}"#,
                Ok(vec![f(&[1., 2.], &[2]), Tensor::from_slice(&[5i64, 6], &[2]).unwrap()]),
            ),
            (&one, r#"{"inputs":[[NaN],[1e3]]}"#, Err("")),
            (&one, r#"{"inputs":{"x":[[1],[2]]}}"#, Ok(vec![f(&[1., 2.], &[2, 1])])),
            (&one, r#"{"inputs":7}"#, Ok(vec![f(&[7.], &[])])),
            (
                &text,
                r#"{"inputs":["a",{"b64":"/w=="},{"b64":"YQ"}]}"#,
                Ok(vec![
                    Tensor::from_strings(vec![b"a".into(), vec![255], b"a".into()], &[3]).unwrap(),
                ]),
            ),
            (
                &text,
                r#"{"instances":[{"b64":"YQ=="},{"s":"b"}]}"#,
                Ok(vec![Tensor::from_strings(vec![b"a".into(), b"b".into()], &[2]).unwrap()]),
            ),
            (&one, r#"{}"#, Err("row or column")),
            (&one, r#"[]"#, Err("object expected")),
            (&one, r#"{"#, Err("not valid json")),
            (&one, r#"{"instances":[[1],[2,3]]}"#, Err("different shapes")),
            (&one, r#"{"inputs":[[1],[2,3]]}"#, Err("parse input content")),
            (&one, r#"{"instances":["a"]}"#, Err("parse instance content")),
            (&one, r#"{"instances":[]}"#, Err("empty list")),
            (&one, r#"{"instances":[1],"inputs":[1]}"#, Err("Only one")),
            (&one, r#"{"inputs":{"y":1}}"#, Err("no input 'y'")),
            (&one, r#"{"inputs":{"x":1,"x":2}}"#, Err("Duplicate")),
            (&two, r#"{"instances":[1]}"#, Err("must name")),
            (&two, r#"{"instances":[{"x":1},{"n":1}]}"#, Err("batch sizes")),
            (&two, r#"{"instances":[{"x":1,"n":1},{"n":1}]}"#, Err("batch sizes")),
            (&two, r#"{"inputs":{"n":[1.5]}}"#, Err("out of range")),
            (&text, r#"{"inputs":[{"b64":"!"}]}"#, Err("b64")),
        ];
        for (model, body, expected) in cases {
            let got = parse_predict(&Bytes::copy_from_slice(body.as_bytes()), model);
            match (got, expected) {
                (Ok(got), Ok(expected)) => {
                    let tensors: Vec<Tensor> = got.inputs.into_iter().map(|(_, t)| t).collect();
                    assert_eq!(tensors, expected, "{body}");
                }
                (Ok(got), Err("")) => {
                    let v: &[f32] = got.inputs[0].1.as_slice().unwrap();
                    assert!(v[0].is_nan() && v[1] == 1000.0, "{body}");
                }
                (Err(e), Err(text)) => assert!(e.0.to_string().contains(text), "{body}: {}", e.0),
                (got, expected) => panic!("{body}: {got:?}, expected {expected:?}"),
            }
        }
        let deep = format!("{{\"inputs\":{}", "[".repeat(100_000));
        let fault = parse_predict(&deep.into(), &one).unwrap_err();
        assert_eq!(fault.0.code, Code::InvalidJson);
    }
}
