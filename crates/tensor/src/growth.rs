//! Tensors that become longer along one axis without a copy.
//!
//! Such a tensor is stored with the growing axis outermost, whatever its place among the dimensions: new elements
//! then lie behind all old ones, and what was there never moves but when the capacity doubles.

use crate::rows::{Rows, Tail};
use crate::{DType, MAX_RANK, Shape, Tensor, TensorError};

/// Strides in elements of a tensor that is stored with `axis` outermost.
pub fn grown_strides(shape: &Shape, axis: usize) -> [isize; MAX_RANK] {
    let mut strides = [0; MAX_RANK];
    let mut step = 1isize;
    for at in (0..shape.rank()).rev().filter(|&at| at != axis) {
        strides[at] = step;
        step *= shape[at].max(1) as isize;
    }
    if axis < shape.rank() {
        strides[axis] = step;
    }
    strides
}

/// How the elements lie around an axis: blocks before it, and bytes in each block for one step along it.
pub(crate) fn around(dtype: DType, shape: &Shape, axis: usize) -> (usize, usize) {
    let dims = shape.dims();
    let outer = dims.get(..axis).unwrap_or_default().iter().product();
    let inner: usize = dims.get(axis + 1..).unwrap_or_default().iter().product();
    (outer, inner.saturating_mul(dtype.size()))
}

/// A tensor that is being appended to along an axis. Dropping it changes nothing; [`Growth::finish`] gives the
/// longer tensor, which shares its elements with the old one.
#[derive(Debug)]
pub struct Growth {
    dtype: DType,
    shape: Shape,
    axis: usize,
    /// Bytes for one step along the axis.
    row: usize,
    tail: Tail,
}

impl Growth {
    /// Whether tensors of this type and shape can grow along the axis: they have it, elements have whole bytes, and
    /// one step along the axis is something.
    pub fn suits(dtype: DType, shape: &Shape, axis: usize) -> bool {
        let others = shape.iter().enumerate().filter(|(at, _)| *at != axis).all(|(_, n)| *n > 0);
        axis < shape.rank() && others && dtype != DType::String && dtype.bits() >= 8
    }

    /// Begins to append to a tensor along `axis`. One that has not grown along this axis before is copied, and so is
    /// one to which somebody else has appended.
    ///
    /// # Errors
    /// [`TensorError::WrongType`] where [`Growth::suits`] says no, and [`TensorError::OutOfMemory`].
    pub fn new(tensor: &Tensor, axis: usize) -> Result<Growth, TensorError> {
        let (dtype, shape) = (tensor.dtype(), tensor.shape());
        if !Growth::suits(dtype, &shape, axis) {
            return Err(TensorError::WrongType { expected: DType::U8, actual: dtype });
        }
        let (outer, inner) = around(dtype, &shape, axis);
        let row = outer * inner;
        if let Some(rows) = tensor.rows_along(axis) {
            return Ok(Growth { dtype, shape, axis, row, tail: Tail::new(rows.clone()) });
        }
        let (bytes, steps) = (tensor.bytes(), shape[axis]);
        let mut tail = Tail::new(Rows::with_capacity(bytes.len().saturating_mul(2))?);
        let out = tail.append(bytes.len())?;
        for (o, block) in bytes.chunks_exact((steps * inner).max(1)).enumerate() {
            for (t, part) in block.chunks_exact(inner).enumerate() {
                let at = t * row + o * inner;
                out[at..at + inner].copy_from_slice(part);
            }
        }
        Ok(Growth { dtype, shape, axis, row, tail: Tail::new(tail.finish()) })
    }

    /// The element type.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// The shape now, what was appended included.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The axis.
    pub const fn axis(&self) -> usize {
        self.axis
    }

    /// The elements, what was appended included; [`grown_strides`] tells how they lie.
    pub fn bytes(&self) -> &[u8] {
        self.tail.bytes()
    }

    /// Appends `steps` steps along the axis and gives their bytes to be written. They hold anything.
    ///
    /// # Errors
    /// [`TensorError::TooManyElements`] and [`TensorError::OutOfMemory`].
    pub fn append(&mut self, steps: usize) -> Result<&mut [u8], TensorError> {
        let mut dims = [0; MAX_RANK];
        dims[..self.shape.rank()].copy_from_slice(self.shape.dims());
        dims[self.axis] = dims[self.axis].saturating_add(steps);
        let shape = Shape::new(&dims[..self.shape.rank()])?;
        let bytes = self.tail.append(self.row * steps)?;
        self.shape = shape;
        Ok(bytes)
    }

    /// The longer tensor.
    pub fn finish(self) -> Tensor {
        Tensor::grown(self.dtype, self.shape, self.axis, self.tail.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tensor [outer, n, inner] whose elements tell their place.
    fn tensor(outer: usize, from: usize, to: usize, inner: usize) -> Tensor {
        let value = |o: usize, t: usize, i: usize| (o * 10_000 + t * 100 + i) as i32;
        let values = (0..outer)
            .flat_map(|o| (from..to).flat_map(move |t| (0..inner).map(move |i| value(o, t, i))));
        Tensor::from_slice(&values.collect::<Vec<_>>(), &[outer, to - from, inner]).unwrap()
    }

    fn append(tensor: &Tensor, new: &Tensor) -> Tensor {
        let mut growth = Growth::new(tensor, 1).unwrap();
        let new = Growth::new(new, 1).unwrap();
        growth.append(new.shape()[1]).unwrap().copy_from_slice(new.bytes());
        growth.finish()
    }

    #[test]
    fn grown_tensors_read_like_any_other() {
        for (outer, inner) in [(1, 1), (1, 3), (4, 1), (3, 2)] {
            let mut grown = tensor(outer, 0, 0, inner);
            for step in 0..9 {
                grown = append(&grown, &tensor(outer, step, step + 1, inner));
                let room = (step + 1usize).next_power_of_two();
                assert_eq!(grown.held_bytes(), room * outer * inner * 4, "doubled from one on");
                assert_eq!(grown, tensor(outer, 0, step + 1, inner), "{outer} {inner}");
            }
            let reshaped = grown.reshaped(Shape::new(&[outer * 9 * inner]).unwrap()).unwrap();
            assert_eq!(reshaped.bytes(), tensor(outer, 0, 9, inner).bytes());
            let (start, longer) = (grown.clone(), append(&grown, &tensor(outer, 9, 11, inner)));
            assert_eq!(start, tensor(outer, 0, 9, inner));
            assert_eq!(longer, tensor(outer, 0, 11, inner));
        }
    }

    #[test]
    fn what_cannot_grow_is_refused() {
        let zeros =
            |dtype, dims: &[usize]| Tensor::zeros(dtype, Shape::new(dims).unwrap()).unwrap();
        for (label, tensor, axis) in [
            ("strings", zeros(DType::String, &[2]), 0),
            ("no such axis", zeros(DType::F32, &[2]), 1),
            ("nothing in a step", zeros(DType::F32, &[2, 0]), 0),
        ] {
            assert!(Growth::new(&tensor, axis).is_err(), "{label}");
        }
    }
}
