//! `.npy` files: one array, as NumPy writes it.
//!
//! Format: a magic, a version, a header that is a Python dictionary literal, then the bare elements
//! (`numpy/lib/format.py`, versions 1.0 to 3.0). Types that NumPy does not have of its own (`bf16`, 8-bit
//! floats, types below a byte) have no standard spelling and are refused by name.

mod header;
mod strings;

use crate::{AlignedBuf, DType, Shape, Tensor, TensorError, TensorView};
use header::Header;
use std::io::{Read, Write};

/// Why an array cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NpyError {
    /// The file does not start as a `.npy` file does.
    #[error("not a npy file")]
    NotNpy,
    /// A version of the format that is not known.
    #[error("npy version {0}.{1} is not supported, only 1.0 to 3.0 are")]
    Version(u8, u8),
    /// The header is not the dictionary that the format asks for.
    #[error("npy header: {0} expected at byte {1}")]
    Header(&'static str, usize),
    /// The header has no such key.
    #[error("npy header has no {0:?}")]
    MissingKey(&'static str),
    /// The element type cannot be read.
    #[error("npy type {0:?} is not supported")]
    UnsupportedType(String),
    /// The element type cannot be written.
    #[error("type {0} has no npy form")]
    NoNpyForm(DType),
    /// The array is larger than the reader allows.
    #[error("array of {actual} bytes is above the limit of {limit}")]
    TooLarge {
        /// The most bytes allowed.
        limit: u64,
        /// The bytes of the array.
        actual: u64,
    },
    /// The shape is impossible, or no memory is left for it.
    #[error("npy array: {0}")]
    Tensor(#[from] TensorError),
    /// A string is not valid Unicode, or ends with a zero, which NumPy takes for padding.
    #[error("string {0} of the array has no npy form")]
    BadString(usize),
    /// The file ends early or cannot be read or written.
    #[error("npy file: {0}")]
    Io(std::io::ErrorKind),
    /// The archive is not a zip file that can be read.
    #[error("npz archive: {0}")]
    Archive(String),
    /// A member of an archive.
    #[error("npz member {name:?}: {error}")]
    Member {
        /// The name in the archive.
        name: String,
        /// What is wrong with it.
        error: Box<NpyError>,
    },
}

impl From<std::io::Error> for NpyError {
    fn from(e: std::io::Error) -> Self {
        NpyError::Io(e.kind())
    }
}

/// Reads one array of at most `max_bytes`. Both byte orders are read, and arrays in Fortran order are
/// transposed into row-major order.
/// Nothing is read beyond the array.
///
/// # Errors
/// [`NpyError`].
pub fn read(reader: &mut impl Read, max_bytes: u64) -> Result<Tensor, NpyError> {
    let header = Header::read(reader)?;
    let shape = Shape::new(&header.dims)?;
    // The shape is bounded, so that its elements cannot overflow; their bytes can.
    let bytes = shape.elements().saturating_mul(header.item.bytes());
    // Strings may have no width at all and still need an entry each.
    let entries = shape.elements().saturating_mul(header.item.entry_bytes());
    let cost = bytes.saturating_add(entries) as u64;
    if cost > max_bytes {
        return Err(NpyError::TooLarge { limit: max_bytes, actual: cost });
    }
    let mut data = AlignedBuf::zeroed(bytes)?;
    reader.read_exact(&mut data)?;
    if header.big_endian {
        data.chunks_exact_mut(header.item.number_bytes()).for_each(<[u8]>::reverse);
    }
    if header.fortran_order && shape.rank() > 1 {
        data = to_row_major(&data, &shape, header.item.bytes())?;
    }
    match header.item {
        header::Item::Number(dtype) => Ok(Tensor::from_buffer(dtype, shape, data)?),
        header::Item::Bytes(width) => strings::from_bytes(&data, width, shape),
        header::Item::Unicode(width) => strings::from_unicode(&data, width, shape),
    }
}

/// Writes one array as version 1.0, row-major and little-endian. Strings become NumPy's Unicode type.
///
/// # Errors
/// [`NpyError::NoNpyForm`] for types that NumPy does not have, [`NpyError::BadString`] and
/// [`NpyError::Io`].
pub fn write(writer: &mut impl Write, tensor: &TensorView<'_>) -> Result<(), NpyError> {
    if tensor.dtype() == DType::String {
        let (width, data) = strings::to_unicode(tensor.strings())?;
        writer.write_all(&header::format(&format!("<U{width}"), &tensor.shape()))?;
        writer.write_all(&data)?;
    } else {
        let descr = header::descr(tensor.dtype()).ok_or(NpyError::NoNpyForm(tensor.dtype()))?;
        writer.write_all(&header::format(descr, &tensor.shape()))?;
        writer.write_all(tensor.bytes())?;
    }
    Ok(())
}

/// The elements of an array whose first dimension runs fastest, in row-major order. `size` is in bytes.
fn to_row_major(data: &[u8], shape: &Shape, size: usize) -> Result<AlignedBuf, TensorError> {
    let mut out = AlignedBuf::zeroed(data.len())?;
    if size == 0 {
        return Ok(out);
    }
    let dims = shape.dims();
    let mut index = [0usize; crate::MAX_RANK];
    for slot in out.chunks_exact_mut(size) {
        let (at, _) = dims
            .iter()
            .zip(&index)
            .fold((0, 1), |(at, step), (&dim, &i)| (at + i * step, step * dim));
        if let Some(element) = data.get(at * size..(at + 1) * size) {
            slot.copy_from_slice(element);
        }
        // Count up, the last dimension first.
        for (i, &dim) in index.iter_mut().zip(dims).rev() {
            *i += 1;
            if *i < dim {
                break;
            }
            *i = 0;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: u64 = 1 << 20;

    fn parse(bytes: &[u8]) -> Result<Tensor, NpyError> {
        read(&mut &*bytes, LIMIT)
    }

    /// A version 1.0 file with this header text and data.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((header.len() as u16).to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    #[test]
    fn every_type_of_numpy_round_trips() {
        use DType::*;
        let shape = Shape::new(&[2, 3]).unwrap();
        for dtype in [F32, F64, F16, Bool, U8, I8, U16, I16, U32, I32, U64, I64, C64, C128] {
            let bytes: Vec<u8> = (0..shape.byte_len(dtype)).map(|i| i as u8).collect();
            let view = TensorView::from_bytes(dtype, shape, &bytes).unwrap();
            let mut out = Vec::new();
            write(&mut out, &view).unwrap();
            assert_eq!((out.len() - bytes.len()) % 64, 0, "the data is aligned");
            assert_eq!(parse(&out).unwrap(), view.to_tensor().unwrap(), "{dtype}");
        }
    }

    #[test]
    fn types_that_numpy_lacks_are_refused_by_name() {
        for dtype in [DType::BF16, DType::F8E4M3FN, DType::I4] {
            let tensor = Tensor::zeros(dtype, Shape::new(&[2]).unwrap()).unwrap();
            let err = write(&mut Vec::new(), &tensor.view()).unwrap_err();
            assert_eq!(err, NpyError::NoNpyForm(dtype));
        }
        let bf16 = file("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", &[0; 2]);
        assert_eq!(parse(&bf16), Err(NpyError::UnsupportedType("<V2".to_owned())));
    }

    #[test]
    fn strings_round_trip() {
        let words = vec![b"caf\xc3\xa9".to_vec(), Vec::new(), b"x".to_vec()];
        let tensor = Tensor::from_strings(words, &[3]).unwrap();
        let mut out = Vec::new();
        write(&mut out, &tensor.view()).unwrap();
        assert_eq!(parse(&out).unwrap(), tensor);
        let bytes = file("{'descr': '|S2', 'fortran_order': False, 'shape': (2,)}", b"a\0bc");
        assert_eq!(parse(&bytes).unwrap().view().strings(), [b"a".to_vec(), b"bc".to_vec()]);
    }

    #[test]
    fn fortran_order_becomes_row_major() {
        let data = [0u8, 3, 1, 4, 2, 5];
        let bytes = file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", &data);
        let tensor = parse(&bytes).unwrap();
        assert_eq!(tensor.as_slice::<u8>().unwrap(), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn hostile_headers_are_errors() {
        let header = |text: &'static str| file(text, &[0; 64]);
        let cases: [(&str, Vec<u8>); 16] = [
            ("empty", vec![]),
            ("magic only", b"\x93NUMPY".to_vec()),
            ("version 9", b"\x93NUMPY\x09\x00\x00\x00".to_vec()),
            ("header beyond the end", b"\x93NUMPY\x01\x00\xff\xff{".to_vec()),
            ("header of 4 GiB", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec()),
            ("no dictionary", header("[]")),
            ("no shape", header("{'descr': '<f4', 'fortran_order': False}")),
            ("no type", header("{'fortran_order': False, 'shape': ()}")),
            ("objects", header("{'descr': '|O', 'fortran_order': False, 'shape': ()}")),
            ("records", header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}")),
            ("negative", header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}")),
            (
                "a dimension of 30 digits",
                header(
                    "{'descr':'<f4','fortran_order':False,'shape':(999999999999999999999999999999,)}",
                ),
            ),
            (
                "overflow",
                header("{'descr':'<f8','fortran_order':False,'shape':(4294967296,4294967296)}"),
            ),
            ("rank 9", header("{'descr':'<f4','fortran_order':False,'shape':(1,1,1,1,1,1,1,1,1)}")),
            (
                "strings without width",
                header("{'descr':'|S0','fortran_order':False,'shape':(1000000000000000,)}"),
            ),
            (
                "wide strings",
                header("{'descr':'<U18446744073709551615','fortran_order':False,'shape':(2,)}"),
            ),
        ];
        for (label, bytes) in cases {
            assert!(parse(&bytes).is_err(), "{label}");
        }
    }

    #[test]
    fn a_claim_above_the_limit_is_refused_before_memory_is_asked_for() {
        let bytes = file("{'descr':'<f4','fortran_order':False,'shape':(1000000000000,)}", &[]);
        assert_eq!(
            parse(&bytes),
            Err(NpyError::TooLarge { limit: LIMIT, actual: 4_000_000_000_000 })
        );
    }

    #[test]
    fn short_data_is_an_error() {
        let bytes = file("{'descr':'<f4','fortran_order':False,'shape':(3,)}", &[0; 11]);
        assert_eq!(parse(&bytes), Err(NpyError::Io(std::io::ErrorKind::UnexpectedEof)));
    }

    proptest! {
        #[test]
        fn changed_bytes_never_panic(at in 0usize..140, byte: u8, cut in 0usize..160) {
            let tensor = Tensor::from_slice(&[1.0f32; 6], &[2, 3]).unwrap();
            let mut bytes = Vec::new();
            write(&mut bytes, &tensor.view()).unwrap();
            if let Some(slot) = bytes.get_mut(at) {
                *slot = byte;
            }
            bytes.truncate(cut);
            let _ = parse(&bytes);
        }
    }
}
