//! The constants in a `.bin` file.

use super::xml::malformed;
use crate::error::{FormatError, check_limit, io};
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use stead_onnx::Limits;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// What a `.bin` file is read through.
pub(super) trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// The file with the constants, of which each is read once into a buffer of its own: it goes when its tensor goes.
pub(super) struct Weights<'a> {
    source: &'a mut dyn Source,
    len: u64,
    /// Bytes that may still be read: constants of a hostile file overlap.
    left: u64,
    seen: HashMap<(u64, u64, DType), Tensor>,
}

/// How messages call the file.
const FILE: &str = "the .bin file";

impl<'a> Weights<'a> {
    /// # Errors
    /// A file that is larger than the limits allow or whose length cannot be told.
    pub fn new(source: &'a mut dyn Source, limits: &Limits) -> Result<Weights<'a>, FormatError> {
        let len = source.seek(SeekFrom::End(0)).map_err(io(FILE))?;
        check_limit(FILE, len, limits.total_bytes)?;
        let left = len.saturating_add(limits.expanded_bytes);
        Ok(Weights { source, len, left, seen: HashMap::new() })
    }

    /// The tensor of `size` bytes at `offset`.
    ///
    /// # Errors
    /// A place outside of the file, a size that is not that of the shape.
    pub fn tensor(
        &mut self,
        dtype: DType,
        shape: Shape,
        offset: u64,
        size: u64,
    ) -> Result<Tensor, FormatError> {
        let at =
            |reason| FormatError::Tensor { what: format!("constant at byte {offset}"), reason };
        let wanted = dtype.byte_len(shape.elements()).map(|n| n as u64);
        if wanted == Some(0) {
            // A constant without elements takes a byte of the file all the same.
            return Tensor::zeros(dtype, shape).map_err(at);
        }
        if wanted != Some(size) {
            let text = format!("a constant {dtype}{shape} has {size} bytes at byte {offset}");
            return Err(malformed(text));
        }
        if offset.checked_add(size).is_none_or(|end| end > self.len) {
            let text = format!("{size} bytes at byte {offset} of a .bin file of {}", self.len);
            return Err(malformed(text));
        }
        if let Some(known) = self.seen.get(&(offset, size, dtype)) {
            return known.reshaped(shape).map_err(at);
        }
        let Some(left) = self.left.checked_sub(size) else {
            return Err(malformed("its constants overlap"));
        };
        self.left = left;
        // Not above the length of the file, which is within the limits.
        let size_here = usize::try_from(size).unwrap_or(usize::MAX);
        self.source.seek(SeekFrom::Start(offset)).map_err(io(FILE))?;
        let mut buffer =
            AlignedBuf::filled(size_here, |room| room.read(size_here, &mut *self.source))
                .map_err(at)?
                .map_err(io(FILE))?;
        if dtype == DType::Bool {
            // Every byte but 0 is true; a tensor holds 0 and 1.
            buffer.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        let tensor = Tensor::from_buffer(dtype, shape, buffer).map_err(at)?;
        self.seen.insert((offset, size, dtype), tensor.clone());
        Ok(tensor)
    }
}
