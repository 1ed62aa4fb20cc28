//! Owned tensors.

use crate::growth::around;
use crate::rows::Rows;
use crate::view::Data;
use crate::{AlignedBuf, DType, Element, Shape, SharedBytes, TensorError, TensorView};
use std::sync::{Arc, OnceLock};

#[derive(Debug, Clone)]
enum Storage {
    Owned(Arc<AlignedBuf>),
    Shared(SharedBytes),
    Strings(Arc<[Vec<u8>]>),
    Grown(Arc<Grown>),
}

/// Elements with the growing axis outermost.
#[derive(Debug)]
struct Grown {
    rows: Rows,
    /// The shape when it was made, and the axis along which it grew.
    shape: Shape,
    axis: usize,
    /// The elements in row-major order, for readers that know no other.
    flat: OnceLock<AlignedBuf>,
}

impl Grown {
    /// The elements in row-major order, copied when they lie otherwise.
    fn bytes(&self, dtype: DType) -> &[u8] {
        let (outer, inner) = around(dtype, &self.shape, self.axis);
        let bytes = self.rows.bytes();
        if outer == 1 {
            return bytes;
        }
        self.flat.get_or_init(|| {
            let steps = self.shape[self.axis];
            let parts = (0..outer * steps).map(|at| {
                let start = (at % steps * outer + at / steps) * inner;
                bytes.get(start..start + inner).unwrap_or_default()
            });
            // As with every collection, the process ends where there is no memory for it.
            AlignedBuf::of_parts(bytes.len(), parts).unwrap_or_else(|_| std::process::abort())
        })
    }
}

/// A contiguous row-major tensor that owns its data or shares it. Clones share; nothing changes a tensor
/// once it is made. One that has grown ([`crate::Growth`]) may lie otherwise until somebody wants to see its elements
/// in this order.
#[derive(Debug, Clone)]
pub struct Tensor {
    dtype: DType,
    shape: Shape,
    storage: Storage,
}

impl Tensor {
    /// A tensor over an aligned buffer.
    ///
    /// # Errors
    /// [`TensorError::WrongByteLength`] when shape and type give another size.
    pub fn from_buffer(dtype: DType, shape: Shape, buf: AlignedBuf) -> Result<Tensor, TensorError> {
        TensorView::from_bytes(dtype, shape, &buf)?;
        Ok(Tensor::checked(dtype, shape, buf))
    }

    /// A tensor over a buffer whose size was checked before.
    pub(crate) fn checked(dtype: DType, shape: Shape, buf: AlignedBuf) -> Tensor {
        debug_assert_eq!(buf.len(), shape.byte_len(dtype));
        Tensor { dtype, shape, storage: Storage::Owned(Arc::new(buf)) }
    }

    /// A tensor over a range of a shared buffer, copied only if the range is not aligned for the type.
    ///
    /// # Errors
    /// [`TensorError::WrongByteLength`] when shape and type give another size, and
    /// [`TensorError::OutOfMemory`].
    pub fn from_shared(
        dtype: DType,
        shape: Shape,
        bytes: SharedBytes,
    ) -> Result<Tensor, TensorError> {
        let view = TensorView::from_bytes(dtype, shape, &bytes)?;
        if view.is_aligned() {
            Ok(Tensor { dtype, shape, storage: Storage::Shared(bytes) })
        } else {
            view.to_tensor()
        }
    }

    /// A tensor with a copy of `values`.
    ///
    /// # Errors
    /// [`TensorError::WrongElementCount`] when the shape holds another number, and the errors of
    /// [`Shape::new`].
    pub fn from_slice<T: Element>(values: &[T], dims: &[usize]) -> Result<Tensor, TensorError> {
        let shape = Shape::new(dims)?;
        if values.len() != shape.elements() {
            return Err(TensorError::WrongElementCount {
                expected: shape.elements(),
                actual: values.len(),
            });
        }
        Tensor::from_buffer(T::DTYPE, shape, AlignedBuf::copy_of(bytemuck::cast_slice(values))?)
    }

    /// A tensor of strings.
    ///
    /// # Errors
    /// As [`Tensor::from_slice`].
    pub fn from_strings(strings: Vec<Vec<u8>>, dims: &[usize]) -> Result<Tensor, TensorError> {
        let shape = Shape::new(dims)?;
        TensorView::from_strings(shape, &strings)?;
        Ok(Tensor { dtype: DType::String, shape, storage: Storage::Strings(strings.into()) })
    }

