//! `ModelInferRequest` and `ModelInferResponse` to and from the node's terms.

use super::classify::classify;
use super::datatype::{datatype_name, dtype_of};
use super::parameters::{check_parameters, take_deadline};
use super::request::{ParsedInfer, WantedOutput, wanted_output};
use crate::fault::Fault;
use crate::proto::kserve as pb;
use crate::tensors::{raw_bytes, shape_of, tensor_from_raw};
use bytes::Bytes;
use pb::infer_parameter::ParameterChoice;
use pb::model_infer_request::InferInputTensor;
use std::collections::BTreeMap;
use stead_node::{InferResponse, Param, Parameters};
use stead_tensor::{AlignedBuf, Bool, DType, Element, Shape, Tensor};

type PbParameters = BTreeMap<String, pb::InferParameter>;

/// Reads parameters. The Python clients write unsigned values as signed ones, so those that are known to be
/// unsigned are taken back (a negative sequence id wraps, as in Triton).
fn parameters(list: PbParameters) -> Result<Parameters, Fault> {
    list.into_iter()
        .map(|(name, value)| {
            let value = match value.parameter_choice {
                Some(ParameterChoice::BoolParam(v)) => Param::Bool(v),
                Some(ParameterChoice::Int64Param(v)) if name == "sequence_id" => {
                    Param::U64(v.cast_unsigned())
                }
                Some(ParameterChoice::Int64Param(v)) => match u64::try_from(v) {
                    Ok(v) => Param::U64(v),
                    Err(_) => Param::I64(v),
                },
                Some(ParameterChoice::Uint64Param(v)) => Param::U64(v),
                Some(ParameterChoice::DoubleParam(v)) => Param::F64(v),
                Some(ParameterChoice::StringParam(v)) => Param::Str(v),
                None => return Err(Fault::invalid(format!("parameter '{name}' has no value"))),
            };
            Ok((name.into(), value))
        })
        .collect()
}

/// Parses a request.
///
/// # Errors
/// Tensors whose data does not fit their shape, data given both ways, entries of `raw_input_contents` that
/// are missing or left over.
pub fn parse_message(request: pb::ModelInferRequest) -> Result<ParsedInfer, Fault> {
    let mut parameters_ = parameters(request.parameters)?;
    check_parameters(&mut parameters_)?;
    let deadline = take_deadline(&mut parameters_);
    // How outputs are carried is HTTP's concern; here they are always raw.
    parameters_.remove("binary_data_output");
    let raw = !request.raw_input_contents.is_empty();
    let (given, named) = (request.raw_input_contents.len(), request.inputs.len());
    if raw && given != named {
        return Err(Fault::invalid(format!(
            "raw_input_contents must have one entry for each input: {named} expected, got {given}"
        )));
    }
    let mut contents = request.raw_input_contents.into_iter();
    let mut inputs = Vec::with_capacity(request.inputs.len());
    for input in request.inputs {
        let name = input.name.clone();
        let tensor = match (contents.next(), &input.contents) {
            (Some(_), Some(_)) => {
                return Err(Fault::invalid(format!(
                    "contents field must not be specified when using raw_input_contents for '{name}'"
                )));
            }
            (bytes, _) => tensor(input, bytes).map_err(|e| e.at(&format!("input '{name}'")))?,
        };
        inputs.push((name, tensor));
    }
    let outputs = request
        .outputs
        .into_iter()
        .map(|o| wanted_output(o.name, &parameters(o.parameters)?))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(ParsedInfer {
        id: request.id,
        parameters: parameters_,
        deadline,
        inputs,
        outputs,
        binary_default: true,
    })
}

fn tensor(input: InferInputTensor, raw: Option<Bytes>) -> Result<Tensor, Fault> {
    if input.name.is_empty() {
        return Err(Fault::invalid("input without a name"));
    }
    if input.parameters.contains_key("shared_memory_region") {
        return Err(Fault::unimplemented("shared memory is not served"));
    }
    let dtype = dtype_of(&input.datatype)
        .ok_or_else(|| Fault::invalid(format!("invalid datatype '{}'", input.datatype)))?;
    let shape = shape_of(&input.shape)?;
    match (raw, input.contents) {
        (Some(bytes), _) => tensor_from_raw(dtype, shape, bytes),
        (None, Some(contents)) => tensor_from_contents(dtype, shape, contents),
        (None, None) if shape.elements() == 0 => Ok(Tensor::zeros(dtype, shape)?),
        (None, None) => Err(Fault::invalid("neither contents nor raw_input_contents are given")),
    }
}

