//! Gathers: elements and blocks picked by index tensors.

use super::{Index, OutOfRange, by_width, position};

/// Copies, for each outer position, the blocks that `indices` name along an axis of `axis` blocks of
/// `block` bytes.
///
/// # Errors
/// [`OutOfRange`] for an index outside of the axis.
///
/// # Panics
/// When a slice is too short.
pub fn gather<I: Index>(
    block: usize,
    axis: usize,
    src: &[u8],
    indices: &[I],
    dst: &mut [u8],
) -> Result<(), OutOfRange> {
    if indices.is_empty() || block == 0 || dst.is_empty() {
        return indices.iter().try_for_each(|&i| position(i, axis).map(|_| ()));
    }
    if axis == 0 {
        return Err(OutOfRange { index: indices[0].value(), limit: 0 });
    }
    let parts = src.chunks_exact(axis * block).zip(dst.chunks_exact_mut(indices.len() * block));
    for (src, dst) in parts {
        by_width!(
            block,
            gather_of_width(src, indices, dst),
            else gather_blocks(block, src, indices, dst)
        )?;
    }
    Ok(())
}

fn gather_of_width<const W: usize>(
    src: &[u8],
    indices: &[impl Index],
    dst: &mut [u8],
) -> Result<(), OutOfRange> {
    let src = src.as_chunks::<W>().0;
    for (d, &index) in dst.as_chunks_mut::<W>().0.iter_mut().zip(indices) {
        *d = src[position(index, src.len())?];
    }
    Ok(())
}

fn gather_blocks(
    block: usize,
    src: &[u8],
    indices: &[impl Index],
    dst: &mut [u8],
) -> Result<(), OutOfRange> {
    let limit = src.len() / block;
    for (d, &index) in dst.chunks_exact_mut(block).zip(indices) {
        let from = position(index, limit)? * block;
        d.copy_from_slice(&src[from..from + block]);
    }
    Ok(())
}

/// Where an index tensor leads that has as many dimensions as the data: each index replaces the
/// coordinate along `axis`.
#[derive(Debug, Clone, Copy)]
pub struct ElementIndex<'a> {
    /// Extents of the index tensor.
    pub dims: &'a [usize],
    /// Strides of the data, in elements.
    pub strides: &'a [isize],
    /// The axis.
    pub axis: usize,
    /// The data's extent along it.
    pub limit: usize,
}

impl ElementIndex<'_> {
    /// Calls `f` with the position of each index and that of the element that it names.
    #[inline(always)]
    pub(super) fn walk<I: Index>(
        &self,
        indices: &[I],
        mut f: impl FnMut(usize, usize),
    ) -> Result<(), OutOfRange> {
        let Some((&cols, outer)) = self.dims.split_last() else {
            // A scalar has no axis to index.
            return Ok(());
        };
        let last = outer.len();
        let (row_step, axis_step) = (usize::from(self.axis != last), self.strides[self.axis]);
        let mut row_start = 0;
        let mut failed = Ok(());
        let mut steps = [0isize; super::MAX_DIMS];
        steps[..last].copy_from_slice(&self.strides[..last]);
        if self.axis < last {
            steps[self.axis] = 0;
        }
        super::for_each_offset(outer, &steps, |base| {
            let row = &indices[row_start..row_start + cols];
            for (i, &index) in row.iter().enumerate() {
                match position(index, self.limit) {
                    Ok(p) => {
                        let at = base as usize + i * row_step + p * axis_step as usize;
                        f(row_start + i, at);
                    }
                    Err(error) => {
                        failed = Err(error);
                        return;
                    }
                }
            }
            row_start += cols;
        });
        failed
    }
}

/// `dst[i] = src[the element that indices[i] names]`, for elements of `element` bytes.
///
/// # Errors
/// [`OutOfRange`] for an index outside of the axis.
///
/// # Panics
/// When a slice is too short.
pub fn gather_elements<I: Index>(
    element: usize,
    src: &[u8],
    at: ElementIndex<'_>,
    indices: &[I],
    dst: &mut [u8],
) -> Result<(), OutOfRange> {
    by_width!(
        element,
        gather_elements_of_width(src, at, indices, dst),
        else panic!("elements of {element} bytes cannot be gathered")
    )
}

fn gather_elements_of_width<const W: usize>(
    src: &[u8],
    at: ElementIndex<'_>,
    indices: &[impl Index],
    dst: &mut [u8],
) -> Result<(), OutOfRange> {
    let src = src.as_chunks::<W>().0;
    let dst = dst.as_chunks_mut::<W>().0;
    at.walk(indices, |to, from| dst[to] = src[from])
}

