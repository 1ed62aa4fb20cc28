//! npy and npz files, as `numpy.save` and `numpy.savez` write them.
//!
//! An npy file is a short Python dictionary (`descr`, `fortran_order`, `shape`) and the raw elements; an npz
//! file is a zip archive with one npy file for each array
//! (<https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>).

use std::io::{Cursor, Read, Write};

use crate::{AlignedBuf, DType, Shape, Tensor, TensorError, TensorView};

/// What every npy file begins with.
const MAGIC: &[u8] = b"\x93NUMPY";

/// NumPy aligns the start of the elements to this.
const HEADER_ALIGNMENT: usize = 64;

/// What is wrong with an npy or npz file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// The file does not begin as an npy file does.
    #[error("not an npy file")]
    NotNpy,
    /// The file ends before the array does.
    #[error("the npy file ends too early")]
    Truncated,
    /// The dictionary lacks a key or a value has another form.
    #[error("the npy header has no valid `{0}`")]
    Header(&'static str),
    /// The element type has no counterpart here.
    #[error("npy element type `{0}` is not supported")]
    Type(String),
    /// A tensor of this type cannot be written.
    #[error("element type {0} cannot be written to an npy file")]
    NotWritable(DType),
    /// The zip archive cannot be read or written.
    #[error("npz archive: {0}")]
    Zip(String),
    /// The array has no valid shape or size.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// `descr` -> type, for elements of a fixed size in little-endian order.
const TYPES: &[(&str, DType)] = &[
    ("f4", DType::F32),
    ("f8", DType::F64),
    ("f2", DType::F16),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("u1", DType::U8),
    ("u2", DType::U16),
    ("u4", DType::U32),
    ("u8", DType::U64),
    ("b1", DType::Bool),
    ("c8", DType::C64),
    ("c16", DType::C128),
];

/// Reads an npy file. Both memory orders and byte orders are read, byte strings (`S`) and Unicode strings
/// (`U`, as UTF-8) too.
///
/// # Errors
/// Every [`NpyError`] but those of writing and of archives.
pub fn read_npy(file: &[u8]) -> Result<Tensor, NpyError> {
    let rest = file.strip_prefix(MAGIC).ok_or(NpyError::NotNpy)?;
    let (&major, rest) = rest.split_first().ok_or(NpyError::Truncated)?;
    let rest = rest.get(1..).ok_or(NpyError::Truncated)?; // the minor version changes nothing
    let (len, rest) = if major == 1 {
        let (len, rest) = rest.split_first_chunk::<2>().ok_or(NpyError::Truncated)?;
        (u16::from_le_bytes(*len) as usize, rest)
    } else {
        let (len, rest) = rest.split_first_chunk::<4>().ok_or(NpyError::Truncated)?;
        (u32::from_le_bytes(*len) as usize, rest)
    };
    let (header, data) = rest.split_at_checked(len).ok_or(NpyError::Truncated)?;
    let header = std::str::from_utf8(header).map_err(|_| NpyError::Header("descr"))?;
    let descr = value_of(header, "descr").and_then(quoted).ok_or(NpyError::Header("descr"))?;
    let fortran = match value_of(header, "fortran_order").map(str::trim_start) {
        Some(text) if text.starts_with("True") => true,
        Some(text) if text.starts_with("False") => false,
        _ => return Err(NpyError::Header("fortran_order")),
    };
    let dims = value_of(header, "shape").and_then(tuple).ok_or(NpyError::Header("shape"))?;
    let shape = Shape::new(&dims)?;

    let swapped = descr.starts_with('>');
    let kind = descr.trim_start_matches(['<', '>', '|', '=']);
    if let Some(width) = kind.strip_prefix('S').and_then(|w| w.parse().ok()) {
        let strings = chunks(data, shape.elements(), width)?.map(until_zero).collect();
        return in_row_major(Tensor::from_strings(strings, &shape)?, fortran);
    }
    if let Some(width) = kind.strip_prefix('U').and_then(|w| w.parse::<usize>().ok()) {
        let bytes = width.checked_mul(4).ok_or(NpyError::Truncated)?;
        let decode = |chunk: &[u8]| utf8_of(chunk, swapped);
        let strings = chunks(data, shape.elements(), bytes)?.map(decode).collect();
        return in_row_major(Tensor::from_strings(strings, &shape)?, fortran);
    }
    let found = TYPES.iter().find(|(name, _)| *name == kind);
    let &(_, dtype) = found.ok_or_else(|| NpyError::Type(descr.to_owned()))?;
    let bytes = data.get(..shape.byte_len(dtype)).ok_or(NpyError::Truncated)?;
    let mut buf = AlignedBuf::copy_of(bytes)?;
    if swapped {
        // The parts of a complex number are swapped each for itself.
        let width = if kind.starts_with('c') { dtype.size() / 2 } else { dtype.size() };
        buf.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
    in_row_major(Tensor::from_buffer(dtype, shape, buf)?, fortran)
}

/// Writes an npy file (version 1.0, little-endian, row-major). Strings become `S<longest>`.
///
/// # Errors
/// [`NpyError::NotWritable`] for types that NumPy does not know.
pub fn write_npy(tensor: TensorView<'_>) -> Result<Vec<u8>, NpyError> {
    let dtype = tensor.dtype();
    let longest = tensor.strings().iter().map(Vec::len).max().unwrap_or(0).max(1);
    let descr = match TYPES.iter().find(|(_, t)| *t == dtype) {
        _ if dtype == DType::String => format!("|S{longest}"),
        Some((name, _)) if dtype.size() == 1 => format!("|{name}"),
        Some((name, _)) => format!("<{name}"),
        None => return Err(NpyError::NotWritable(dtype)),
    };
    let dims: String = tensor.shape().iter().map(|d| format!("{d}, ")).collect();
    // A tuple of one element keeps its comma, longer ones need not: NumPy reads both.
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", dims.trim_end());
    let before = MAGIC.len() + 4;
    let padded = (before + header.len() + 1).next_multiple_of(HEADER_ALIGNMENT) - before;
    header.extend(std::iter::repeat_n(' ', padded - header.len() - 1));
    header.push('\n');

    let mut file = Vec::with_capacity(before + header.len() + tensor.bytes().len());
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&[1, 0]);
    // At most 8 dimensions of at most 20 digits: the length fits 16 bits.
    file.extend_from_slice(&(header.len() as u16).to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(tensor.bytes());
    for string in tensor.strings() {
        file.extend_from_slice(string);
        file.extend(std::iter::repeat_n(0, longest - string.len()));
    }
    Ok(file)
}

/// Reads all arrays of an npz file, in the order of the archive.
///
/// # Errors
/// Every [`NpyError`] but those of writing.
pub fn read_npz(file: &[u8]) -> Result<Vec<(String, Tensor)>, NpyError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(file)).map_err(zip_error)?;
    let mut arrays = Vec::with_capacity(archive.len());
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(zip_error)?;
        let name = entry.name().trim_end_matches(".npy").to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|e| NpyError::Zip(e.to_string()))?;
        arrays.push((name, read_npy(&bytes)?));
    }
    Ok(arrays)
}

