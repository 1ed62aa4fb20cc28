//! Which elements of several operands meet, after NumPy's rules of broadcasting.

use core::ops::Range;

/// The most dimensions of an operand.
pub const MAX_DIMS: usize = 8;

/// How the elements of `N` operands meet to give a row-major result.
///
/// Dimensions that lie one after the other in all operands are merged, so that most computations are left
/// with one or two. The last one is the *row*, over which kernels loop.
///
/// ```
/// use stead_kernels::broadcast::Broadcast;
/// // [2, 3] with [3]: the second operand starts anew in each row.
/// let plan = Broadcast::new(&[2, 3], [&[3, 1], &[0, 1]], [0, 0]);
/// let rows: Vec<_> = plan.rows(0..6).map(|row| (row.at, row.start, row.len)).collect();
/// assert_eq!(rows, [([0, 0], 0, 3), ([3, 0], 3, 3)]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broadcast<const N: usize> {
    rank: usize,
    dims: [usize; MAX_DIMS],
    strides: [[isize; MAX_DIMS]; N],
    offsets: [usize; N],
}

/// A run of elements along the last dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<const N: usize> {
    /// The position of the first element in each operand.
    pub at: [usize; N],
    /// The position of the first element of the result.
    pub start: usize,
    /// The number of elements.
    pub len: usize,
}

impl<const N: usize> Broadcast<N> {
    /// A plan for a result of extents `dims`. `strides` gives for each operand the distance between elements
    /// along each dimension, 0 where it is broadcast; `offsets` the positions of the first elements.
    ///
    /// # Panics
    /// When there are more than [`MAX_DIMS`] dimensions or fewer strides than dimensions.
    pub fn new(dims: &[usize], strides: [&[isize]; N], offsets: [usize; N]) -> Broadcast<N> {
        assert!(dims.len() <= MAX_DIMS, "too many dimensions");
        // Collected from the last dimension on, turned around at the end.
        let mut merged = [1usize; MAX_DIMS];
        let mut steps = [[0isize; MAX_DIMS]; N];
        let mut rank = 0;
        for axis in (0..dims.len()).rev() {
            if dims[axis] == 1 {
                continue;
            }
            let follows = rank > 0
                && (0..N)
                    .all(|k| strides[k][axis] == steps[k][rank - 1] * merged[rank - 1] as isize);
            if follows {
                merged[rank - 1] *= dims[axis];
            } else {
                merged[rank] = dims[axis];
                (0..N).for_each(|k| steps[k][rank] = strides[k][axis]);
                rank += 1;
            }
        }
        let rank = rank.max(1);
        merged[..rank].reverse();
        steps.iter_mut().for_each(|s| s[..rank].reverse());
        Broadcast { rank, dims: merged, strides: steps, offsets }
    }

    /// The number of elements of the result.
    pub fn elements(&self) -> usize {
        self.dims[..self.rank].iter().product()
    }

    /// The distance between the elements of a row, for each operand.
    #[inline(always)]
    pub fn row_strides(&self) -> [isize; N] {
        core::array::from_fn(|k| self.strides[k][self.rank - 1])
    }

    /// The rows, and parts of rows, that make up a range of the result.
    #[inline(always)]
    pub fn rows(&self, range: Range<usize>) -> Rows<'_, N> {
        let mut index = [0; MAX_DIMS];
        let mut at = self.offsets.map(|o| o as isize);
        let mut rest = range.start;
        for axis in (0..self.rank).rev() {
            index[axis] = rest % self.dims[axis].max(1);
            rest /= self.dims[axis].max(1);
            if axis + 1 < self.rank {
                for (k, at) in at.iter_mut().enumerate() {
                    *at += index[axis] as isize * self.strides[k][axis];
                }
            }
        }
        Rows { plan: self, index, at, next: range.start, end: range.end.min(self.elements()) }
    }
}

