//! The typed data fields, in which each element is a protobuf number.
//!
//! Which field holds which type, and how narrow types are stored in wide ones, is told by the comments of
//! `TensorProto` in `onnx-ml.proto`.

use crate::proto::TensorProto;
use stead_tensor::{AlignedBuf, DType, TensorError};

/// Why the fields do not make a tensor.
pub(super) enum Fault {
    /// A wrong number of elements, or no memory.
    Count(TensorError),
    /// A number that the type cannot hold.
    Range(String),
}

/// The elements as the `expected` bytes of `elements` elements.
pub(super) fn pack(
    proto: &TensorProto,
    dtype: DType,
    elements: usize,
    expected: usize,
) -> Result<AlignedBuf, Fault> {
    use DType::*;
    match dtype {
        F32 => convert(&proto.float_data, elements, |v| Some(v.to_le_bytes())),
        C64 => convert(&proto.float_data, elements.saturating_mul(2), |v| Some(v.to_le_bytes())),
        F64 => convert(&proto.double_data, elements, |v| Some(v.to_le_bytes())),
        C128 => convert(&proto.double_data, elements.saturating_mul(2), |v| Some(v.to_le_bytes())),
        I64 => convert(&proto.int64_data, elements, |v| Some(v.to_le_bytes())),
        U64 => convert(&proto.uint64_data, elements, |v| Some(v.to_le_bytes())),
        U32 => {
            convert(&proto.uint64_data, elements, |v| u32::try_from(v).ok().map(u32::to_le_bytes))
        }
        I32 => convert(&proto.int32_data, elements, |v| Some(v.to_le_bytes())),
        I16 => {
            convert(&proto.int32_data, elements, |v| i16::try_from(v).ok().map(i16::to_le_bytes))
        }
        I8 => convert(&proto.int32_data, elements, |v| i8::try_from(v).ok().map(i8::to_le_bytes)),
        // f16 and bf16 are stored as their bit patterns.
        U16 | F16 | BF16 => {
            convert(&proto.int32_data, elements, |v| u16::try_from(v).ok().map(u16::to_le_bytes))
        }
        Bool => convert(&proto.int32_data, elements, |v| Some([u8::from(v != 0)])),
        U8 | F8E4M3FN | F8E4M3FNUZ | F8E5M2 | F8E5M2FNUZ | F8E8M0 => {
            convert(&proto.int32_data, elements, |v| u8::try_from(v).ok().map(u8::to_le_bytes))
        }
        // One number holds a byte of several elements; some writers sign-extend the byte.
        U4 | I4 | F4E2M1 | U2 | I2 => convert(&proto.int32_data, expected, |v| {
            u8::try_from(v).ok().or(i8::try_from(v).ok().map(|v| v as u8)).map(u8::to_le_bytes)
        }),
        // The caller takes strings from their own field.
        String => Err(Fault::Range("strings expected".to_owned())),
    }
}

/// `numbers` as bytes; there must be `count` of them.
fn convert<T: Copy + std::fmt::Display, const N: usize>(
    numbers: &[T],
    count: usize,
    bytes_of: impl Fn(T) -> Option<[u8; N]>,
) -> Result<AlignedBuf, Fault> {
    if numbers.len() != count {
        let (expected, actual) = (count, numbers.len());
        return Err(Fault::Count(TensorError::WrongElementCount { expected, actual }));
    }
    let mut out = AlignedBuf::passing(count.saturating_mul(N)).map_err(Fault::Count)?;
    for (to, &number) in out.chunks_exact_mut(N).zip(numbers) {
        let bytes =
            bytes_of(number).ok_or_else(|| Fault::Range(format!("{number} is out of range")))?;
        to.copy_from_slice(&bytes);
    }
    Ok(out)
}