/// Writes an npz file that is not compressed, as `numpy.savez` does.
///
/// # Errors
/// [`NpyError::NotWritable`] and [`NpyError::Zip`].
pub fn write_npz<'a>(
    arrays: impl IntoIterator<Item = (&'a str, TensorView<'a>)>,
) -> Result<Vec<u8>, NpyError> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .large_file(true);
    for (name, tensor) in arrays {
        archive.start_file(format!("{name}.npy"), options).map_err(zip_error)?;
        archive.write_all(&write_npy(tensor)?).map_err(|e| NpyError::Zip(e.to_string()))?;
    }
    Ok(archive.finish().map_err(zip_error)?.into_inner())
}

fn zip_error(error: zip::result::ZipError) -> NpyError {
    NpyError::Zip(error.to_string())
}

/// What follows `'key':` in the dictionary.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let at = header.find(&format!("'{key}'"))? + key.len() + 2;
    header.get(at..)?.trim_start().strip_prefix(':').map(str::trim_start)
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('\'')?.split_once('\'').map(|(inside, _)| inside)
}

fn tuple(text: &str) -> Option<Vec<usize>> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let parts = inside.split(',').map(|part| part.trim().trim_end_matches('L'));
    parts.filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect()
}

/// `count` pieces of `width` bytes.
fn chunks(
    data: &[u8],
    count: usize,
    width: usize,
) -> Result<impl Iterator<Item = &[u8]>, NpyError> {
    let len = count.checked_mul(width).ok_or(NpyError::Truncated)?;
    let bytes = data.get(..len).ok_or(NpyError::Truncated)?;
    Ok((0..count).map(move |i| bytes.get(i * width..(i + 1) * width).unwrap_or_default()))
}

/// NumPy fills short strings with zeros.
fn until_zero(chunk: &[u8]) -> Vec<u8> {
    let len = chunk.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    chunk[..len].to_vec()
}

