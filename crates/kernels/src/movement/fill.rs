//! Fills: one value everywhere, one-hot vectors, triangles.

use super::by_width;

/// Repeats `pattern`, whose length divides that of `dst`.
pub fn fill(dst: &mut [u8], pattern: &[u8]) {
    if let Some(&first) = pattern.first().filter(|f| pattern.iter().all(|b| b == *f)) {
        dst.fill(first);
        return;
    }
    by_width!(
        pattern.len(),
        fill_of_width(dst, pattern),
        else dst.chunks_exact_mut(pattern.len().max(1)).for_each(|d| d.copy_from_slice(pattern))
    );
}

fn fill_of_width<const W: usize>(dst: &mut [u8], pattern: &[u8]) {
    if let Some(&value) = pattern.first_chunk::<W>() {
        dst.as_chunks_mut::<W>().0.fill(value);
    }
}

/// One-hot vectors of `depth` along an axis with `inner` elements after it: `values` holds the element
/// for "off" and then that for "on". Indices in `[-depth, depth)` switch an element on, others none.
///
/// `index` gives the index at a position, so that indices of any type will do.
///
/// # Panics
/// When `dst` has another size than `count * depth` elements.
pub fn one_hot(
    values: &[u8],
    count: usize,
    depth: usize,
    inner: usize,
    index: impl Fn(usize) -> Option<i64>,
    dst: &mut [u8],
) {
    let element = values.len() / 2;
    let (off, on) = values.split_at(element);
    assert_eq!(dst.len(), count * depth * element, "the destination has another size");
    fill(dst, off);
    for at in 0..count {
        let Some(index) = index(at) else { continue };
        let wrapped = if index < 0 { index.wrapping_add(depth as i64) } else { index };
        if (0..depth as i64).contains(&wrapped) {
            let to = (at / inner * depth + wrapped as usize) * inner + at % inner;
            dst[to * element..][..element].copy_from_slice(on);
        }
    }
}

/// Keeps the upper (or else lower) triangle of `rows` x `cols` matrices of `element` bytes and zeroes the
/// rest; `k` moves the diagonal up.
///
/// # Panics
/// When the slices are not the same whole number of matrices.
pub fn trilu(
    element: usize,
    src: &[u8],
    rows: usize,
    cols: usize,
    k: i64,
    upper: bool,
    dst: &mut [u8],
) {
    assert_eq!(src.len(), dst.len());
    let row_bytes = cols * element;
    if row_bytes == 0 || rows == 0 {
        return;
    }
    let parts = dst.chunks_exact_mut(row_bytes).zip(src.chunks_exact(row_bytes));
    for (at, (dst, src)) in parts.enumerate() {
        // The first column on or above the diagonal belongs to the upper triangle, the one after the
        // diagonal no longer to the lower one.
        let first = k.saturating_add((at % rows) as i64).saturating_add(i64::from(!upper));
        let split = first.clamp(0, cols as i64) as usize * element;
        let (keep, zero) =
            if upper { (split..row_bytes, 0..split) } else { (0..split, split..row_bytes) };
        dst[keep.clone()].copy_from_slice(&src[keep]);
        dst[zero].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_repeated() {
        for pattern in [&[1u8, 2][..], &[3, 3, 3, 3], &[1, 2, 3], &[5]] {
            let mut dst = [0u8; 12];
            fill(&mut dst, pattern);
            assert!(dst.chunks_exact(pattern.len()).all(|c| c == pattern), "{pattern:?}");
        }
    }

    #[test]
    fn indices_switch_elements_on() {
        let indices = [1i64, -1, 3];
        let mut dst = [9u8; 9];
        one_hot(&[0, 1], 3, 3, 1, |i| Some(indices[i]), &mut dst);
        assert_eq!(dst, [0, 1, 0, 0, 0, 1, 0, 0, 0], "last axis, out of range stays off");
        one_hot(&[0, 1], 3, 3, 3, |i| Some(indices[i]), &mut dst);
        assert_eq!(dst, [0, 0, 0, 1, 0, 0, 0, 1, 0], "first axis");
    }

    #[test]
    fn triangles_are_kept() {
        let src = [1u8, 2, 3, 4, 5, 6];
        let cases: [(&str, i64, bool, [u8; 6]); 6] = [
            ("upper", 0, true, [1, 2, 3, 0, 5, 6]),
            ("lower", 0, false, [1, 0, 0, 4, 5, 0]),
            ("upper, k = 1", 1, true, [0, 2, 3, 0, 0, 6]),
            ("lower, k = -1", -1, false, [0, 0, 0, 4, 0, 0]),
            ("upper, k far up", i64::MAX, true, [0; 6]),
            ("lower, k far down", i64::MIN, false, [0; 6]),
        ];
        for (label, k, upper, expected) in cases {
            let mut dst = [9u8; 6];
            trilu(1, &src, 2, 3, k, upper, &mut dst);
            assert_eq!(dst, expected, "{label}");
        }
    }
}
