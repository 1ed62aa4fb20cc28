//! The values of one input: numbers and strings, nested as their shape says.

use super::{BASE64, Format};
use crate::fault::Fault;
use crate::json::{ArrayShape, JsonError, Kind, Reader, read_ndarray};
use crate::tensors::for_dtype;
use base64::Engine;
use stead_node::TensorInfo;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Values of one input, read piece by piece.
pub(super) struct Values<'m> {
    pub(super) info: &'m TensorInfo,
    bytes: Vec<u8>,
    strings: Vec<Vec<u8>>,
    /// The shape of one piece.
    dims: Option<ArrayShape>,
    /// How many pieces were read.
    pub(super) pieces: usize,
}

impl<'m> Values<'m> {
    pub(super) fn new(info: &'m TensorInfo) -> Values<'m> {
        Values { info, bytes: Vec::new(), strings: Vec::new(), dims: None, pieces: 0 }
    }

    /// Reads one value or nested array; `what` is the word of OpenVINO Model Server's messages.
    pub(super) fn read(&mut self, reader: &mut Reader<'_>, what: &str) -> Result<(), Fault> {
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
    pub(super) fn finish(self, format: Format) -> Result<(String, Tensor), Fault> {
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
