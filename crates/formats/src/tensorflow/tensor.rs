//! Tensors in protobuf messages.

use super::proto::{TensorProto, TensorShapeProto};
use crate::error::{FormatError, check_limit};
use stead_onnx::{Dim, Limits};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Memory of a string that a list repeats, at least.
const STRING_BYTES: u64 = 64;

/// The element type with this number in `types.proto`.
pub(super) fn dtype(number: i32) -> Option<DType> {
    Some(match number {
        1 => DType::F32,
        2 => DType::F64,
        3 => DType::I32,
        4 => DType::U8,
        5 => DType::I16,
        6 => DType::I8,
        7 => DType::String,
        9 => DType::I64,
        10 => DType::Bool,
        14 => DType::BF16,
        17 => DType::U16,
        19 => DType::F16,
        22 => DType::U32,
        23 => DType::U64,
        _ => return None,
    })
}

/// The dimensions of a shape, `None` where not even their number is known.
///
/// # Errors
/// [`FormatError::Malformed`] for a shape that no tensor can have.
pub(super) fn dims(shape: Option<&TensorShapeProto>) -> Result<Option<Vec<Dim>>, FormatError> {
    let Some(shape) = shape.filter(|s| !s.unknown_rank) else { return Ok(None) };
    let dim = |size: i64| usize::try_from(size).map_or(Dim::Unknown, Dim::Known);
    let dims: Vec<Dim> = shape.dim.iter().map(|d| dim(d.size)).collect();
    let known: Vec<usize> = dims.iter().map(|dim| dim.known().unwrap_or(1)).collect();
    Shape::new(&known).map_err(malformed)?;
    Ok(Some(dims))
}

pub(super) fn malformed(reason: impl ToString) -> FormatError {
    FormatError::Malformed { expected: "a TensorFlow model", reason: reason.to_string() }
}

/// The shape of a tensor that is there.
pub(super) fn fixed(shape: Option<&TensorShapeProto>) -> Result<Shape, FormatError> {
    let dims = shape.map(|s| s.dim.iter().map(|d| usize::try_from(d.size)).collect());
    let dims: Vec<usize> = dims.unwrap_or(Ok(Vec::new())).map_err(malformed)?;
    Shape::new(&dims).map_err(malformed)
}

/// The tensor of a message. A list of fewer values than elements goes on with its last one, or with zeros when it has none;
/// `left` has the bytes that all such may still take.
pub(super) fn tensor(
    proto: &TensorProto,
    limits: &Limits,
    left: &mut u64,
) -> Result<Tensor, FormatError> {
    let shape = fixed(proto.tensor_shape.as_ref())?;
    let dtype = dtype(proto.dtype)
        .ok_or_else(|| malformed(format!("element type {} of a constant", proto.dtype)))?;
    if dtype == DType::String {
        let bytes = (shape.elements() as u64).saturating_mul(STRING_BYTES);
        check_limit("strings of constants", bytes, *left)?;
        *left -= bytes;
        let mut strings = proto.string_val.clone();
        let last = strings.last().cloned().unwrap_or_default();
        check_limit("strings of a constant", last.len() as u64, limits.name_bytes as u64)?;
        strings.resize(shape.elements(), last);
        return Tensor::from_strings(strings, &shape).map_err(malformed);
    }
    let bytes = shape.byte_len(dtype);
    if !proto.tensor_content.is_empty() {
        if proto.tensor_content.len() != bytes {
            let text = format!("a constant {dtype}{shape} of {} bytes", proto.tensor_content.len());
            return Err(malformed(text));
        }
        let mut buffer = AlignedBuf::copy_of(&proto.tensor_content).map_err(malformed)?;
        truths(dtype, &mut buffer);
        return Tensor::from_buffer(dtype, shape, buffer).map_err(malformed);
    }
    check_limit("constants of few values", bytes as u64, *left)?;
    *left -= bytes as u64;
    let count = shape.elements();
    fn fill<T: Copy + Default>(values: impl Iterator<Item = T>, count: usize) -> Vec<T> {
        let mut all: Vec<T> = values.take(count).collect();
        all.resize(count, all.last().copied().unwrap_or_default());
        all
    }
    let ints = || proto.int_val.iter();
    let halves = || proto.half_val.iter().map(|&v| v as u16);
    let made = match dtype {
        DType::F32 => Tensor::from_slice(&fill(proto.float_val.iter().copied(), count), &shape),
        DType::F64 => Tensor::from_slice(&fill(proto.double_val.iter().copied(), count), &shape),
        DType::I32 => Tensor::from_slice(&fill(ints().copied(), count), &shape),
        DType::I16 => Tensor::from_slice(&fill(ints().map(|&v| v as i16), count), &shape),
        DType::I8 => Tensor::from_slice(&fill(ints().map(|&v| v as i8), count), &shape),
        DType::U8 => Tensor::from_slice(&fill(ints().map(|&v| v as u8), count), &shape),
        DType::U16 => Tensor::from_slice(&fill(ints().map(|&v| v as u16), count), &shape),
        DType::I64 => Tensor::from_slice(&fill(proto.int64_val.iter().copied(), count), &shape),
        DType::F16 => {
            let values: Vec<half::f16> = fill(halves().map(half::f16::from_bits), count);
            Tensor::from_slice(&values, &shape)
        }
        DType::BF16 => {
            let values: Vec<half::bf16> = fill(halves().map(half::bf16::from_bits), count);
            Tensor::from_slice(&values, &shape)
        }
        DType::Bool => {
            let values = fill(proto.bool_val.iter().map(|&v| u8::from(v)), count);
            let buffer = AlignedBuf::copy_of(&values).map_err(malformed)?;
            Tensor::from_buffer(dtype, shape, buffer)
        }
        other => return Err(malformed(format!("a constant of {other} in a list"))),
    };
    made.map_err(malformed)
}

/// Every byte but 0 is true; a tensor holds 0 and 1.
pub(super) fn truths(dtype: DType, bytes: &mut [u8]) {
    if dtype == DType::Bool {
        bytes.iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
}
