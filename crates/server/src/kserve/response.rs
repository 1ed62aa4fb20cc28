//! The answer to `POST .../infer`: JSON and, behind it, binary tensors.

use super::classify::classify;
use super::datatype::datatype_name;
use super::request::WantedOutput;
use crate::fault::Fault;
use crate::json::{write_number, write_str};
use crate::tensors::{append_json_flat, append_raw, is_json, raw_len};
use stead_node::{InferResponse, Param, Parameters};

/// An encoded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedInfer {
    /// JSON and binary tensors.
    pub body: Vec<u8>,
    /// Bytes of JSON, when binary tensors follow.
    pub json_len: Option<usize>,
}

/// Encodes an answer with members in Triton's order. `wanted` are the outputs asked for (empty for all),
/// `binary_default` is how the others are answered, `batched` whether axis 0 is a batch (for classes).
///
/// # Errors
/// Tensors that JSON cannot carry.
pub fn encode_infer(
    response: &InferResponse,
    wanted: &[WantedOutput],
    binary_default: bool,
    batched: bool,
) -> Result<EncodedInfer, Fault> {
    let values: usize = response.outputs.iter().map(|(_, t)| t.shape().elements()).sum();
    let mut out = Vec::with_capacity(192 + values * 10);
    let mut binary = Vec::new();
    out.push(b'{');
    if !response.id.is_empty() {
        out.extend_from_slice(b"\"id\":");
        write_str(&mut out, &response.id);
        out.push(b',');
    }
    out.extend_from_slice(b"\"model_name\":");
    write_str(&mut out, &response.model);
    out.extend_from_slice(b",\"model_version\":\"");
    write_number(&mut out, response.version);
    out.push(b'"');
    if !response.parameters.is_empty() {
        out.extend_from_slice(b",\"parameters\":");
        write_parameters(&mut out, &response.parameters);
    }
    out.extend_from_slice(b",\"outputs\":[");
    let stateful = response.parameters.contains_key("sequence_id");
    for (i, (name, tensor)) in response.outputs.iter().enumerate() {
        let want = wanted.iter().find(|w| w.name == *name);
        let classes = want.and_then(|w| w.classes);
        let classified = classes.map(|k| classify(tensor, k, batched)).transpose()?;
        let tensor = classified.as_ref().unwrap_or(tensor);
        if i > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"name\":");
        write_str(&mut out, name);
        out.extend_from_slice(b",\"datatype\":");
        write_str(&mut out, &datatype_name(tensor.dtype()));
        out.extend_from_slice(b",\"shape\":[");
        for (i, &d) in tensor.shape().dims().iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            write_number(&mut out, d as u64);
        }
        out.push(b']');
        // A step of a sequence that was done must have its answer, in whatever form can hold it.
        let forced = stateful && !is_json(tensor);
        if forced || want.and_then(|w| w.binary).unwrap_or(binary_default) {
            out.extend_from_slice(b",\"parameters\":{\"binary_data_size\":");
            write_number(&mut out, raw_len(tensor) as u64);
            out.push(b'}');
            binary.push(tensor.clone());
        } else {
            out.extend_from_slice(b",\"data\":");
            append_json_flat(&mut out, tensor).map_err(|e| e.at(&format!("output '{name}'")))?;
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    let json_len = (!binary.is_empty()).then_some(out.len());
    for tensor in &binary {
        append_raw(&mut out, tensor);
    }
    Ok(EncodedInfer { body: out, json_len })
}

fn write_parameters(out: &mut Vec<u8>, parameters: &Parameters) {
    out.push(b'{');
    for (i, (name, value)) in parameters.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_str(out, name);
        out.push(b':');
        // Writing to a Vec cannot fail; floats that are not finite become null.
        let _ = match value {
            Param::Bool(v) => serde_json::to_writer(&mut *out, v),
            Param::I64(v) => serde_json::to_writer(&mut *out, v),
            Param::U64(v) => serde_json::to_writer(&mut *out, v),
            Param::F64(v) => serde_json::to_writer(&mut *out, v),
            Param::Str(v) => serde_json::to_writer(&mut *out, v),
        };
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_tensor::Tensor;

    fn response() -> InferResponse {
        InferResponse {
            model: "acc".into(),
            version: 1,
            id: "req-7".into(),
            outputs: vec![("OUTPUT".into(), Tensor::from_slice(&[3.5f32], &[1, 1]).unwrap())],
            parameters: Parameters::new(),
        }
    }

    #[test]
    fn json_as_triton_writes_it() {
        let encoded = encode_infer(&response(), &[], false, false).unwrap();
        assert_eq!(encoded.json_len, None);
        assert_eq!(
            String::from_utf8(encoded.body).unwrap(),
            r#"{"id":"req-7","model_name":"acc","model_version":"1","outputs":[{"name":"OUTPUT","datatype":"FP32","shape":[1,1],"data":[3.5]}]}"#
        );
    }

    #[test]
    fn binary_as_triton_writes_it() {
        let mut response = response();
        response.id.clear();
        let encoded = encode_infer(&response, &[], true, false).unwrap();
        let json = r#"{"model_name":"acc","model_version":"1","outputs":[{"name":"OUTPUT","datatype":"FP32","shape":[1,1],"parameters":{"binary_data_size":4}}]}"#;
        assert_eq!(encoded.json_len, Some(json.len()));
        assert_eq!(encoded.body, [json.as_bytes(), b"\0\0\x60\x40"].concat());
        let want = WantedOutput { name: "OUTPUT".into(), binary: Some(false), classes: None };
        assert_eq!(encode_infer(&response, &[want], true, false).unwrap().json_len, None);
    }
}
