//! The columns of a convolution whose taps are moved, each by offsets of its own (Dai et al., "Deformable Convolutional
//! Networks", 2017).

use super::grid::Coordinate;
use crate::window::Window;

/// The sizes of one image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deform {
    /// Height and width are the last two of its dimensions; the first has one of everything.
    pub window: Window,
    /// Channels of the input.
    pub channels: usize,
    /// Groups of channels that share offsets.
    pub offset_groups: usize,
}

/// Writes `[channels, taps, positions]`: what each tap sees of `x`, `[channels, height, width]`, at each position of the
/// output, between elements by linear interpolation and zeros outside, times `mask`. `offsets` are
/// `[offset_groups, taps, 2, positions]`, down and to the right, and `mask` is `[offset_groups, taps, positions]`.
///
/// # Panics
/// When lengths do not fit.
pub fn deformed_columns<T: Coordinate>(
    d: &Deform,
    x: &[T],
    offsets: &[T],
    mask: Option<&[T]>,
    out: &mut [T],
) {
    let w = &d.window;
    let (plane, taps, positions) = (w.input_len(), w.taps(), w.output_len());
    assert!(d.offset_groups > 0 && d.channels.is_multiple_of(d.offset_groups), "groups");
    assert_eq!(x.len(), d.channels * plane, "length of the input");
    assert_eq!(offsets.len(), d.offset_groups * taps * 2 * positions, "length of the offsets");
    assert!(mask.is_none_or(|m| m.len() == d.offset_groups * taps * positions), "mask");
    assert_eq!(out.len(), d.channels * taps * positions, "length of the columns");
    let [_, height, width] = w.input;
    let share = d.channels / d.offset_groups;
    for group in 0..d.offset_groups {
        for tap in 0..taps {
            let (i, j) = (tap / w.kernel[2], tap % w.kernel[2]);
            for position in 0..positions {
                let (row, column) = (position / w.output[2], position % w.output[2]);
                let place = |axis: usize, output: usize, tap: usize| {
                    let at = output * w.strides[axis] + tap * w.dilations[axis];
                    T::of(at as f64 - w.pads[axis] as f64)
                };
                let at = ((group * taps + tap) * 2) * positions + position;
                let y = place(1, row, i) + offsets[at];
                let z = place(2, column, j) + offsets[at + positions];
                let factor =
                    mask.map_or(T::ONE, |m| m[(group * taps + tap) * positions + position]);
                let seen = corners(y, z, [height, width]);
                for channel in group * share..(group + 1) * share {
                    let x = &x[channel * plane..][..plane];
                    let mut sum = T::ZERO;
                    for (i, weight) in seen.into_iter().flatten() {
                        sum = sum + x[i] * weight;
                    }
                    out[(channel * taps + tap) * positions + position] = sum * factor;
                }
            }
        }
    }
}

/// The four elements around a point and their shares; `None` for those outside.
fn corners<T: Coordinate>(y: T, x: T, [height, width]: [usize; 2]) -> [Option<(usize, T)>; 4] {
    let (top, left) = (y.floor(), x.floor());
    let (down, right) = (y - top, x - left);
    let element = |dy: i64, dx: i64, weight: T| {
        let row = usize::try_from((top.wide() as i64).saturating_add(dy)).ok()?;
        let column = usize::try_from((left.wide() as i64).saturating_add(dx)).ok()?;
        (row < height && column < width).then(|| (row * width + column, weight))
    };
    [
        element(0, 0, (T::ONE - down) * (T::ONE - right)),
        element(0, 1, (T::ONE - down) * right),
        element(1, 0, down * (T::ONE - right)),
        element(1, 1, down * right),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_are_moved() {
        let window = Window {
            input: [1, 2, 2],
            output: [1, 1, 1],
            kernel: [1, 1, 2],
            strides: [1; 3],
            dilations: [1; 3],
            pads: [0; 3],
        };
        let d = Deform { window, channels: 1, offset_groups: 1 };
        let x = [1.0, 2.0, 3.0, 4.0];
        // The first tap half a row down, the second one column to the right and so outside.
        let offsets = [0.5, 0.0, 0.0, 1.0];
        let mut out = [f32::NAN; 2];
        deformed_columns(&d, &x, &offsets, None, &mut out);
        assert_eq!(out, [2.0, 0.0]);
        deformed_columns(&d, &x, &[0.0; 4], Some(&[1.0, 0.5]), &mut out);
        assert_eq!(out, [1.0, 1.0]);
        // Further away than there are rows or columns of anything.
        deformed_columns(&d, &x, &[1e30, 1e30, -1e30, f32::INFINITY], None, &mut out);
        assert_eq!(out, [0.0, 0.0]);
    }
}
