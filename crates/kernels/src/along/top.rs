//! The largest or smallest few.

use super::Dims;
use core::cmp::Ordering;

/// The `k` largest (or smallest) numbers along the axis in order, and where they stand; of equal ones the
/// first come first. NaN counts as larger than all numbers. `scratch` has `axis` elements.
///
/// # Panics
/// When `k` is more than the axis, or the lengths do not fit.
pub fn top_k<T: Copy + PartialOrd>(
    largest: bool,
    k: usize,
    (outer, axis, inner): Dims,
    src: &[T],
    values: &mut [T],
    indices: &mut [i64],
    scratch: &mut [i64],
) {
    assert_eq!(src.len(), outer * axis * inner, "length of the source");
    assert_eq!(values.len(), outer * k * inner, "length of the values");
    assert_eq!(indices.len(), values.len(), "length of the indices");
    assert!(k <= axis && scratch.len() == axis, "k is more than the axis");
    if k == 0 {
        return;
    }
    for o in 0..outer {
        for j in 0..inner {
            let at = |i: i64| src[(o * axis + i as usize) * inner + j];
            let order = |&a: &i64, &b: &i64| {
                let by_value = compare(at(a), at(b));
                (if largest { by_value.reverse() } else { by_value }).then(a.cmp(&b))
            };
            scratch.iter_mut().enumerate().for_each(|(i, slot)| *slot = i as i64);
            if k < axis {
                scratch.select_nth_unstable_by(k - 1, order);
            }
            scratch[..k].sort_unstable_by(order);
            for (i, &found) in scratch[..k].iter().enumerate() {
                values[(o * k + i) * inner + j] = at(found);
                indices[(o * k + i) * inner + j] = found;
            }
        }
    }
}

/// A total order: NaN above all numbers.
#[allow(clippy::eq_op)] // only NaN differs from itself
fn compare<T: PartialOrd>(a: T, b: T) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| (a != a).cmp(&(b != b)))
}