/// A tensor of typed contents. FP16 and BF16 have no field of their own; only raw contents carry them.
fn tensor_from_contents(
    dtype: DType,
    shape: Shape,
    c: pb::InferTensorContents,
) -> Result<Tensor, Fault> {
    let lists = [
        (c.bool_contents.len(), "bool_contents"),
        (c.int_contents.len(), "int_contents"),
        (c.int64_contents.len(), "int64_contents"),
        (c.uint_contents.len(), "uint_contents"),
        (c.uint64_contents.len(), "uint64_contents"),
        (c.fp32_contents.len(), "fp32_contents"),
        (c.fp64_contents.len(), "fp64_contents"),
        (c.bytes_contents.len(), "bytes_contents"),
    ];
    let field = match dtype {
        DType::Bool => "bool_contents",
        DType::I8 | DType::I16 | DType::I32 => "int_contents",
        DType::I64 => "int64_contents",
        DType::U8 | DType::U16 | DType::U32 => "uint_contents",
        DType::U64 => "uint64_contents",
        DType::F32 => "fp32_contents",
        DType::F64 => "fp64_contents",
        DType::String => "bytes_contents",
        _ => {
            return Err(Fault::invalid(format!(
                "type {} needs raw_input_contents",
                datatype_name(dtype)
            )));
        }
    };
    if let Some((_, other)) = lists.iter().find(|(len, name)| *len > 0 && *name != field) {
        return Err(Fault::invalid(format!(
            "type {} needs {field}, got {other}",
            datatype_name(dtype)
        )));
    }
    match dtype {
        DType::Bool => values(shape, c.bool_contents, |v| Some(Bool::from(v))),
        DType::I8 => values(shape, c.int_contents, |v| i8::try_from(v).ok()),
        DType::I16 => values(shape, c.int_contents, |v| i16::try_from(v).ok()),
        DType::I32 => values(shape, c.int_contents, Some),
        DType::I64 => values(shape, c.int64_contents, Some),
        DType::U8 => values(shape, c.uint_contents, |v| u8::try_from(v).ok()),
        DType::U16 => values(shape, c.uint_contents, |v| u16::try_from(v).ok()),
        DType::U32 => values(shape, c.uint_contents, Some),
        DType::U64 => values(shape, c.uint64_contents, Some),
        DType::F32 => values(shape, c.fp32_contents, Some),
        DType::F64 => values(shape, c.fp64_contents, Some),
        _ => {
            let strings = c.bytes_contents.iter().map(|b| b.to_vec()).collect();
            Ok(Tensor::from_strings(strings, &shape)?)
        }
    }
}

/// A tensor of converted values.
///
/// # Errors
/// Another number of values than the shape holds, and values that `convert` refuses.
fn values<S: Copy, T: Element>(
    shape: Shape,
    list: Vec<S>,
    convert: impl Fn(S) -> Option<T>,
) -> Result<Tensor, Fault> {
    // The list came with the request, so checking its length first bounds the allocation.
    if list.len() != shape.elements() {
        return Err(Fault::invalid(format!(
            "{} values expected, got {}",
            shape.elements(),
            list.len()
        )));
    }
    let mut buf = AlignedBuf::zeroed(shape.byte_len(T::DTYPE))?;
    let slots: &mut [T] = bytemuck::cast_slice_mut(&mut buf);
    for (slot, &value) in slots.iter_mut().zip(&list) {
        *slot = convert(value)
            .ok_or_else(|| Fault::invalid(format!("value is out of range of type {}", T::DTYPE)))?;
    }
    Ok(Tensor::from_buffer(T::DTYPE, shape, buf)?)
}

