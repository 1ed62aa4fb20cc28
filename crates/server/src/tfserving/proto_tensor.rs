//! `TensorProto` to and from tensors, in every encoding that loses nothing.

use super::datatype::{data_type, dtype_of};
use crate::fault::Fault;
use crate::proto::tensorflow::{TensorProto, TensorShapeProto, tensor_shape_proto};
use crate::tensors::{raw_bytes, shape_of, tensor_from_raw};
use bytes::Bytes;
use half::{bf16, f16};
use stead_node::Code;
use stead_tensor::{AlignedBuf, Bool, DType, Element, Shape, Tensor};

/// Reads a tensor of at most `limit` bytes. Data may stand in `tensor_content` or in the `*_val` list of the
/// type; integers may stand in any integer list. A list that is shorter than the shape is filled up with its
/// last value, which is why a limit is needed: a few bytes can ask for any size.
///
/// # Errors
/// Unknown types and ranks, data that does not fit the shape, several lists at once, sizes above the limit.
pub fn tensor_from_proto(proto: TensorProto, limit: usize) -> Result<Tensor, Fault> {
    let dtype = dtype_of(proto.dtype)
        .ok_or_else(|| Fault::invalid(format!("data type {} is not supported", proto.dtype)))?;
    let shape = shape_of_proto(proto.tensor_shape.as_ref())?;
    // Strings take the bytes of their bookkeeping at least.
    let bytes = match dtype {
        DType::String => shape.elements().saturating_mul(size_of::<Vec<u8>>()),
        _ => shape.byte_len(dtype),
    };
    if bytes > limit.saturating_mul(8) || (dtype != DType::String && bytes > limit) {
        return Err(Fault::new(
            Code::ResourceExhausted,
            format!("tensor of {bytes} bytes is larger than the limit of {limit} bytes"),
        ));
    }
    if !proto.tensor_content.is_empty() {
        if used_lists(&proto) > 0 {
            return Err(Fault::invalid("tensor_content and a value list are both given"));
        }
        return content(dtype, shape, proto.tensor_content);
    }
    if used_lists(&proto) > 1 {
        return Err(Fault::invalid("several value lists are given"));
    }
    match dtype {
        DType::F32 => list(shape, &proto.float_val, |&v| Some(v)),
        DType::F64 if proto.double_val.is_empty() => {
            list(shape, &proto.float_val, |&v| Some(f64::from(v)))
        }
        DType::F64 => list(shape, &proto.double_val, |&v| Some(v)),
        DType::F16 => list(shape, &proto.half_val, |&v| u16::try_from(v).ok().map(f16::from_bits)),
        DType::BF16 => {
            list(shape, &proto.half_val, |&v| u16::try_from(v).ok().map(bf16::from_bits))
        }
        DType::Bool => list(shape, &proto.bool_val, |&v| Some(Bool::from(v))),
        DType::I8 => integers::<i8>(shape, &proto),
        DType::I16 => integers::<i16>(shape, &proto),
        DType::I32 => integers::<i32>(shape, &proto),
        DType::I64 => integers::<i64>(shape, &proto),
        DType::U8 => integers::<u8>(shape, &proto),
        DType::U16 => integers::<u16>(shape, &proto),
        DType::U32 => integers::<u32>(shape, &proto),
        DType::U64 => integers::<u64>(shape, &proto),
        DType::String => strings(shape, &proto.string_val),
        _ => Err(Fault::invalid(format!("type {dtype} needs tensor_content"))),
    }
}

fn shape_of_proto(shape: Option<&TensorShapeProto>) -> Result<Shape, Fault> {
    let Some(shape) = shape else { return Ok(Shape::SCALAR) };
    if shape.unknown_rank {
        return Err(Fault::invalid("tensor of unknown rank"));
    }
    // Read no more dimensions than it takes to see that there are too many.
    let dims: Vec<i64> = shape.dim.iter().take(64).map(|d| d.size).collect();
    shape_of(&dims)
}

fn used_lists(p: &TensorProto) -> usize {
    [
        p.float_val.is_empty(),
        p.double_val.is_empty(),
        p.int_val.is_empty(),
        p.string_val.is_empty(),
        p.scomplex_val.is_empty(),
        p.int64_val.is_empty(),
        p.bool_val.is_empty(),
        p.dcomplex_val.is_empty(),
        p.half_val.is_empty(),
        p.uint32_val.is_empty(),
        p.uint64_val.is_empty(),
    ]
    .iter()
    .filter(|empty| !**empty)
    .count()
}