/// How tuples of indices name blocks of a tensor.
#[derive(Debug, Clone, Copy)]
pub struct NdIndex<'a> {
    /// The extents that the tuples index, outermost first.
    pub limits: &'a [usize],
    /// The distance along each, in blocks.
    pub strides: &'a [usize],
    /// How many tuples belong to one batch entry.
    pub per_batch: usize,
    /// The distance between batch entries, in blocks.
    pub batch_stride: usize,
}

impl NdIndex<'_> {
    /// Calls `f` with the number of each tuple and the block that it names. Without an index in the
    /// tuples, `count` of them name the first block of their batch entry.
    #[inline(always)]
    pub(super) fn walk<I: Index>(
        &self,
        count: usize,
        indices: &[I],
        mut f: impl FnMut(usize, usize),
    ) -> Result<(), OutOfRange> {
        let width = self.limits.len();
        for tuple in 0..count {
            let mut at = tuple / self.per_batch.max(1) * self.batch_stride;
            let row = &indices[tuple * width..(tuple + 1) * width];
            for ((&index, &limit), &stride) in row.iter().zip(self.limits).zip(self.strides) {
                at += position(index, limit)? * stride;
            }
            f(tuple, at);
        }
        Ok(())
    }
}

/// Copies the block of `block` bytes that each of `count` index tuples names.
///
/// # Errors
/// [`OutOfRange`] for an index outside of its axis.
///
/// # Panics
/// When a slice is too short.
pub fn gather_nd<I: Index>(
    block: usize,
    src: &[u8],
    at: NdIndex<'_>,
    count: usize,
    indices: &[I],
    dst: &mut [u8],
) -> Result<(), OutOfRange> {
    at.walk(count, indices, |to, from| {
        dst[to * block..][..block].copy_from_slice(&src[from * block..][..block]);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_gathered_by_index() {
        let src = [0u8, 1, 2, 3, 4, 5];
        let cases: [(&str, usize, usize, &[i64], &[u8]); 4] = [
            ("elements", 1, 6, &[5, 0, -1], &[5, 0, 5]),
            ("inner axis of 2x3", 1, 3, &[2, -3], &[2, 0, 5, 3]),
            ("rows of three", 3, 2, &[1, 1], &[3, 4, 5, 3, 4, 5]),
            ("no index", 1, 6, &[], &[]),
        ];
        for (label, block, axis, indices, expected) in cases {
            let mut dst = [0u8; 6];
            let dst = &mut dst[..expected.len()];
            assert_eq!(gather(block, axis, &src, indices, dst), Ok(()), "{label}");
            assert_eq!(dst, expected, "{label}");
        }
        for index in [6, -7, i64::MIN, i64::MAX] {
            let got = gather(1, 6, &src, &[index], &mut [0]);
            assert_eq!(got, Err(OutOfRange { index, limit: 6 }));
        }
        assert!(gather(1, 0, &[], &[0i32], &mut [0]).is_err(), "empty axis");
    }

    #[test]
    fn elements_are_gathered_along_an_axis() {
        let src = [1u8, 2, 3, 4, 5, 6, 7, 8, 9];
        let at = ElementIndex { dims: &[2, 3], strides: &[3, 1], axis: 0, limit: 3 };
        let mut dst = [0u8; 6];
        let indices = [1i32, 2, 0, 2, 0, 0];
        assert_eq!(gather_elements(1, &src, at, &indices, &mut dst), Ok(()));
        assert_eq!(dst, [4, 8, 3, 7, 2, 3]);
        let at = ElementIndex { dims: &[2, 2], strides: &[2, 1], axis: 1, limit: 2 };
        assert_eq!(gather_elements(1, &src, at, &[0i64, 0, 1, 0], &mut dst[..4]), Ok(()));
        assert_eq!(dst[..4], [1, 1, 4, 3]);
    }

    #[test]
    fn tuples_name_blocks() {
        let src = [0u8, 1, 2, 3, 4, 5, 6, 7];
        let mut dst = [0u8; 4];
        let at = NdIndex { limits: &[2, 2], strides: &[2, 1], per_batch: 2, batch_stride: 0 };
        assert_eq!(gather_nd(2, &src, at, 2, &[0i64, 1, -1, 0], &mut dst), Ok(()));
        assert_eq!(dst, [2, 3, 4, 5]);
        let at = NdIndex { limits: &[2], strides: &[1], per_batch: 1, batch_stride: 2 };
        assert_eq!(gather_nd(2, &src, at, 2, &[1i64, 0], &mut dst), Ok(()));
        assert_eq!(dst, [2, 3, 4, 5], "one batch dimension");
    }
}
