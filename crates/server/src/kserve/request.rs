//! The body of `POST .../infer`: a JSON part and, behind it, binary tensors.

use super::datatype::dtype_of;
use super::parameters::{check_parameters, read_parameters, take_deadline};
use crate::fault::Fault;
use crate::json::Reader;
use crate::tensors::{shape_of, tensor_from_json_flat, tensor_from_raw};
use bytes::Bytes;
use std::time::Instant;
use stead_node::{ModelMetadata, Param, Parameters};
use stead_tensor::{DType, Shape, Tensor};

/// An output that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedOutput {
    /// Its name.
    pub name: String,
    /// Whether it is wanted as raw bytes; `None` when the request's default holds.
    pub binary: Option<bool>,
    /// The number of best classes wanted instead of the tensor.
    pub classes: Option<u64>,
}

/// A parsed inference request.
#[derive(Debug, Clone, Default)]
pub struct ParsedInfer {
    /// The caller's id; may be empty.
    pub id: String,
    /// Parameters for the node.
    pub parameters: Parameters,
    /// When the answer is of no more use.
    pub deadline: Option<Instant>,
    /// Inputs in the order given.
    pub inputs: Vec<(String, Tensor)>,
    /// Outputs in the order wanted; empty means all.
    pub outputs: Vec<WantedOutput>,
    /// Whether outputs are answered as raw bytes unless they say otherwise.
    pub binary_default: bool,
}

/// One input of the JSON part, before its data is known.
#[derive(Default)]
struct InputHead<'a> {
    name: String,
    dtype: Option<DType>,
    shape: Option<Shape>,
    parameters: Parameters,
    /// Data that stood in front of the type or the shape.
    later: Option<&'a [u8]>,
    tensor: Option<Tensor>,
}

/// Parses a body whose first `json_len` bytes are JSON.
///
/// # Errors
/// Text that is no JSON, members of a wrong type, tensors whose data does not fit their shape, binary data
/// that is missing or left over.
pub fn parse_infer(body: &Bytes, json_len: usize) -> Result<ParsedInfer, Fault> {
    let text =
        body.get(..json_len).ok_or_else(|| Fault::invalid("body shorter than its header"))?;
    let mut parsed = ParsedInfer::default();
    let mut inputs: Option<Vec<InputHead<'_>>> = None;
    let mut reader = Reader::new(text);
    reader.object::<Fault>(|r, key| {
        match key {
            "id" => parsed.id = r.string().map_err(|e| Fault::from(e).at("id"))?.into_owned(),
            "parameters" => parsed.parameters = read_parameters(r)?,
            "inputs" => {
                let list = inputs.insert(Vec::new());
                r.array::<Fault>(|r| {
                    list.push(read_input(r)?);
                    Ok(())
                })?;
            }
            "outputs" => {
                parsed.outputs.clear();
                r.array::<Fault>(|r| {
                    parsed.outputs.push(read_output(r)?);
                    Ok(())
                })?;
            }
            _ => drop(r.skip()?),
        }
        Ok(())
    })?;
    reader.end()?;
    let inputs = inputs.ok_or_else(|| Fault::invalid("request has no member 'inputs'"))?;
    check_parameters(&mut parsed.parameters)?;
    parsed.deadline = take_deadline(&mut parsed.parameters);
    parsed.binary_default =
        parsed.parameters.remove("binary_data_output") == Some(Param::Bool(true));
    let mut offset = json_len;
    for input in inputs {
        let (name, tensor) = finish_input(input, body, &mut offset)?;
        parsed.inputs.push((name, tensor));
    }
    if offset != body.len() {
        return Err(Fault::invalid(format!(
            "{} bytes of binary data belong to no input",
            body.len() - offset
        )));
    }
    Ok(parsed)
}

