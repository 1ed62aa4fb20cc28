//! Borrowed tensors.

use crate::{AlignedBuf, DType, Element, Shape, Tensor, TensorError};

/// The elements of a borrowed tensor.
#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    /// Row-major little-endian elements of a fixed size.
    Bytes(&'a [u8]),
    /// One entry for each string.
    Strings(&'a [Vec<u8>]),
}

/// A contiguous row-major tensor that somebody else owns.
#[derive(Debug, Clone, Copy)]
pub struct TensorView<'a> {
    dtype: DType,
    shape: Shape,
    data: Data<'a>,
}

impl<'a> TensorView<'a> {
    /// A view of `bytes` as elements of `dtype`. The bytes need not be aligned:
    /// [`as_slice`](Self::as_slice) tells, and [`to_tensor`](Self::to_tensor) mends.
    ///
    /// # Errors
    /// [`TensorError::WrongByteLength`] when shape and type give another size;
    /// [`TensorError::WrongType`] for strings, which have no bytes of a fixed size.
    pub fn from_bytes(
        dtype: DType,
        shape: Shape,
        bytes: &'a [u8],
    ) -> Result<TensorView<'a>, TensorError> {
        if dtype == DType::String {
            return Err(TensorError::WrongType { expected: DType::U8, actual: dtype });
        }
        let expected = shape.byte_len(dtype);
        if bytes.len() != expected {
            return Err(TensorError::WrongByteLength { expected, actual: bytes.len() });
        }
        Ok(TensorView { dtype, shape, data: Data::Bytes(bytes) })
    }

    /// A view of elements whose number was checked before.
    pub(crate) fn checked(dtype: DType, shape: Shape, data: Data<'a>) -> TensorView<'a> {
        debug_assert!(match data {
            Data::Bytes(bytes) => bytes.len() == shape.byte_len(dtype),
            Data::Strings(strings) => strings.len() == shape.elements(),
        });
        TensorView { dtype, shape, data }
    }

    /// A view of `strings`.
    ///
    /// # Errors
    /// [`TensorError::WrongElementCount`] when the shape holds another number.
    pub fn from_strings(
        shape: Shape,
        strings: &'a [Vec<u8>],
    ) -> Result<TensorView<'a>, TensorError> {
        let expected = shape.elements();
        if strings.len() != expected {
            return Err(TensorError::WrongElementCount { expected, actual: strings.len() });
        }
        Ok(TensorView { dtype: DType::String, shape, data: Data::Strings(strings) })
    }

    /// The element type.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The elements.
    pub const fn data(&self) -> Data<'a> {
        self.data
    }

    /// The bytes of the elements; empty for strings.
    pub const fn bytes(&self) -> &'a [u8] {
        match self.data {
            Data::Bytes(bytes) => bytes,
            Data::Strings(_) => &[],
        }
    }

    /// The strings; empty for every other type.
    pub const fn strings(&self) -> &'a [Vec<u8>] {
        match self.data {
            Data::Bytes(_) => &[],
            Data::Strings(strings) => strings,
        }
    }

    /// Whether the bytes start at an address that the element type can be read from.
    pub fn is_aligned(&self) -> bool {
        let align = self.dtype.size().clamp(1, 8);
        (self.bytes().as_ptr() as usize).is_multiple_of(align)
    }

    /// The elements as a typed slice.
    ///
    /// # Errors
    /// [`TensorError::WrongType`] or [`TensorError::Misaligned`].
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], TensorError> {
        if self.dtype != T::DTYPE {
            return Err(TensorError::WrongType { expected: T::DTYPE, actual: self.dtype });
        }
        bytemuck::try_cast_slice(self.bytes()).map_err(|_| TensorError::Misaligned(self.dtype))
    }

    /// An owned, aligned copy.
    ///
    /// # Errors
    /// [`TensorError::OutOfMemory`].
    pub fn to_tensor(&self) -> Result<Tensor, TensorError> {
        match self.data {
            Data::Bytes(bytes) => {
                Ok(Tensor::checked(self.dtype, self.shape, AlignedBuf::copy_of(bytes)?))
            }
            Data::Strings(strings) => Tensor::from_strings(strings.to_vec(), &self.shape),
        }
    }
}
