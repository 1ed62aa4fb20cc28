//! The bodies of `:predict`, in row and in column format.

use super::special::{is_special, one_for_all};
use crate::fault::Fault;
use crate::json::{ArrayShape, JsonError, Kind, Reader, read_ndarray, write_str};
use crate::tensors::{append_json_nested, for_dtype};
use base64::Engine;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;
use stead_node::{Code, ErrorKind, ModelMetadata, TensorInfo};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Base64 as clients write it: with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How a request lists its tensors; the answer does it the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `instances`: a list of examples.
    Row,
    /// `inputs`: a list of tensors.
    Column,
}

/// A parsed body.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictBody {
    /// The format.
    pub format: Format,
    /// The inputs.
    pub inputs: Vec<(String, Tensor)>,
}

/// Values of one input, read piece by piece.
struct Values<'m> {
    info: &'m TensorInfo,
    bytes: Vec<u8>,
    strings: Vec<Vec<u8>>,
    /// The shape of one piece.
    dims: Option<ArrayShape>,
    pieces: usize,
}

impl<'m> Values<'m> {
    fn new(info: &'m TensorInfo) -> Values<'m> {
        Values { info, bytes: Vec::new(), strings: Vec::new(), dims: None, pieces: 0 }
    }

    /// Reads one value or nested array; `what` is the word of OpenVINO Model Server's messages.
    fn read(&mut self, reader: &mut Reader<'_>, what: &str) -> Result<(), Fault> {
        let dims = self.read_array(reader).map_err(|e| {
            if e.is_syntax() {
                return e.into();
            }
            Fault::invalid(format!(
                "Could not parse {what} content. Not valid ndarray detected - input {}: {e}",
                self.info.name
            ))
        })?;
        if *self.dims.get_or_insert_with(|| dims.clone()) != dims {
            return Err(Fault::invalid(format!(
                "Could not parse {what} content. Not valid ndarray detected - input {}: instances \
                 have different shapes",
                self.info.name
            )));
        }
        self.pieces += 1;
        Ok(())
    }

    fn read_array(&mut self, reader: &mut Reader<'_>) -> Result<ArrayShape, JsonError> {
        let (bytes, strings) = (&mut self.bytes, &mut self.strings);
        if self.info.dtype == DType::String {
            return read_ndarray(reader, |r| {
                strings.push(read_string(r)?);
                Ok(())
            });
        }
        for_dtype!(self.info.dtype, T => read_ndarray(reader, |r| {
            let value: T = r.number()?;
            bytes.extend_from_slice(bytemuck::bytes_of(&value));
            Ok(())
        }), _ => Err(JsonError::Type {
            offset: reader.offset(),
            expected: "a type that JSON can carry",
            actual: self.info.dtype.name(),
        }))
    }

    /// The tensor; in row format with the number of pieces as first dimension.
    fn finish(self, format: Format) -> Result<(String, Tensor), Fault> {
        let mut dims = self.dims.unwrap_or_default();
        if format == Format::Row {
            dims.insert(0, self.pieces);
        }
        let tensor = if self.info.dtype == DType::String {
            Tensor::from_strings(self.strings, &dims)?
        } else {
            let buf = AlignedBuf::copy_of(&self.bytes)?;
            Tensor::from_buffer(self.info.dtype, Shape::new(&dims)?, buf)?
        };
        Ok((self.info.name.clone(), tensor))
    }
}

/// A string, or `{"b64": "..."}`.
fn read_string(reader: &mut Reader<'_>) -> Result<Vec<u8>, JsonError> {
    if reader.peek()? != Kind::Object {
        return Ok(reader.string()?.into_owned().into_bytes());
    }
    let offset = reader.offset();
    let wrong = || JsonError::Type { offset, expected: "{\"b64\": ...}", actual: "object" };
    let mut bytes = None;
    reader.object::<JsonError>(|r, key| {
        if key != "b64" || bytes.is_some() {
            return Err(wrong());
        }
        let text = r.string()?;
        bytes = Some(BASE64.decode(text.as_bytes()).map_err(|_| wrong())?);
        Ok(())
    })?;
    bytes.ok_or_else(wrong)
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

/// Writes an answer: `predictions` or `outputs`, without a name for a single output.
///
/// # Errors
/// Types that JSON cannot carry; in row format, several outputs that differ in their first dimension.
pub fn encode_predict(format: Format, outputs: &[(String, Tensor)]) -> Result<Vec<u8>, Fault> {
    let values: usize = outputs.iter().map(|(_, t)| t.shape().elements()).sum();
    let mut out = Vec::with_capacity(64 + values * 10);
    match (format, outputs) {
        (Format::Row, [(name, tensor)]) => {
            out.extend_from_slice(b"{\"predictions\":");
            write_value(&mut out, name, tensor, tensor.shape().dims(), 0)?;
        }
        (Format::Row, _) => {
            out.extend_from_slice(b"{\"predictions\":");
            write_rows(&mut out, outputs)?;
        }
        (Format::Column, [(name, tensor)]) => {
            out.extend_from_slice(b"{\"outputs\":");
            write_value(&mut out, name, tensor, tensor.shape().dims(), 0)?;
        }
        (Format::Column, _) => {
            out.extend_from_slice(b"{\"outputs\":{");
            for (i, (name, tensor)) in outputs.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_str(&mut out, name);
                out.push(b':');
                write_value(&mut out, name, tensor, tensor.shape().dims(), 0)?;
            }
            out.push(b'}');
        }
    }
    out.push(b'}');
    Ok(out)
}

/// Whether a value is repeated in each row: what names the sequence is one value, however many rows there are.
fn is_for_all(name: &str, tensor: &Tensor) -> bool {
    is_special(name) && tensor.shape().dims() == [1]
}

/// The first dimension that all outputs have, if row format can hold them.
pub fn rows_of(outputs: &[(String, Tensor)]) -> Option<usize> {
    let mut firsts = outputs
        .iter()
        .filter(|(name, tensor)| !is_for_all(name, tensor))
        .map(|(_, tensor)| tensor.shape().dims().first().copied());
    let Some(rows) = firsts.next() else { return Some(1) };
    rows.filter(|_| firsts.all(|other| other == rows))
}

fn write_rows(out: &mut Vec<u8>, outputs: &[(String, Tensor)]) -> Result<(), Fault> {
    let Some(rows) = rows_of(outputs) else {
        return Err(Fault::new(
            Code::InvalidArgument,
            "outputs differ in their first dimension: row format cannot hold them, use inputs",
        ));
    };
    out.push(b'[');
    for row in 0..rows {
        if row > 0 {
            out.push(b',');
        }
        out.push(b'{');
        for (i, (name, tensor)) in outputs.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            write_str(out, name);
            out.push(b':');
            let shape = tensor.shape();
            let inner = shape.dims().get(1..).unwrap_or_default();
            let step: usize = inner.iter().product();
            let row = if is_for_all(name, tensor) { 0 } else { row };
            write_value(out, name, tensor, inner, row * step)?;
        }
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

fn write_value(
    out: &mut Vec<u8>,
    name: &str,
    tensor: &Tensor,
    dims: &[usize],
    first: usize,
) -> Result<(), Fault> {
    // TensorFlow's rule: names with this suffix are binary. What is no UTF-8 is so in any case.
    let binary = name.ends_with("_bytes");
    append_json_nested(out, tensor, dims, first, |out, string| {
        match std::str::from_utf8(string) {
            Ok(text) if !binary => write_str(out, text),
            _ => {
                out.extend_from_slice(b"{\"b64\":\"");
                out.extend_from_slice(BASE64.encode(string).as_bytes());
                out.extend_from_slice(b"\"}");
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn answers() {
        let y = ("y".to_owned(), Tensor::from_slice(&[1f32, 2., 3., 4.], &[2, 2]).unwrap());
        let n = ("n".to_owned(), Tensor::from_slice(&[5i64, 6], &[2]).unwrap());
        let s = ("s_bytes".to_owned(), Tensor::from_strings(vec![b"a".to_vec()], &[1]).unwrap());
        let cases = [
            (Format::Row, vec![y.clone()], r#"{"predictions":[[1.0,2.0],[3.0,4.0]]}"#),
            (
                Format::Row,
                vec![y.clone(), n.clone()],
                r#"{"predictions":[{"y":[1.0,2.0],"n":5},{"y":[3.0,4.0],"n":6}]}"#,
            ),
            (Format::Column, vec![n.clone()], r#"{"outputs":[5,6]}"#),
            (
                Format::Column,
                vec![y.clone(), n],
                r#"{"outputs":{"y":[[1.0,2.0],[3.0,4.0]],"n":[5,6]}}"#,
            ),
            (Format::Column, vec![s.clone()], r#"{"outputs":[{"b64":"YQ=="}]}"#),
        ];
        for (format, outputs, expected) in cases {
            let got = encode_predict(format, &outputs).unwrap();
            assert_eq!(String::from_utf8(got).unwrap(), expected);
        }
        assert!(encode_predict(Format::Row, &[y, s]).is_err(), "different first dimensions");
    }
}