fn read_input<'a>(reader: &mut Reader<'a>) -> Result<InputHead<'a>, Fault> {
    let mut input = InputHead::default();
    // The closure sees the reader with a shorter lifetime than the text, so raw text is kept as a range.
    let mut later: Option<&'a [u8]> = None;
    reader.object::<Fault>(|r, key| {
        match key {
            "name" => input.name = r.string().map_err(|e| Fault::from(e).at("name"))?.into_owned(),
            "datatype" => {
                let name = r.string()?;
                let dtype = dtype_of(&name).ok_or_else(|| {
                    Fault::invalid(format!("invalid datatype for input {}", input.name))
                })?;
                input.dtype = Some(dtype);
            }
            "shape" => {
                let mut dims = Vec::new();
                r.array::<Fault>(|r| {
                    dims.push(r.number::<i64>()?);
                    Ok(())
                })?;
                input.shape = Some(shape_of(&dims).map_err(|e| e.at("shape"))?);
            }
            "parameters" => input.parameters = read_parameters(r)?,
            "data" => match (input.dtype, input.shape) {
                (Some(dtype), Some(shape)) => {
                    let tensor = tensor_from_json_flat(r, dtype, shape)
                        .map_err(|e| e.at(&format!("data of input '{}'", input.name)))?;
                    input.tensor = Some(tensor);
                }
                _ => later = Some(r.skip()?),
            },
            _ => drop(r.skip()?),
        }
        Ok(())
    })?;
    input.later = later;
    if input.name.is_empty() {
        return Err(Fault::invalid("input without a name"));
    }
    Ok(input)
}

fn finish_input(
    input: InputHead<'_>,
    body: &Bytes,
    offset: &mut usize,
) -> Result<(String, Tensor), Fault> {
    let InputHead { name, dtype, shape, parameters, later, tensor } = input;
    let missing = |what: &str| Fault::invalid(format!("input '{name}' has no {what}"));
    let dtype = dtype.ok_or_else(|| missing("datatype"))?;
    let shape = shape.ok_or_else(|| missing("shape"))?;
    let place = || format!("data of input '{name}'");
    if parameters.contains_key("shared_memory_region") {
        return Err(Fault::unimplemented(format!(
            "input '{name}' names a shared memory region: shared memory is not served"
        )));
    }
    let size = match parameters.get("binary_data_size") {
        None => None,
        Some(Param::U64(size)) => Some(*size),
        Some(_) => {
            return Err(Fault::invalid(format!(
                "parameter 'binary_data_size' of input '{name}' must be an unsigned integer"
            )));
        }
    };
    let tensor = match (tensor, later, size) {
        (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            return Err(Fault::invalid(format!("input '{name}' has both data and binary data")));
        }
        (Some(tensor), ..) => tensor,
        (None, Some(text), None) => tensor_from_json_flat(&mut Reader::new(text), dtype, shape)
            .map_err(|e| e.at(&place()))?,
        (None, None, Some(size)) => {
            let end = usize::try_from(size).ok().and_then(|size| offset.checked_add(size));
            let end = end.filter(|&end| end <= body.len()).ok_or_else(|| {
                Fault::invalid(format!(
                    "unexpected size for input '{name}': {size} bytes expected, {} left",
                    body.len() - *offset
                ))
            })?;
            let bytes = body.slice(*offset..end);
            *offset = end;
            tensor_from_raw(dtype, shape, bytes).map_err(|e| e.at(&place()))?
        }
        (None, None, None) => return Err(missing("data and no binary data")),
    };
    Ok((name, tensor))
}

fn read_output(reader: &mut Reader<'_>) -> Result<WantedOutput, Fault> {
    let mut name = String::new();
    let mut parameters = Parameters::new();
    reader.object::<Fault>(|r, key| {
        match key {
            "name" => name = r.string().map_err(|e| Fault::from(e).at("name"))?.into_owned(),
            "parameters" => parameters = read_parameters(r)?,
            _ => drop(r.skip()?),
        }
        Ok(())
    })?;
    wanted_output(name, &parameters)
}

/// An output with its parameters checked.
///
/// # Errors
/// An empty name, values of a wrong type, shared memory.
pub fn wanted_output(name: String, parameters: &Parameters) -> Result<WantedOutput, Fault> {
    if name.is_empty() {
        return Err(Fault::invalid("output without a name"));
    }
    let wrong = |parameter: &str, expected: &str| {
        Err(Fault::invalid(format!(
            "parameter '{parameter}' of output '{name}' must be {expected}"
        )))
    };
    let binary = match parameters.get("binary_data") {
        None => None,
        Some(Param::Bool(binary)) => Some(*binary),
        Some(_) => return wrong("binary_data", "a boolean"),
    };
    let classes = match parameters.get("classification") {
        None => None,
        Some(Param::U64(n)) => Some(*n).filter(|&n| n > 0),
        Some(Param::I64(n)) if *n >= 0 => Some(n.unsigned_abs()).filter(|&n| n > 0),
        Some(_) => return wrong("classification", "an unsigned integer"),
    };
    if parameters.contains_key("shared_memory_region") {
        return Err(Fault::unimplemented(format!(
            "output '{name}' names a shared memory region: shared memory is not served"
        )));
    }
    Ok(WantedOutput { name, binary, classes })
}