fn content(dtype: DType, shape: Shape, bytes: Bytes) -> Result<Tensor, Fault> {
    if dtype == DType::String {
        return Ok(Tensor::from_strings(string_content(&bytes, shape.elements())?, &shape)?);
    }
    let (expected, actual) = (shape.byte_len(dtype), bytes.len());
    if expected != actual {
        return Err(Fault::invalid(format!(
            "Invalid content size of tensor proto - Expected: {expected} bytes; Actual: {actual} bytes"
        )));
    }
    tensor_from_raw(dtype, shape, bytes)
}

/// Strings in `tensor_content`, as TensorFlow packs them: all lengths as varints, then all bytes.
fn string_content(bytes: &[u8], count: usize) -> Result<Vec<Vec<u8>>, Fault> {
    let wrong = || Fault::invalid("Invalid content size of tensor proto - strings do not fit");
    if count > bytes.len() {
        return Err(wrong());
    }
    let mut rest = bytes;
    let mut lengths = Vec::with_capacity(count);
    for _ in 0..count {
        let mut length = 0u64;
        for shift in (0..).step_by(7).take(5) {
            let (&byte, tail) = rest.split_first().ok_or_else(wrong)?;
            rest = tail;
            length |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        lengths.push(usize::try_from(length).map_err(|_| wrong())?);
    }
    let mut strings = Vec::with_capacity(count);
    for length in lengths {
        let (text, tail) = rest.split_at_checked(length).ok_or_else(wrong)?;
        strings.push(text.to_vec());
        rest = tail;
    }
    if rest.is_empty() { Ok(strings) } else { Err(wrong()) }
}

fn count_error(expected: usize, actual: usize) -> Fault {
    Fault::invalid(format!(
        "Invalid number of values in tensor proto container - Expected: {expected}; Actual: {actual}"
    ))
}

/// Whether a list of `given` values can stand for `wanted`: the same number, or fewer but at least one.
fn check_count(wanted: usize, given: usize) -> Result<(), Fault> {
    if given > wanted || (given == 0 && wanted > 0) {
        return Err(count_error(wanted, given));
    }
    Ok(())
}

fn list<S, T: Element>(
    shape: Shape,
    values: &[S],
    convert: impl Fn(&S) -> Option<T>,
) -> Result<Tensor, Fault> {
    check_count(shape.elements(), values.len())?;
    let mut buf = AlignedBuf::zeroed(shape.byte_len(T::DTYPE))?;
    let slots: &mut [T] = bytemuck::cast_slice_mut(&mut buf);
    let (front, filled) = slots.split_at_mut(values.len());
    for (slot, value) in front.iter_mut().zip(values) {
        *slot = convert(value)
            .ok_or_else(|| Fault::invalid(format!("value is out of range of type {}", T::DTYPE)))?;
    }
    if let Some(&last) = front.last() {
        filled.fill(last);
    }
    Ok(Tensor::from_buffer(T::DTYPE, shape, buf)?)
}

fn integers<T>(shape: Shape, p: &TensorProto) -> Result<Tensor, Fault>
where
    T: Element + TryFrom<i32> + TryFrom<i64> + TryFrom<u32> + TryFrom<u64>,
{
    if !p.int64_val.is_empty() {
        list(shape, &p.int64_val, |&v| T::try_from(v).ok())
    } else if !p.uint32_val.is_empty() {
        list(shape, &p.uint32_val, |&v| T::try_from(v).ok())
    } else if !p.uint64_val.is_empty() {
        list(shape, &p.uint64_val, |&v| T::try_from(v).ok())
    } else {
        list(shape, &p.int_val, |&v| T::try_from(v).ok())
    }
}

fn strings(shape: Shape, values: &[Bytes]) -> Result<Tensor, Fault> {
    check_count(shape.elements(), values.len())?;
    let mut strings: Vec<Vec<u8>> = values.iter().map(|v| v.to_vec()).collect();
    if strings.len() < shape.elements() {
        // Filling up is for numbers; a long string repeated could be any size.
        return Err(count_error(shape.elements(), values.len()));
    }
    strings.truncate(shape.elements());
    Ok(Tensor::from_strings(strings, &shape)?)
}

/// Writes a tensor, its bytes shared in `tensor_content`, strings in `string_val`.
pub fn tensor_to_proto(tensor: &Tensor) -> TensorProto {
    let mut proto = TensorProto {
        dtype: data_type(tensor.dtype()).into(),
        tensor_shape: Some(shape_to_proto(
            tensor.shape().dims().iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)),
        )),
        ..TensorProto::default()
    };
    if tensor.dtype() == DType::String {
        let strings = tensor.view().strings();
        proto.string_val = strings.iter().map(|s| Bytes::copy_from_slice(s)).collect();
    } else {
        proto.tensor_content = raw_bytes(tensor);
    }
    proto
}

