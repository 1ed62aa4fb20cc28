//! Raw row-major little-endian bytes, as the binary-tensor extension and gRPC carry them.

use crate::fault::Fault;
use bytes::Bytes;
use std::sync::Arc;
use stead_tensor::{DType, Shape, SharedBytes, Tensor};

/// A shape of dimensions from a request.
///
/// # Errors
/// Negative dimensions, too many of them, or a product that overflows.
pub fn shape_of(dims: &[i64]) -> Result<Shape, Fault> {
    let dims = dims
        .iter()
        .map(|&d| usize::try_from(d))
        .collect::<Result<Vec<usize>, _>>()
        .map_err(|_| Fault::invalid(format!("shape {dims:?} has a negative dimension")))?;
    Ok(Shape::new(&dims)?)
}

/// A tensor over raw bytes: shared when they are aligned for the type, copied otherwise.
///
/// # Errors
/// A size that does not fit shape and type; strings whose lengths do not add up.
pub fn tensor_from_raw(dtype: DType, shape: Shape, bytes: Bytes) -> Result<Tensor, Fault> {
    if dtype == DType::String {
        let strings = string_elements(&bytes, shape.elements())?;
        return Ok(Tensor::from_strings(strings, &shape)?);
    }
    let len = bytes.len();
    let shared = SharedBytes::new(Arc::new(bytes), 0..len)
        .ok_or_else(|| Fault::invalid("tensor data is out of range"))?;
    Ok(Tensor::from_shared(dtype, shape, shared)?)
}

/// Reads `count` strings, each a little-endian `u32` length and its bytes.
///
/// # Errors
/// Lengths that leave the buffer, and another number of strings.
pub fn string_elements(mut bytes: &[u8], count: usize) -> Result<Vec<Vec<u8>>, Fault> {
    // Each string takes 4 bytes at least, so this allocation is bounded by the request.
    if count > bytes.len() / 4 {
        return Err(Fault::invalid(format!(
            "{count} strings expected, {} bytes cannot hold them",
            bytes.len()
        )));
    }
    let mut strings = Vec::with_capacity(count);
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((text, rest)) = rest.split_at_checked(length) else {
            return Err(Fault::invalid(format!(
                "string of {length} bytes expected, {} left",
                rest.len()
            )));
        };
        if strings.len() == count {
            return Err(Fault::invalid(format!("{count} strings expected, got more")));
        }
        strings.push(text.to_vec());
        bytes = rest;
    }
    if strings.len() != count || !bytes.is_empty() {
        return Err(Fault::invalid(format!("{count} strings expected, got {}", strings.len())));
    }
    Ok(strings)
}

/// Bytes that [`append_raw`] will write.
pub fn raw_len(tensor: &Tensor) -> usize {
    match tensor.dtype() {
        DType::String => tensor.view().strings().iter().map(|s| s.len() + 4).sum(),
        _ => tensor.bytes().len(),
    }
}

/// Appends a tensor as raw bytes.
pub fn append_raw(out: &mut Vec<u8>, tensor: &Tensor) {
    if tensor.dtype() != DType::String {
        out.extend_from_slice(tensor.bytes());
        return;
    }
    for string in tensor.view().strings() {
        // Longer strings than 4 GiB cannot come in and no operator makes them.
        let length = u32::try_from(string.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(string);
    }
}

/// Raw bytes that share the tensor's memory where they can.
pub fn raw_bytes(tensor: &Tensor) -> Bytes {
    if tensor.dtype() == DType::String {
        let mut out = Vec::with_capacity(raw_len(tensor));
        append_raw(&mut out, tensor);
        return out.into();
    }
    Bytes::from_owner(TensorBytes(tensor.clone()))
}

struct TensorBytes(Tensor);

impl AsRef<[u8]> for TensorBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_have_lengths_that_must_add_up() {
        let good = b"\x02\0\0\0ab\0\0\0\0";
        assert_eq!(string_elements(good, 2).unwrap(), [b"ab".to_vec(), vec![]]);
        let cases: [(&[u8], usize); 6] = [
            (good, 1),
            (good, 3),
            (b"\x05\0\0\0ab", 1),
            (b"\xff\xff\xff\xff", 1),
            (b"\x01\0\0", 1),
            (b"\x01\0\0\0abc", 1),
        ];
        for (bytes, count) in cases {
            assert!(string_elements(bytes, count).is_err(), "{bytes:?} {count}");
        }
        assert!(string_elements(&[], usize::MAX).is_err());
        assert_eq!(string_elements(&[], 0).unwrap(), Vec::<Vec<u8>>::new());
    }

    #[test]
    fn raw_tensors_round_trip() {
        let shape = Shape::new(&[2, 1]).unwrap();
        let cases = [
            Tensor::from_slice(&[1.5f32, -2.0], &[2, 1]).unwrap(),
            Tensor::from_slice(&[1u8, 255], &[2, 1]).unwrap(),
            Tensor::from_slice(&[half::bf16::ONE, half::bf16::NEG_ONE], &[2, 1]).unwrap(),
            Tensor::from_strings(vec![b"x".to_vec(), vec![]], &[2, 1]).unwrap(),
        ];
        for tensor in cases {
            let bytes = raw_bytes(&tensor);
            assert_eq!(bytes.len(), raw_len(&tensor));
            // Once aligned and once not.
            for offset in 0..2 {
                let mut padded = vec![0; offset];
                append_raw(&mut padded, &tensor);
                let moved = Bytes::from(padded).slice(offset..);
                assert_eq!(tensor_from_raw(tensor.dtype(), shape, moved).unwrap(), tensor);
            }
            assert!(tensor_from_raw(tensor.dtype(), shape, bytes.slice(1..)).is_err());
        }
    }

    #[test]
    fn hostile_shapes() {
        for dims in [&[-1i64, 1][..], &[16, (1 << 60) + 2], &[i64::MAX, i64::MAX], &[1; 100]] {
            assert!(shape_of(dims).is_err(), "{dims:?}");
        }
        let rank = vec![1i64; 100_000];
        assert!(shape_of(&rank).is_err());
    }
}
