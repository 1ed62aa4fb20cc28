//! Where the largest or smallest number stands.

use super::Dims;

/// The position of the largest (or smallest) number along the axis, for each of `(outer, inner)`: the first
/// of several that are equal, or the last with `last`. NaN counts as the most extreme number.
///
/// # Panics
/// When the axis is empty but the result is not, or the lengths do not fit.
#[allow(clippy::eq_op)] // only NaN differs from itself
pub fn arg_extreme<T: Copy + PartialOrd>(
    largest: bool,
    last: bool,
    (outer, axis, inner): Dims,
    src: &[T],
    dst: &mut [i64],
) {
    assert_eq!(src.len(), outer * axis * inner, "length of the source");
    assert_eq!(dst.len(), outer * inner, "length of the destination");
    if dst.is_empty() {
        return;
    }
    assert!(axis > 0, "the axis is empty");
    dst.fill(0);
    let beats = |x: T, best: T| {
        if x != x || best != best {
            return x != x && (best == best || last);
        }
        if largest { x > best || (last && x == best) } else { x < best || (last && x == best) }
    };
    for o in 0..outer {
        let block = &src[o * axis * inner..][..axis * inner];
        let found = &mut dst[o * inner..][..inner];
        for i in 1..axis {
            for (j, found) in found.iter_mut().enumerate() {
                if beats(block[i * inner + j], block[*found as usize * inner + j]) {
                    *found = i as i64;
                }
            }
        }
    }
}

/// 1 at the first largest number along the axis, 0 elsewhere.
///
/// # Panics
/// When the lengths do not fit.
#[allow(clippy::eq_op)] // only NaN differs from itself
pub fn hardmax<T: Copy + PartialOrd>(
    (outer, axis, inner): Dims,
    [zero, one]: [T; 2],
    src: &[T],
    dst: &mut [T],
) {
    assert_eq!(src.len(), outer * axis * inner, "length of the source");
    assert_eq!(dst.len(), src.len(), "length of the destination");
    dst.fill(zero);
    if axis == 0 {
        return;
    }
    for o in 0..outer {
        for j in 0..inner {
            let at = |i: usize| (o * axis + i) * inner + j;
            let better = |best: usize, i: usize| {
                let (x, y) = (src[at(i)], src[at(best)]);
                if x > y || (x != x && y == y) { i } else { best }
            };
            dst[at((1..axis).fold(0, better))] = one;
        }
    }
}
