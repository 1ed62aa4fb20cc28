//! Tensors as JSON values.

use super::for_dtype;
use crate::fault::Fault;
use crate::json::{JsonError, Reader, read_flat, write_flat, write_nested, write_str};
use crate::json::{JsonNumber, JsonWrite};
use stead_tensor::{AlignedBuf, DType, Element, Shape, Tensor};

/// Reads a flat or nested array whose leaves fill `shape` in row-major order.
///
/// # Errors
/// Another number of values than the shape holds, values of another kind or out of range, types that JSON
/// cannot carry.
pub fn tensor_from_json_flat(
    reader: &mut Reader<'_>,
    dtype: DType,
    shape: Shape,
) -> Result<Tensor, Fault> {
    let elements = shape.elements();
    // A value takes a byte at least: with this check the body bounds what is allocated below.
    if elements > reader.remaining() {
        let actual = reader.remaining();
        return Err(Fault::invalid(format!(
            "shape {shape} has {elements} elements, more than {actual} bytes of JSON can hold"
        )));
    }
    if dtype == DType::String {
        let mut strings = Vec::with_capacity(elements);
        read_flat(reader, elements, |_, r| {
            strings.push(r.string()?.into_owned().into_bytes());
            Ok(())
        })?;
        return Ok(Tensor::from_strings(strings, &shape)?);
    }
    for_dtype!(dtype, T => read_numbers::<T>(reader, shape), _ => Err(unsupported(dtype)))
}

/// Whether tensors of a type can be written as JSON at all.
///
/// # Errors
/// Types that JSON cannot carry.
pub fn check_json(dtype: DType) -> Result<(), Fault> {
    if dtype == DType::String {
        return Ok(());
    }
    for_dtype!(dtype, T => { let _ = size_of::<T>(); Ok(()) }, _ => Err(unsupported(dtype)))
}

/// Whether a tensor can be written as JSON: its type, and strings that are UTF-8.
pub fn is_json(tensor: &Tensor) -> bool {
    let strings = tensor.dtype() == DType::String;
    check_json(tensor.dtype()).is_ok()
        && (!strings || tensor.view().strings().iter().all(|s| utf8(s).is_ok()))
}

fn unsupported(dtype: DType) -> Fault {
    Fault::unimplemented(format!("type {dtype} cannot be carried as JSON"))
}

fn read_numbers<T: Element + JsonNumber>(
    reader: &mut Reader<'_>,
    shape: Shape,
) -> Result<Tensor, Fault> {
    let mut buf = AlignedBuf::zeroed(shape.byte_len(T::DTYPE))?;
    let values: &mut [T] = bytemuck::cast_slice_mut(&mut buf);
    read_flat(reader, values.len(), |i, r| {
        let value = r.number()?;
        match values.get_mut(i) {
            Some(slot) => *slot = value,
            None => return Err(JsonError::Count { expected: i, actual: i + 1 }),
        }
        Ok(())
    })?;
    Ok(Tensor::from_buffer(T::DTYPE, shape, buf)?)
}

/// Appends the values of a tensor as one flat array.
///
/// # Errors
/// Strings that are not UTF-8, and types that JSON cannot carry.
pub fn append_json_flat(out: &mut Vec<u8>, tensor: &Tensor) -> Result<(), Fault> {
    if tensor.dtype() == DType::String {
        for (i, string) in tensor.view().strings().iter().enumerate() {
            out.push(if i == 0 { b'[' } else { b',' });
            write_str(out, utf8(string)?);
        }
        if tensor.view().strings().is_empty() {
            out.push(b'[');
        }
        out.push(b']');
        return Ok(());
    }
    for_dtype!(tensor.dtype(), T => write_flat(out, tensor.as_slice::<T>()?),
        _ => return Err(unsupported(tensor.dtype())));
    Ok(())
}

fn utf8(string: &[u8]) -> Result<&str, Fault> {
    std::str::from_utf8(string)
        .map_err(|_| Fault::invalid("a string of the output is not UTF-8: ask for binary data"))
}

/// Appends the values of a tensor nested by `dims`, from the flat index `first`; `string` writes a string.
///
/// # Errors
/// Types that JSON cannot carry, and what `string` returns.
pub fn append_json_nested(
    out: &mut Vec<u8>,
    tensor: &Tensor,
    dims: &[usize],
    first: usize,
    string: impl Fn(&mut Vec<u8>, &[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if tensor.dtype() == DType::String {
        let strings = tensor.view().strings();
        let mut result = Ok(());
        write_nested(out, dims, &mut |out, i| {
            if let (Some(s), Ok(())) = (strings.get(first + i), &result) {
                result = string(out, s);
            }
        });
        return result;
    }
    for_dtype!(tensor.dtype(), T => {
        let values = tensor.as_slice::<T>()?;
        write_nested(out, dims, &mut |out, i| {
            if let Some(v) = values.get(first + i) {
                v.write(out);
            }
        });
    }, _ => return Err(unsupported(tensor.dtype())));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_round_trips_through_json() {
        let text = "[[1],[0],[1]]";
        let shape = Shape::new(&[3, 1]).unwrap();
        for &dtype in DType::ALL {
            let Ok(tensor) = tensor_from_json_flat(&mut Reader::new(text.as_bytes()), dtype, shape)
            else {
                continue;
            };
            let mut out = Vec::new();
            append_json_flat(&mut out, &tensor).unwrap();
            let back = tensor_from_json_flat(&mut Reader::new(&out), dtype, shape).unwrap();
            assert_eq!(back, tensor, "{dtype}");
            let mut nested = Vec::new();
            append_json_nested(&mut nested, &tensor, &[3, 1], 0, |_, _| Ok(())).unwrap();
            assert_eq!(nested.iter().filter(|&&b| b == b'[').count(), 4, "{dtype}");
        }
    }

    #[test]
    fn a_shape_larger_than_the_text_allocates_nothing() {
        let shape = Shape::new(&[1 << 50]).unwrap();
        assert!(tensor_from_json_flat(&mut Reader::new(b"[1]"), DType::F64, shape).is_err());
        assert!(tensor_from_json_flat(&mut Reader::new(b"[1]"), DType::String, shape).is_err());
    }

    #[test]
    fn strings() {
        let shape = Shape::new(&[2]).unwrap();
        let t = tensor_from_json_flat(&mut Reader::new(br#"["a","\u00e9"]"#), DType::String, shape);
        let mut out = Vec::new();
        append_json_flat(&mut out, &t.unwrap()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "[\"a\",\"\u{e9}\"]");
        let raw = Tensor::from_strings(vec![vec![0xff]], &[1]).unwrap();
        assert!(append_json_flat(&mut Vec::new(), &raw).is_err());
    }
}