/// UTF-32 to UTF-8.
fn utf8_of(chunk: &[u8], swapped: bool) -> Vec<u8> {
    let code = |c: &[u8; 4]| if swapped { u32::from_be_bytes(*c) } else { u32::from_le_bytes(*c) };
    let (codes, _) = chunk.as_chunks::<4>();
    let text: String = codes
        .iter()
        .map(|c| char::from_u32(code(c)).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.trim_end_matches('\0').as_bytes().to_vec()
}

/// A tensor whose elements came in column-major order, in row-major order.
fn in_row_major(tensor: Tensor, fortran: bool) -> Result<Tensor, NpyError> {
    let shape = tensor.shape();
    if !fortran || shape.rank() < 2 {
        return Ok(tensor);
    }
    let position = |mut i: usize| {
        // Row-major index i -> index per axis -> position in column-major order.
        let mut at = 0;
        for axis in (0..shape.rank()).rev() {
            let stride: usize = shape[..axis].iter().product();
            at += (i % shape[axis]) * stride;
            i /= shape[axis];
        }
        at
    };
    let view = tensor.view();
    if tensor.dtype() == DType::String {
        let strings = (0..shape.elements()).map(|i| view.strings()[position(i)].clone()).collect();
        return Ok(Tensor::from_strings(strings, &shape)?);
    }
    let width = tensor.dtype().size();
    let mut buf = AlignedBuf::zeroed(view.bytes().len())?;
    for (i, element) in buf.chunks_exact_mut(width).enumerate() {
        let at = position(i) * width;
        element.copy_from_slice(&view.bytes()[at..at + width]);
    }
    Ok(Tensor::from_buffer(tensor.dtype(), shape, buf)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    #[test]
    fn files_come_back_as_they_were_written() {
        let tensors = [
            ("f32", Tensor::from_slice(&[1.0f32, -2.5, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap()),
            ("scalar", Tensor::scalar(7i64).unwrap()),
            ("empty", Tensor::from_slice::<u8>(&[], &[0, 4]).unwrap()),
            ("one", Tensor::from_slice(&[1u16], &[1]).unwrap()),
            ("strings", Tensor::from_strings(vec![b"ab".to_vec(), b"".to_vec()], &[2]).unwrap()),
        ];
        for (name, tensor) in &tensors {
            let file = write_npy(tensor.view()).unwrap();
            assert_eq!(read_npy(&file).as_ref(), Ok(tensor), "{name}");
        }
        let views = tensors.iter().map(|(name, tensor)| (*name, tensor.view()));
        let back = read_npz(&write_npz(views).unwrap()).unwrap();
        assert_eq!(back.len(), tensors.len());
        for ((name, tensor), (back_name, back)) in tensors.iter().zip(&back) {
            assert_eq!((*name, tensor), (back_name.as_str(), back));
        }
    }

    #[test]
    fn the_elements_start_where_numpy_puts_them() {
        let tensor = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
        let file = write_npy(tensor.view()).unwrap();
        assert_eq!((file.len() - 8) % HEADER_ALIGNMENT, 0);
        assert!(file.starts_with(b"\x93NUMPY\x01\x00"));
    }

    #[test]
    fn other_orders_are_turned() {
        let header = "{'descr': '<i1', 'fortran_order': True, 'shape': (2, 3), }\n";
        let expected = Tensor::from_slice(&[1i8, 3, 5, 2, 4, 6], &[2, 3]).unwrap();
        assert_eq!(read_npy(&npy(header, &[1, 2, 3, 4, 5, 6])), Ok(expected));
        let header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }\n";
        let expected = Tensor::from_slice(&[1i16, 2], &[2]).unwrap();
        assert_eq!(read_npy(&npy(header, &[0, 1, 0, 2])), Ok(expected));
        let header = "{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }\n";
        let expected = Tensor::from_strings(vec![b"h\xc3\xa9".to_vec()], &[1]).unwrap();
        assert_eq!(read_npy(&npy(header, &[b'h', 0, 0, 0, 0xe9, 0, 0, 0])), Ok(expected));
    }

    #[test]
    fn bad_files_are_refused() {
        let ok = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
        let cases = [
            ("no magic", b"PK\x03\x04".to_vec(), NpyError::NotNpy),
            ("only magic", MAGIC.to_vec(), NpyError::Truncated),
            ("half the data", npy(ok, &[0; 7]), NpyError::Truncated),
            (
                "no shape",
                npy("{'descr': '<f4', 'fortran_order': False}", &[]),
                NpyError::Header("shape"),
            ),
            (
                "no order",
                npy("{'descr': '<f4', 'shape': ()}", &[]),
                NpyError::Header("fortran_order"),
            ),
            (
                "object",
                npy("{'descr': '|O', 'fortran_order': False, 'shape': ()}", &[]),
                NpyError::Type("|O".to_owned()),
            ),
            (
                "huge",
                npy("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999,)}", &[]),
                NpyError::Truncated,
            ),
        ];
        for (name, file, expected) in cases {
            assert_eq!(read_npy(&file), Err(expected), "{name}");
        }
    }
}
