//! Pieces of tensors along an axis.

use std::ops::Range;
use stead_tensor::{AlignedBuf, DType, Shape, Tensor, TensorError, TensorView};

/// How the elements lie around an axis: blocks in front of it, and elements behind it.
fn around(shape: &Shape, axis: usize) -> (usize, usize) {
    let dims = shape.dims();
    let outer = dims.get(..axis).unwrap_or_default().iter().product();
    let inner = dims.get(axis + 1..).unwrap_or_default().iter().product();
    (outer, inner)
}

/// Tensors of one type, one after the other along an axis; they are equal in all others.
///
/// # Errors
/// [`TensorError`] when memory is short.
pub(crate) fn concat<'a>(parts: &[&'a Tensor], axis: usize) -> Result<Tensor, TensorError> {
    let Some(first) = parts.first() else { return Tensor::zeros(DType::F32, Shape::new(&[0])?) };
    let size = |t: &Tensor| t.shape().get(axis).copied().unwrap_or(0);
    let shape = first.shape().with(axis, parts.iter().map(|t| size(t)).sum())?;
    let (outer, inner) = around(&first.shape(), axis);
    if first.dtype() == DType::String {
        let blocks = (0..outer).flat_map(|o| parts.iter().map(move |t| (o, t)));
        let block = |(o, t): (usize, &&Tensor)| {
            let n = size(t) * inner;
            t.view().strings().get(o * n..(o + 1) * n).unwrap_or_default().to_vec()
        };
        return Tensor::from_strings(blocks.flat_map(block).collect(), &shape);
    }
    if outer == 1 {
        // The blocks are the tensors.
        let buf = AlignedBuf::of_parts(
            shape.byte_len(first.dtype()),
            parts.iter().map(|part| part.bytes()),
        )?;
        return Tensor::from_buffer(first.dtype(), shape, buf);
    }
    let block = |o: usize, part: &'a Tensor| {
        let n = size(part) * inner * part.dtype().size();
        part.bytes().get(o * n..(o + 1) * n).unwrap_or_default()
    };
    let blocks = (0..outer).flat_map(|o| parts.iter().map(move |part| block(o, part)));
    let buf = AlignedBuf::of_parts(shape.byte_len(first.dtype()), blocks)?;
    Tensor::from_buffer(first.dtype(), shape, buf)
}

/// The elements of a range along an axis.
///
/// # Errors
/// [`TensorError`] when memory is short.
pub(crate) fn cut(
    view: TensorView<'_>,
    axis: usize,
    range: Range<usize>,
) -> Result<Tensor, TensorError> {
    let whole = view.shape();
    let shape = whole.with(axis, range.len())?;
    let (outer, inner) = around(&whole, axis);
    let row = whole.get(axis).copied().unwrap_or(0) * inner;
    let place = |o: usize| o * row + range.start * inner..o * row + range.end * inner;
    if view.dtype() == DType::String {
        let block = |o| view.strings().get(place(o)).unwrap_or_default().to_vec();
        return Tensor::from_strings((0..outer).flat_map(block).collect(), &shape);
    }
    let size = view.dtype().size();
    let block = |o: usize| {
        let place = place(o);
        view.bytes().get(place.start * size..place.end * size).unwrap_or_default()
    };
    let buf = AlignedBuf::of_parts(shape.byte_len(view.dtype()), (0..outer).map(block))?;
    Tensor::from_buffer(view.dtype(), shape, buf)
}

/// Cuts a tensor into parts with these sizes along an axis. `None` when they are not its size, or an element is
/// no whole number of bytes.
pub(super) fn split(
    view: TensorView<'_>,
    axis: usize,
    sizes: &[usize],
) -> Option<Result<Vec<Tensor>, TensorError>> {
    let total: usize = sizes.iter().sum();
    let string = view.dtype() == DType::String;
    if *view.shape().get(axis)? != total || (!string && view.dtype().bits() < 8) {
        return None;
    }
    let mut at = 0;
    let part = |n: &usize| {
        let range = at..at + n;
        at += n;
        cut(view, axis, range)
    };
    Some(sizes.iter().map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Splitting what was joined gives the parts back, along any axis.
        #[test]
        fn concat_and_split_are_inverse(
            sizes in prop::collection::vec(0usize..4, 1..5),
            outer in 0usize..3,
            inner in 0usize..3,
            strings: bool,
        ) {
            let part = |(i, n): (usize, &usize)| {
                let dims = [outer, *n, inner];
                let values: Vec<i64> = (0..outer * n * inner).map(|k| (100 * i + k) as i64).collect();
                if strings {
                    let texts = values.iter().map(|v| v.to_string().into_bytes()).collect();
                    return Tensor::from_strings(texts, &dims).unwrap();
                }
                Tensor::from_slice(&values, &dims).unwrap()
            };
            let parts: Vec<Tensor> = sizes.iter().enumerate().map(part).collect();
            let whole = concat(&parts.iter().collect::<Vec<_>>(), 1).unwrap();
            prop_assert_eq!(split(whole.view(), 1, &sizes).unwrap().unwrap(), parts);
        }
    }

    #[test]
    fn what_cannot_be_cut() {
        let t = Tensor::from_slice(&[1i64, 2, 3], &[3]).unwrap();
        assert!(split(t.view(), 0, &[1, 1]).is_none(), "other rows");
        assert!(split(Tensor::scalar(1.0f32).unwrap().view(), 0, &[1, 1]).is_none(), "no axis");
    }
}
