//! Sparse tensors, stored dense: nothing above this crate knows sparse storage.

use super::Source;
use super::tensor::{allocate, read_shape, read_tensor};
use crate::{OnnxError, error::quote, proto};
use stead_tensor::{DType, Shape, Tensor};

/// A sparse tensor as a dense one, and its name, which is that of its values.
pub(super) fn read_sparse(
    proto: proto::SparseTensorProto,
    place: &str,
    source: &mut Source<'_>,
) -> Result<(String, Tensor), OnnxError> {
    let missing = |what| OnnxError::Missing { place: format!("sparse tensor {place}"), what };
    let (name, values) =
        read_tensor(proto.values.ok_or_else(|| missing("values"))?, place, source)?;
    let (_, indices) =
        read_tensor(proto.indices.ok_or_else(|| missing("indices"))?, place, source)?;
    let place = if name.is_empty() { place.to_owned() } else { quote(&name) };
    let bad = |reason: String| OnnxError::TensorData { tensor: place.clone(), reason };

    let shape = read_shape(&proto.dims, &place)?;
    let size = values.dtype().size();
    if values.dtype() == DType::String || size == 0 {
        return Err(bad(format!("sparse elements of type {} are not supported", values.dtype())));
    }
    let count = values.shape().elements();
    let indices_of = match indices.shape().dims() {
        [n] if *n == count => 1,
        [n, rank] if *n == count && *rank == shape.rank() => *rank,
        _ => return Err(bad(format!("indices of shape {} for {count} values", indices.shape()))),
    };
    let linear_form = indices.shape().rank() == 1;
    let indices = indices.as_slice::<i64>().map_err(|e| bad(format!("indices: {e}")))?;

    let bytes = shape.byte_len(values.dtype());
    source.expand(&format!("tensor {place}"), bytes)?;
    let mut dense = allocate(&place, bytes)?;
    let mut last = None;
    // A rank of 0 has rows of no indices, which `chunks` cannot give.
    let rows = indices.chunks(indices_of.max(1));
    for (row, value) in rows.zip(values.bytes().chunks_exact(size)) {
        let at = if linear_form { linear(row, shape.elements()) } else { offset(row, &shape) };
        let at = at.ok_or_else(|| bad(format!("index {row:?} is outside of shape {shape}")))?;
        if last.is_some_and(|last| at <= last) {
            return Err(bad(format!("index {row:?} is not after the one before it")));
        }
        last = Some(at);
        // `at` is below the number of elements, of which `dense` holds `size` bytes each.
        if let Some(slot) = dense.get_mut(at * size..(at + 1) * size) {
            slot.copy_from_slice(value);
        }
    }
    let tensor = Tensor::from_buffer(values.dtype(), shape, dense);
    Ok((name, tensor.map_err(|reason| OnnxError::Tensor { tensor: place.clone(), reason })?))
}

fn linear(row: &[i64], elements: usize) -> Option<usize> {
    usize::try_from(*row.first()?).ok().filter(|&at| at < elements)
}

/// The position of the element at coordinates `row`.
fn offset(row: &[i64], shape: &Shape) -> Option<usize> {
    row.iter().zip(shape.dims()).try_fold(0usize, |at, (&index, &dim)| {
        let index = usize::try_from(index).ok().filter(|&i| i < dim)?;
        Some(at * dim + index)
    })
}