/// An iterator over rows.
#[derive(Debug, Clone)]
pub struct Rows<'a, const N: usize> {
    plan: &'a Broadcast<N>,
    index: [usize; MAX_DIMS],
    /// The start of the current whole row.
    at: [isize; N],
    next: usize,
    end: usize,
}

impl<const N: usize> Iterator for Rows<'_, N> {
    type Item = Row<N>;

    #[inline(always)]
    fn next(&mut self) -> Option<Row<N>> {
        if self.next >= self.end {
            return None;
        }
        let plan = self.plan;
        let last = plan.rank - 1;
        let skipped = self.index[last];
        let len = (plan.dims[last] - skipped).min(self.end - self.next);
        let at = core::array::from_fn(|k| {
            (self.at[k] + skipped as isize * plan.strides[k][last]) as usize
        });
        let row = Row { at, start: self.next, len };
        self.next += len;
        self.index[last] = 0;
        for axis in (0..last).rev() {
            self.index[axis] += 1;
            let whole = self.index[axis] == plan.dims[axis];
            for k in 0..N {
                let back = if whole { plan.dims[axis] as isize - 1 } else { -1 };
                self.at[k] -= back * plan.strides[k][axis];
            }
            if !whole {
                break;
            }
            self.index[axis] = 0;
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    /// All positions by the definition, without merging.
    fn naive(dims: &[usize], strides: &[&[isize]], offsets: &[usize]) -> Vec<Vec<usize>> {
        let total: usize = dims.iter().product();
        let position = |flat: usize, strides: &[isize], offset: usize| {
            let mut rest = flat;
            let mut at = offset as isize;
            for axis in (0..dims.len()).rev() {
                at += (rest % dims[axis]) as isize * strides[axis];
                rest /= dims[axis];
            }
            at as usize
        };
        (0..total)
            .map(|i| strides.iter().zip(offsets).map(|(s, &o)| position(i, s, o)).collect())
            .collect()
    }

    #[test]
    fn rows_cover_every_element_once() {
        let cases: [(&str, &[usize], [&[isize]; 2], [usize; 2], usize); 8] = [
            ("same shape merges whole", &[2, 3, 4], [&[12, 4, 1], &[12, 4, 1]], [0, 0], 1),
            ("row vector", &[2, 3, 4], [&[12, 4, 1], &[0, 0, 1]], [0, 5], 6),
            ("column vector", &[2, 3, 4], [&[12, 4, 1], &[3, 1, 0]], [0, 0], 6),
            ("scalar", &[2, 3], [&[3, 1], &[0, 0]], [1, 7], 1),
            ("outer", &[3, 4], [&[1, 0], &[0, 1]], [0, 0], 3),
            ("reversed", &[2, 4], [&[4, -1], &[4, 1]], [3, 0], 2),
            ("no dimensions", &[], [&[], &[]], [2, 3], 1),
            ("ones vanish", &[1, 3, 1, 2], [&[9, 2, 9, 1], &[0, 2, 0, 1]], [0, 0], 1),
        ];
        for (label, dims, strides, offsets, rows) in cases {
            let plan = Broadcast::new(dims, strides, offsets);
            let expected = naive(dims, &strides, &offsets);
            assert_eq!(plan.elements(), expected.len(), "{label}");
            assert_eq!(plan.rows(0..expected.len()).count(), rows, "{label}");
            for start in 0..expected.len() {
                let mut got = Vec::new();
                for row in plan.rows(start..expected.len()) {
                    assert_eq!(row.start, start + got.len(), "{label}");
                    for i in 0..row.len {
                        let steps = plan.row_strides();
                        got.push(
                            (0..2)
                                .map(|k| (row.at[k] as isize + i as isize * steps[k]) as usize)
                                .collect::<Vec<_>>(),
                        );
                    }
                }
                assert_eq!(got, expected[start..], "{label} from {start}");
            }
        }
    }

    #[test]
    fn nothing_has_no_rows() {
        let plan = Broadcast::new(&[2, 0, 3], [&[0, 3, 1]], [0]);
        assert_eq!((plan.elements(), plan.rows(0..0).count()), (0, 0));
    }
}