/// A request whose whole body is the data of the model's one input, as Triton reads an
/// `Inference-Header-Content-Length` of 0. The shape follows from the model: at most one dimension may be
/// free. All outputs are answered as raw bytes.
///
/// # Errors
/// Models with another number of inputs or more free dimensions, and sizes that do not fit.
pub fn parse_raw(body: Bytes, metadata: &ModelMetadata) -> Result<ParsedInfer, Fault> {
    let [input] = metadata.inputs.as_slice() else {
        return Err(Fault::invalid(format!(
            "a raw binary request needs a model with one input; model '{}' has {}",
            metadata.name,
            metadata.inputs.len()
        )));
    };
    let mut dims: Vec<i64> = input.shape.clone();
    let free: Vec<usize> = (0..dims.len()).filter(|&i| dims.get(i) == Some(&-1)).collect();
    if input.dtype == DType::String {
        let one = dims.iter().all(|&d| d == 1 || d == -1);
        if !one {
            return Err(Fault::invalid("a raw binary request needs a shape of one string"));
        }
        let shape = Shape::new(&vec![1; dims.len()])?;
        let tensor = tensor_from_raw(input.dtype, shape, body)?;
        return Ok(raw_request(input.name.clone(), tensor));
    }
    // With several free dimensions the first is taken for the batch, of which there is one.
    let (one, rest) = match free.as_slice() {
        [] => (None, None),
        [axis] => (None, Some(*axis)),
        [batch, axis] if *batch == 0 => (Some(*batch), Some(*axis)),
        _ => return Err(Fault::invalid("a raw binary request needs at most one free dimension")),
    };
    if let Some(d) = one.and_then(|axis| dims.get_mut(axis)) {
        *d = 1;
    }
    if let Some(axis) = rest {
        let others: i64 = dims.iter().filter(|&&d| d >= 0).product();
        let row = usize::try_from(others).unwrap_or(0).saturating_mul(input.dtype.size()).max(1);
        if let (Some(d), Ok(n)) = (dims.get_mut(axis), i64::try_from(body.len() / row)) {
            *d = n.max(1);
        }
    }
    let shape = shape_of(&dims)?;
    let tensor = tensor_from_raw(input.dtype, shape, body).map_err(|e| e.at("raw_input"))?;
    Ok(raw_request(input.name.clone(), tensor))
}

fn raw_request(name: String, tensor: Tensor) -> ParsedInfer {
    ParsedInfer { inputs: vec![(name, tensor)], binary_default: true, ..ParsedInfer::default() }
}

