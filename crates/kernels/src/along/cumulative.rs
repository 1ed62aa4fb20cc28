//! Running sums and products.

use super::Dims;
use crate::reduce::Reducible;

/// What runs, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cumulative {
    /// Products instead of sums.
    pub product: bool,
    /// Without the number itself.
    pub exclusive: bool,
    /// From the end.
    pub reverse: bool,
}

/// Running sums or products along the axis.
///
/// # Panics
/// When the lengths do not fit.
pub fn cumulative<T: Reducible>(
    how: Cumulative,
    (outer, axis, inner): Dims,
    src: &[T],
    dst: &mut [T],
) {
    assert_eq!(src.len(), outer * axis * inner, "length of the source");
    assert_eq!(dst.len(), src.len(), "length of the destination");
    let Cumulative { product, exclusive, reverse } = how;
    let start = if product { T::ONE } else { T::ZERO };
    let join = |a: T, b: T| if product { a.times(b) } else { a.plus(b) };
    for o in 0..outer {
        for step in 0..axis {
            let line = |step: usize| {
                let i = if reverse { axis - 1 - step } else { step };
                (o * axis + i) * inner
            };
            for j in 0..inner {
                // The sum before this number is the previous result, and with `exclusive` lacks the
                // previous number.
                let before = match step.checked_sub(1) {
                    None => start,
                    Some(p) if exclusive => join(dst[line(p) + j], src[line(p) + j]),
                    Some(p) => dst[line(p) + j],
                };
                let at = line(step) + j;
                dst[at] = if exclusive { before } else { join(before, src[at]) };
            }
        }
    }
}