    /// A tensor of zeros (empty strings for [`DType::String`]).
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`].
    pub fn zeros(dtype: DType, shape: Shape) -> Result<Tensor, TensorError> {
        if dtype == DType::String {
            return Tensor::from_strings(vec![Vec::new(); shape.elements()], &shape);
        }
        Tensor::from_buffer(dtype, shape, AlignedBuf::zeroed(shape.byte_len(dtype))?)
    }

    /// A scalar.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`].
    pub fn scalar<T: Element>(value: T) -> Result<Tensor, TensorError> {
        Tensor::from_slice(&[value], &[])
    }

    /// A tensor that has grown along an axis.
    pub(crate) fn grown(dtype: DType, shape: Shape, axis: usize, rows: Rows) -> Tensor {
        let grown = Grown { rows, shape, axis, flat: OnceLock::new() };
        Tensor { dtype, shape, storage: Storage::Grown(Arc::new(grown)) }
    }

    /// The elements with `axis` outermost, of a tensor that has grown along it.
    pub(crate) fn rows_along(&self, axis: usize) -> Option<&Rows> {
        match &self.storage {
            Storage::Grown(grown) if grown.axis == axis && grown.shape == self.shape => {
                Some(&grown.rows)
            }
            _ => None,
        }
    }

    /// The bytes of memory that the elements take: where the tensor has grown, its room to grow among them. The
    /// same at any time, so that accounts of it even out.
    pub fn held_bytes(&self) -> usize {
        match &self.storage {
            Storage::Grown(grown) => grown.rows.capacity(),
            Storage::Owned(buf) => buf.byte_len(),
            Storage::Shared(bytes) => bytes.len(),
            Storage::Strings(strings) => {
                strings.iter().map(|s| s.len() + size_of::<Vec<u8>>()).sum()
            }
        }
    }

    /// The element type.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The same elements in another shape, shared.
    ///
    /// # Errors
    /// [`TensorError::WrongElementCount`] when the shape holds another number.
    pub fn reshaped(&self, shape: Shape) -> Result<Tensor, TensorError> {
        if shape.elements() != self.shape.elements() {
            return Err(TensorError::WrongElementCount {
                expected: shape.elements(),
                actual: self.shape.elements(),
            });
        }
        Ok(Tensor { shape, ..self.clone() })
    }

    /// The whole tensor, borrowed. It is aligned for its type.
    pub fn view(&self) -> TensorView<'_> {
        let data = match &self.storage {
            Storage::Owned(buf) => Data::Bytes(buf),
            Storage::Shared(bytes) => Data::Bytes(bytes),
            Storage::Strings(strings) => Data::Strings(strings),
            Storage::Grown(grown) => Data::Bytes(grown.bytes(self.dtype)),
        };
        // Every constructor checked the size and nothing changes a tensor.
        TensorView::checked(self.dtype, self.shape, data)
    }

    /// The bytes of the elements; empty for strings.
    pub fn bytes(&self) -> &[u8] {
        match &self.storage {
            Storage::Owned(buf) => buf,
            Storage::Shared(bytes) => bytes,
            Storage::Strings(_) => &[],
            Storage::Grown(grown) => grown.bytes(self.dtype),
        }
    }

    /// The elements as a typed slice.
    ///
    /// # Errors
    /// [`TensorError::WrongType`].
    pub fn as_slice<T: Element>(&self) -> Result<&[T], TensorError> {
        self.view().as_slice()
    }

    /// Whether the data is a range of a larger shared buffer, which therefore stays in memory.
    pub const fn is_shared(&self) -> bool {
        matches!(self.storage, Storage::Shared(_))
    }
}

impl PartialEq for Tensor {
    /// Bitwise equality: type, shape and bytes.
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && self.bytes() == other.bytes()
            && self.view().strings() == other.view().strings()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misaligned_range_is_copied_an_aligned_one_is_shared() {
        let mut bytes = vec![0u8; 12];
        bytes[4..8].copy_from_slice(&7.0f32.to_le_bytes());
        bytes[1..5].copy_from_slice(&9.0f32.to_le_bytes());
        let owner = Arc::new(AlignedBuf::copy_of(&bytes).unwrap());
        let shape = Shape::new(&[1]).unwrap();
        for (range, shared) in [(1..5, false), (4..8, true)] {
            let slice = SharedBytes::new(owner.clone(), range).unwrap();
            let t = Tensor::from_shared(DType::F32, shape, slice).unwrap();
            assert_eq!(t.is_shared(), shared);
            assert_eq!(t.as_slice::<f32>().unwrap().len(), 1);
        }
    }

    #[test]
    fn sizes_and_types_are_checked() {
        assert_eq!(
            Tensor::from_slice(&[1i32, 2], &[3]),
            Err(TensorError::WrongElementCount { expected: 3, actual: 2 })
        );
        let t = Tensor::from_slice(&[1i32, 2], &[2]).unwrap();
        assert_eq!(
            t.as_slice::<f32>().unwrap_err(),
            TensorError::WrongType { expected: DType::F32, actual: DType::I32 }
        );
    }
}
