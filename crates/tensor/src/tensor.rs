//! Owned tensors.

use crate::{AlignedBuf, DType, Element, Shape, SharedBytes, TensorError, TensorView};

#[derive(Debug, Clone)]
enum Storage {
    Owned(std::sync::Arc<AlignedBuf>),
    Shared(SharedBytes),
    Strings(std::sync::Arc<[Vec<u8>]>),
}

/// A contiguous row-major tensor that owns its data or shares it. Clones share; nothing changes a tensor
/// once it is made.
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
        Ok(Tensor { dtype, shape, storage: Storage::Owned(std::sync::Arc::new(buf)) })
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
        let made = match &self.storage {
            Storage::Owned(buf) => TensorView::from_bytes(self.dtype, self.shape, buf),
            Storage::Shared(bytes) => TensorView::from_bytes(self.dtype, self.shape, bytes),
            Storage::Strings(strings) => TensorView::from_strings(self.shape, strings),
        };
        match made {
            Ok(view) => view,
            // Every constructor checked the size and nothing changes a tensor.
            Err(_) => unreachable!("a tensor's size was checked when it was made"),
        }
    }

    /// The bytes of the elements; empty for strings.
    pub fn bytes(&self) -> &[u8] {
        self.view().bytes()
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
    use std::sync::Arc;

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