/// A shape as a message; -1 stands for a free dimension.
pub fn shape_to_proto(dims: impl Iterator<Item = i64>) -> TensorShapeProto {
    let dim = |size| tensor_shape_proto::Dim { size, name: String::new() };
    TensorShapeProto { dim: dims.map(dim).collect(), unknown_rank: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::tensorflow::DataType;

    fn proto(dtype: DataType, dims: &[i64]) -> TensorProto {
        TensorProto {
            dtype: dtype.into(),
            tensor_shape: Some(shape_to_proto(dims.iter().copied())),
            ..TensorProto::default()
        }
    }

    #[test]
    fn every_type_round_trips() {
        let tensors = [
            Tensor::from_slice(&[1.5f32, -2.0], &[2]).unwrap(),
            Tensor::from_slice(&[1.5f64, -2.0], &[2, 1]).unwrap(),
            Tensor::from_slice(&[f16::ONE], &[1]).unwrap(),
            Tensor::from_slice(&[bf16::ONE], &[]).unwrap(),
            Tensor::from_slice(&[i8::MIN, 1], &[2]).unwrap(),
            Tensor::from_slice(&[u16::MAX], &[1]).unwrap(),
            Tensor::from_slice(&[u64::MAX], &[1]).unwrap(),
            Tensor::from_slice(&[Bool(1), Bool(0)], &[2]).unwrap(),
            Tensor::from_slice::<f32>(&[], &[0, 3]).unwrap(),
            Tensor::from_strings(vec![b"a\xff".to_vec(), vec![]], &[2]).unwrap(),
        ];
        for tensor in tensors {
            let back = tensor_from_proto(tensor_to_proto(&tensor), 1000);
            assert_eq!(back.unwrap(), tensor, "{}", tensor.dtype());
        }
    }

    #[test]
    fn value_lists() {
        let mut p = proto(DataType::DtInt8, &[3]);
        p.int_val = vec![1, -2];
        assert_eq!(
            tensor_from_proto(p.clone(), 1000).unwrap(),
            Tensor::from_slice(&[1i8, -2, -2], &[3]).unwrap(),
            "filled up"
        );
        p.int_val = vec![128, 0, 0];
        assert!(tensor_from_proto(p.clone(), 1000).is_err(), "range");
        p.int_val = vec![1; 4];
        assert!(tensor_from_proto(p.clone(), 1000).is_err(), "too many");
        p.int_val = vec![];
        assert!(tensor_from_proto(p.clone(), 1000).is_err(), "none");
        p.uint64_val = vec![7];
        assert_eq!(tensor_from_proto(p.clone(), 1000).unwrap().bytes(), [7, 7, 7]);
        p.int64_val = vec![7];
        assert!(tensor_from_proto(p, 1000).is_err(), "two lists");
        let mut p = proto(DataType::DtHalf, &[1]);
        p.half_val = vec![0x3c00];
        assert_eq!(
            tensor_from_proto(p, 1000).unwrap(),
            Tensor::from_slice(&[f16::ONE], &[1]).unwrap()
        );
        let mut p = proto(DataType::DtString, &[2]);
        p.tensor_content = Bytes::from_static(b"\x02\x00ab");
        assert_eq!(tensor_from_proto(p, 1000).unwrap().view().strings(), [b"ab".to_vec(), vec![]]);
    }

    #[test]
    fn hostile_messages() {
        let mut huge = proto(DataType::DtFloat, &[1 << 40]);
        huge.float_val = vec![1.0];
        let mut strings = proto(DataType::DtString, &[1 << 40]);
        strings.string_val = vec![Bytes::new()];
        let mut lengths = proto(DataType::DtString, &[1]);
        lengths.tensor_content = Bytes::from_static(b"\xff\xff\xff\xff\xff\xff");
        let mut rank = proto(DataType::DtFloat, &vec![1; 100_000]);
        rank.float_val = vec![1.0];
        let mut unknown = proto(DataType::DtFloat, &[]);
        unknown.tensor_shape = Some(TensorShapeProto { unknown_rank: true, dim: vec![] });
        let cases = [
            huge,
            strings,
            lengths,
            rank,
            unknown,
            proto(DataType::DtFloat, &[-1]),
            proto(DataType::DtFloat, &[i64::MAX, i64::MAX]),
            proto(DataType::DtResource, &[1]),
            TensorProto { dtype: 999, ..TensorProto::default() },
        ];
        for (i, case) in cases.into_iter().enumerate() {
            assert!(tensor_from_proto(case, 1 << 20).is_err(), "case {i}");
        }
    }
}