/// Makes the answer. All outputs are raw: the Python clients read them by position, which works only when
/// all are.
///
/// # Errors
/// Classes of a type that has none.
pub fn encode_message(
    response: InferResponse,
    wanted: &[WantedOutput],
    batched: bool,
) -> Result<pb::ModelInferResponse, Fault> {
    let mut outputs = Vec::with_capacity(response.outputs.len());
    let mut raw_output_contents = Vec::with_capacity(response.outputs.len());
    for (name, tensor) in response.outputs {
        let classes = wanted.iter().find(|w| w.name == name).and_then(|w| w.classes);
        let tensor = match classes {
            Some(k) => classify(&tensor, k, batched)?,
            None => tensor,
        };
        outputs.push(pb::model_infer_response::InferOutputTensor {
            name,
            datatype: datatype_name(tensor.dtype()),
            shape: tensor.shape().dims().iter().map(|&d| d as i64).collect(),
            ..Default::default()
        });
        raw_output_contents.push(raw_bytes(&tensor));
    }
    Ok(pb::ModelInferResponse {
        model_name: response.model,
        model_version: response.version.to_string(),
        id: response.id,
        parameters: named(response.parameters),
        outputs,
        raw_output_contents,
    })
}

fn named(parameters: Parameters) -> PbParameters {
    parameters.into_iter().map(|(name, value)| (name.into(), parameter(value))).collect()
}

/// A parameter as a message.
pub fn parameter(value: Param) -> pb::InferParameter {
    let choice = match value {
        Param::Bool(v) => ParameterChoice::BoolParam(v),
        Param::I64(v) => ParameterChoice::Int64Param(v),
        Param::U64(v) => ParameterChoice::Uint64Param(v),
        Param::F64(v) => ParameterChoice::DoubleParam(v),
        Param::Str(v) => ParameterChoice::StringParam(v),
    };
    pb::InferParameter { parameter_choice: Some(choice) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(datatype: &str, shape: &[i64]) -> InferInputTensor {
        InferInputTensor {
            name: "x".into(),
            datatype: datatype.into(),
            shape: shape.to_vec(),
            ..Default::default()
        }
    }

    fn request(input: InferInputTensor, raw: &[&'static [u8]]) -> pb::ModelInferRequest {
        pb::ModelInferRequest {
            inputs: vec![input],
            raw_input_contents: raw.iter().map(|r| Bytes::from_static(r)).collect(),
            ..Default::default()
        }
    }

    #[test]
    fn typed_contents() {
        let with = |datatype: &str, contents: pb::InferTensorContents| {
            let mut input = input(datatype, &[2]);
            input.contents = Some(contents);
            parse_message(request(input, &[])).map(|p| p.inputs[0].1.clone())
        };
        let ints =
            |v: &[i32]| pb::InferTensorContents { int_contents: v.to_vec(), ..Default::default() };
        assert_eq!(
            with("INT8", ints(&[-1, 7])).unwrap(),
            Tensor::from_slice(&[-1i8, 7], &[2]).unwrap()
        );
        assert!(with("INT8", ints(&[-1, 128])).is_err(), "range");
        assert!(with("INT8", ints(&[1])).is_err(), "too few");
        assert!(with("FP32", ints(&[1, 2])).is_err(), "wrong field");
        assert!(with("FP16", ints(&[1, 2])).is_err(), "no field");
        let texts = pb::InferTensorContents {
            bytes_contents: vec![Bytes::from_static(b"a"), Bytes::new()],
            ..Default::default()
        };
        assert_eq!(with("BYTES", texts).unwrap().view().strings().len(), 2);
    }

    #[test]
    fn raw_contents() {
        let one = b"\0\0\x80\x3f";
        let parse = |r| parse_message(r).map(|p| p.inputs[0].1.clone());
        assert_eq!(
            parse(request(input("FP32", &[1]), &[one])).unwrap(),
            Tensor::from_slice(&[1.0f32], &[1]).unwrap()
        );
        let mut both = input("FP32", &[1]);
        both.contents = Some(Default::default());
        let cases = [
            request(both, &[one]),
            request(input("FP32", &[1]), &[&one[..2]]),
            request(input("FP32", &[1]), &[one, one]),
            request(input("FP32", &[1]), &[]),
            request(input("FOO", &[1]), &[one]),
            request(input("FP32", &[-1]), &[one]),
            request(input("FP32", &[16, (1 << 60) + 2]), &[one]),
            request(input("FP32", &vec![1; 100_000]), &[one]),
            request(input("BYTES", &[1]), &[one]),
        ];
        for (i, case) in cases.into_iter().enumerate() {
            assert!(parse(case).is_err(), "case {i}");
        }
    }
}