/// The length of the JSON part by the header `Inference-Header-Content-Length`; `Ok(None)` for a raw binary
/// request (0).
///
/// # Errors
/// A value that is no number from 0 to the length of the body.
pub fn json_length(header: Option<&str>, body: usize) -> Result<Option<usize>, Fault> {
    let Some(text) = header else { return Ok(Some(body)) };
    match text.trim().parse::<usize>() {
        Ok(0) => Ok(None),
        Ok(length) if length <= body => Ok(Some(length)),
        _ => Err(Fault::invalid(format!(
            "inference header size should be in range (0, {body}), got: {}",
            text.chars().take(32).collect::<String>()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ParsedInfer, Fault> {
        parse_infer(&Bytes::copy_from_slice(text.as_bytes()), text.len())
    }

    #[test]
    fn json_requests() {
        let ok = parse(
            r#"{"id":"7","inputs":[{"name":"x","shape":[2,1],"datatype":"FP32","data":[[1],[2.5]]},
            {"name":"y","data":[true],"shape":[1],"datatype":"BOOL"}],
            "outputs":[{"name":"z","parameters":{"binary_data":false}},{"name":"w"}],
            "parameters":{"mine":1,"binary_data_output":true},"unknown":[{}]}"#,
        )
        .unwrap();
        assert_eq!(ok.id, "7");
        assert_eq!(ok.inputs[0].1, Tensor::from_slice(&[1.0f32, 2.5], &[2, 1]).unwrap());
        assert_eq!(ok.inputs[1].1.bytes(), [1]);
        assert_eq!(ok.outputs[0].binary, Some(false));
        assert_eq!(ok.outputs[1].binary, None);
        assert!(ok.binary_default);
        assert_eq!(ok.parameters.len(), 1);
    }

    #[test]
    fn wrong_requests() {
        let input = |rest: &str| format!(r#"{{"inputs":[{{"name":"x",{rest}}}]}}"#);
        let cases = [
            ("[]".to_owned(), "object expected"),
            ("{".to_owned(), "not valid json"),
            ("{}".to_owned(), "no member 'inputs'"),
            (input(r#""shape":[1],"datatype":"FOO","data":[1]"#), "invalid datatype"),
            (input(r#""shape":[1],"data":[1]"#), "no datatype"),
            (input(r#""datatype":"FP32","data":[1]"#), "no shape"),
            (input(r#""shape":[1],"datatype":"FP32""#), "no data"),
            (input(r#""shape":[-1],"datatype":"FP32","data":[1]"#), "negative"),
            (input(r#""shape":[1.5],"datatype":"FP32","data":[1]"#), "out of range"),
            (input(r#""shape":[1],"datatype":"FP32","data":[]"#), "1 values expected"),
            (input(r#""shape":[1],"datatype":"FP32","data":[1,2]"#), "1 values expected"),
            (input(r#""shape":[1],"datatype":"FP32","data":["a"]"#), "number expected"),
            (input(r#""shape":[1],"datatype":"UINT8","data":[256]"#), "out of range"),
            (input(r#""shape":[16,1152921504606846978],"datatype":"FP32","data":[1]"#), "too many"),
            (input(r#""shape":[4,1000000000],"datatype":"FP32","data":[1]"#), "JSON can hold"),
            (
                input(r#""shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}"#),
                "unexpected size",
            ),
            (
                input(
                    r#""shape":[1],"datatype":"FP32","data":[1],"parameters":{"binary_data_size":0}"#,
                ),
                "both",
            ),
            (
                input(r#""shape":[1],"datatype":"FP32","parameters":{"shared_memory_region":"r"}"#),
                "shared memory",
            ),
            (r#"{"inputs":[],"outputs":[{}]}"#.to_owned(), "output without a name"),
            ("[".repeat(100_000), "object expected"),
            (format!(r#"{{"a":{}"#, "[".repeat(100_000)), "nesting depth"),
        ];
        for (text, expected) in cases {
            let got = parse(&text).unwrap_err().0.to_string();
            assert!(got.contains(expected), "{}: {got}", text.chars().take(80).collect::<String>());
        }
    }

    #[test]
    fn binary_inputs_follow_the_json_in_order() {
        let json = r#"{"inputs":[
            {"name":"a","shape":[1],"datatype":"INT16","parameters":{"binary_data_size":2}},
            {"name":"j","shape":[1],"datatype":"INT16","data":[9]},
            {"name":"b","shape":[2],"datatype":"BYTES","parameters":{"binary_data_size":9}}]}"#;
        let mut body = json.as_bytes().to_vec();
        body.extend_from_slice(b"\x05\x00\x01\0\0\0x\0\0\0\0");
        let parsed = parse_infer(&body.clone().into(), json.len()).unwrap();
        assert_eq!(parsed.inputs[0].1, Tensor::from_slice(&[5i16], &[1]).unwrap());
        assert_eq!(parsed.inputs[2].1.view().strings(), [b"x".to_vec(), vec![]]);
        body.push(0);
        assert!(parse_infer(&body.clone().into(), json.len()).is_err(), "left over");
        body.truncate(json.len() + 10);
        assert!(parse_infer(&body.into(), json.len()).is_err(), "too short");
    }

    #[test]
    fn header_lengths() {
        let cases = [
            (None, Ok(Some(10))),
            (Some("4"), Ok(Some(4))),
            (Some("10"), Ok(Some(10))),
            (Some("0"), Ok(None)),
            (Some("11"), Err(())),
            (Some("-5"), Err(())),
            (Some("abc"), Err(())),
            (Some("99999999999999999999"), Err(())),
        ];
        for (header, expected) in cases {
            assert_eq!(json_length(header, 10).map_err(drop), expected, "{header:?}");
        }
    }
}
