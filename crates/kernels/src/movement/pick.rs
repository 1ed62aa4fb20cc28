//! Picking elements by value: positions of non-zero elements, compression by a mask, reversed runs.

use super::for_each_offset;

/// How many elements are not zero.
pub fn count_nonzero<T: Copy + PartialEq + Default>(src: &[T]) -> usize {
    src.iter().filter(|&&v| v != T::default()).count()
}

/// The coordinates of all non-zero elements of `src`, of extents `dims`: row `axis` of `dst` holds the
/// coordinates along that axis, in row-major order of the elements.
///
/// # Panics
/// When `dst` has another size than the number of dimensions times that of non-zero elements.
pub fn nonzero<T: Copy + PartialEq + Default>(src: &[T], dims: &[usize], dst: &mut [i64]) {
    let count = dst.len().checked_div(dims.len()).unwrap_or(0);
    let mut next = 0;
    for (at, _) in src.iter().enumerate().filter(|&(_, &v)| v != T::default()) {
        let mut rest = at;
        for (axis, &d) in dims.iter().enumerate().rev() {
            dst[axis * count + next] = (rest % d) as i64;
            rest /= d;
        }
        next += 1;
    }
    assert!(next == count || dims.is_empty(), "the number of non-zero elements has changed");
}

/// Copies the blocks of `block` bytes along an axis that `mask` selects. `src` holds `axis` blocks for each
/// outer position; a mask shorter than the axis drops the rest.
///
/// # Panics
/// When `dst` has no room for all.
pub fn compress(block: usize, axis: usize, src: &[u8], mask: &[u8], dst: &mut [u8]) {
    let mut to = 0;
    for outer in src.chunks_exact((axis * block).max(1)) {
        let blocks = outer.chunks_exact(block.max(1)).zip(mask);
        for (from, _) in blocks.filter(|&(_, &m)| m != 0) {
            dst[to..to + block].copy_from_slice(from);
            to += block;
        }
    }
}

/// What [`reverse_sequence`] walks: elements at `batch * strides[0] + time * strides[1]`, each with `inner`
/// more dimensions.
#[derive(Debug, Clone, Copy)]
pub struct SequenceDims<'a> {
    /// Extents of the batch and the time axis.
    pub dims: [usize; 2],
    /// Distances along them, in elements.
    pub strides: [isize; 2],
    /// Extents of the other axes.
    pub inner: &'a [usize],
    /// Distances along those.
    pub inner_strides: &'a [isize],
}

/// Copies `src` with the first `lens[b]` time steps of each batch entry in reverse order. Lengths are
/// clamped to the axis.
///
/// # Panics
/// When an element lies outside.
pub fn reverse_sequence<const W: usize>(
    src: &[[u8; W]],
    at: SequenceDims<'_>,
    lens: &[i64],
    dst: &mut [[u8; W]],
) {
    let [batch, time] = at.dims;
    for (b, &len) in lens.iter().enumerate().take(batch) {
        let len = len.clamp(0, time as i64) as usize;
        for t in 0..time {
            let other = if t < len { len - 1 - t } else { t };
            let row = b as isize * at.strides[0];
            let to = row + t as isize * at.strides[1];
            let from = row + other as isize * at.strides[1];
            for_each_offset(at.inner, at.inner_strides, |offset| {
                dst[(to + offset) as usize] = src[(from + offset) as usize];
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonzero_elements_are_found_by_axis() {
        let src = [1.0f32, 0.0, -0.0, f32::NAN];
        assert_eq!(count_nonzero(&src), 2);
        let mut dst = [0i64; 4];
        nonzero(&src, &[2, 2], &mut dst);
        assert_eq!(dst, [0, 1, 0, 1]);
    }

    #[test]
    fn a_mask_selects_blocks() {
        let mut dst = [0u8; 4];
        compress(1, 3, &[1, 2, 3, 4, 5, 6], &[1, 0, 1], &mut dst);
        assert_eq!(dst, [1, 3, 4, 6]);
        compress(2, 3, &[1, 2, 3, 4, 5, 6], &[1, 0], &mut dst);
        assert_eq!(dst[..2], [1, 2], "short mask");
    }

    #[test]
    fn the_first_steps_are_reversed() {
        let src = [[0u8], [1], [2], [3], [4], [5]];
        let mut dst = [[9u8]; 6];
        let at = SequenceDims { dims: [2, 3], strides: [3, 1], inner: &[], inner_strides: &[] };
        reverse_sequence(&src, at, &[2, 9], &mut dst);
        assert_eq!(dst, [[1], [0], [2], [5], [4], [3]]);
    }
}
