//! NumPy's strings, padded to one width, and ours, which have their own lengths.

use super::NpyError;
use crate::{Shape, Tensor};

/// Byte strings of `width` bytes each, without their padding.
pub(super) fn from_bytes(data: &[u8], width: usize, shape: Shape) -> Result<Tensor, NpyError> {
    let strings = (0..shape.elements()).map(|i| {
        let padded = data.get(i * width..(i + 1) * width).unwrap_or_default();
        let len = padded.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        padded.get(..len).unwrap_or_default().to_vec()
    });
    Ok(Tensor::from_strings(strings.collect(), &shape)?)
}

/// UTF-32 strings of `width` characters each as UTF-8.
pub(super) fn from_unicode(data: &[u8], width: usize, shape: Shape) -> Result<Tensor, NpyError> {
    let units = |i: usize| {
        let padded = data.get(i * width * 4..(i + 1) * width * 4).unwrap_or_default();
        padded.chunks_exact(4).map(|c| c.iter().rev().fold(0u32, |n, &b| n << 8 | u32::from(b)))
    };
    let strings = (0..shape.elements()).map(|i| {
        let text: Option<String> = units(i).map(char::from_u32).collect();
        let text = text.ok_or(NpyError::BadString(i))?;
        Ok(text.trim_end_matches('\0').as_bytes().to_vec())
    });
    Ok(Tensor::from_strings(strings.collect::<Result<_, NpyError>>()?, &shape)?)
}

/// The width in characters and the padded UTF-32 of strings.
pub(super) fn to_unicode(strings: &[Vec<u8>]) -> Result<(usize, Vec<u8>), NpyError> {
    let mut texts = Vec::with_capacity(strings.len());
    for (i, bytes) in strings.iter().enumerate() {
        let text = std::str::from_utf8(bytes).ok().filter(|text| !text.ends_with('\0'));
        texts.push(text.ok_or(NpyError::BadString(i))?);
    }
    // NumPy has no strings of width 0.
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
    let mut out = Vec::new();
    for text in texts {
        let end = out.len() + width * 4;
        out.extend(text.chars().flat_map(|c| u32::from(c).to_le_bytes()));
        out.resize(end, 0);
    }
    Ok((width, out))
}
