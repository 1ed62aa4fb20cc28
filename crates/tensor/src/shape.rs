//! Shapes: short inline lists of dimensions.

use crate::{DType, TensorError};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// The highest rank of a tensor. Real models stay at 6 or below; an inline array keeps a shape `Copy`, so
/// that running a plan never allocates for one.
pub const MAX_RANK: usize = 8;

/// The dimensions of a tensor, outermost first. A scalar has rank 0.
#[derive(Clone, Copy)]
pub struct Shape {
    dims: [usize; MAX_RANK],
    rank: u8,
}

impl Shape {
    /// The shape of a scalar.
    pub const SCALAR: Shape = Shape { dims: [0; MAX_RANK], rank: 0 };

    /// A shape of these dimensions.
    ///
    /// # Errors
    /// [`TensorError::RankTooHigh`] above [`MAX_RANK`]; [`TensorError::TooManyElements`] when the product,
    /// with zeros counted as one, does not fit `isize` (so that strides cannot overflow either).
    pub fn new(dims: &[usize]) -> Result<Shape, TensorError> {
        if dims.len() > MAX_RANK {
            return Err(TensorError::RankTooHigh(dims.len()));
        }
        dims.iter()
            .try_fold(1usize, |n, &d| n.checked_mul(d.max(1)))
            .filter(|&n| n <= isize::MAX as usize / 16)
            .ok_or_else(|| TensorError::TooManyElements(dims.to_vec()))?;
        let mut shape = Shape { dims: [0; MAX_RANK], rank: dims.len() as u8 };
        shape.dims[..dims.len()].copy_from_slice(dims);
        Ok(shape)
    }

    /// This shape with another size along an axis; the same when it has no such axis.
    ///
    /// # Errors
    /// As [`Shape::new`].
    pub fn with(mut self, axis: usize, size: usize) -> Result<Shape, TensorError> {
        let Some(dim) = self.dims[..self.rank as usize].get_mut(axis) else { return Ok(self) };
        let before = std::mem::replace(dim, size);
        // A shape that was checked stays one when it shrinks.
        if size <= before { Ok(self) } else { Shape::new(&self) }
    }

    /// The number of dimensions.
    pub const fn rank(&self) -> usize {
        self.rank as usize
    }

    /// The dimensions.
    pub fn dims(&self) -> &[usize] {
        &self.dims[..self.rank as usize]
    }

    /// The product of the dimensions; 1 for a scalar. It cannot overflow: [`Shape::new`] checked it.
    pub fn elements(&self) -> usize {
        self.dims().iter().product()
    }

    /// Bytes of a contiguous tensor of this shape.
    pub fn byte_len(&self, dtype: DType) -> usize {
        dtype.byte_len(self.elements()).unwrap_or(usize::MAX)
    }

    /// Row-major strides in elements, innermost 1.
    pub fn strides(&self) -> [isize; MAX_RANK] {
        let mut strides = [0; MAX_RANK];
        let mut step = 1isize;
        for axis in (0..self.rank()).rev() {
            strides[axis] = step;
            step *= self.dims[axis].max(1) as isize;
        }
        strides
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        self.dims()
    }
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.dims() == other.dims()
    }
}
impl Eq for Shape {}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dims().hash(state);
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dims().fmt(f)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, d) in self.dims().iter().enumerate() {
            write!(f, "{}{d}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_shapes_are_refused() {
        assert_eq!(Shape::new(&[1; 9]), Err(TensorError::RankTooHigh(9)));
        for dims in [vec![16, (1 << 60) + 2], vec![0, usize::MAX, 2], vec![1 << 31, 1 << 31]] {
            assert_eq!(Shape::new(&dims), Err(TensorError::TooManyElements(dims.clone())));
        }
    }

    #[test]
    fn one_size_changes() {
        let shape = Shape::new(&[2, 3]).unwrap();
        assert_eq!(shape.with(1, 5), Shape::new(&[2, 5]));
        assert_eq!(shape.with(2, 5), Ok(shape), "no such axis");
        assert!(shape.with(0, usize::MAX).is_err());
    }

    #[test]
    fn strides_are_row_major() {
        let cases: [(&[usize], &[isize]); 3] =
            [(&[2, 3, 4], &[12, 4, 1]), (&[], &[]), (&[5, 0, 2], &[2, 2, 1])];
        for (dims, expected) in cases {
            let shape = Shape::new(dims).unwrap();
            assert_eq!(&shape.strides()[..shape.rank()], expected, "{shape}");
        }
    }
}
