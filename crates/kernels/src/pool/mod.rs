//! Pools: the largest element, the mean or the norm under a sliding window. Those of whole planes are
//! reductions.

mod last;
mod sums;

pub use last::max_last;
pub use sums::{Addend, AverageCount, average, lp};

use crate::chunks::{split, split_chunks, tasks};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::window::Window;
use crate::{Isa, Parallel};

/// An element type of which pools take the largest.
pub trait Ordered: Copy + PartialOrd + Send + Sync {
    /// Not larger than any.
    const LOWEST: Self;
}

macro_rules! ordered {
    ($($t:ty => $lowest:expr),*) => {$(
        impl Ordered for $t {
            const LOWEST: Self = $lowest;
        }
    )*};
}

ordered!(f32 => f32::NEG_INFINITY, f64 => f64::NEG_INFINITY, i8 => i8::MIN, u8 => u8::MIN);

/// The largest element under the window for each output of `planes` planes. NaN is never the largest.
///
/// # Panics
/// If `x` or `y` is smaller than `window` says.
pub fn max<T: Ordered>(
    isa: Isa,
    par: &dyn Parallel,
    window: &Window,
    planes: usize,
    x: &[T],
    y: &mut [T],
) {
    let (in_len, len) = (window.input_len(), window.output_len());
    let tasks = tasks(par, planes.saturating_mul(len * window.taps()), planes);
    split_chunks(par, tasks, planes, y, len, &|range, y| {
        for (plane, y) in range.zip(y.chunks_exact_mut(len.max(1))) {
            dispatch(isa, MaxPlane { window, x: &x[plane * in_len..][..in_len], y });
        }
    });
}

struct MaxPlane<'a, T> {
    window: &'a Window,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Ordered> SimdOp for MaxPlane<'_, T> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        self.y.fill(T::LOWEST);
        let stride = self.window.strides[2];
        each_run(self.window, |x, y| {
            let x = &self.x[x..];
            let y = &mut self.y[y];
            if stride == 1 {
                for (y, &x) in y.iter_mut().zip(x) {
                    *y = if x > *y { x } else { *y };
                }
            } else {
                for (y, &x) in y.iter_mut().zip(x.iter().step_by(stride)) {
                    *y = if x > *y { x } else { *y };
                }
            }
        });
    }
}

/// Calls `f(first input, outputs)` for every tap and row of outputs of a plane: output `i` of the range lies
/// over the input `i` strides behind the first.
#[inline(always)]
fn each_run(win: &Window, mut f: impl FnMut(usize, core::ops::Range<usize>)) {
    // A window may be far wider than what is under it: most of its taps have no output.
    let is_wide = win.kernel[2] > win.input[2].saturating_add(win.output[2]);
    for od in 0..win.output[0] {
        for oh in 0..win.output[1] {
            let row = (od * win.output[1] + oh) * win.output[2];
            let (d, h) = (win.taps_at(0, od), win.taps_at(1, oh));
            for td in d.0..d.1 {
                for th in h.0..h.1 {
                    let line = win.at(0, od, td) * win.input[1] + win.at(1, oh, th);
                    if is_wide {
                        for ow in 0..win.output[2] {
                            let (first, end) = win.taps_at(2, ow);
                            for tw in first..end {
                                f(line * win.input[2] + win.at(2, ow, tw), row + ow..row + ow + 1);
                            }
                        }
                        continue;
                    }
                    for tw in 0..win.kernel[2] {
                        let (first, end) = win.outputs(2, tw);
                        if first < end {
                            let x = line * win.input[2] + win.at(2, first, tw);
                            f(x, row + first..row + end);
                        }
                    }
                }
            }
        }
    }
}

/// As [`max`], with the position of each largest element in the whole input: row-major, or with the first
/// spatial dimension running fastest if `column_major`. The first of equals counts; a window without any
/// gets -1.
///
/// # Panics
/// If `x`, `y` or `indices` is smaller than `window` says.
pub fn max_indices<T: Ordered>(
    par: &dyn Parallel,
    window: &Window,
    planes: usize,
    column_major: bool,
    x: &[T],
    y: &mut [T],
    indices: &mut [i64],
) {
    let (in_len, len) = (window.input_len(), window.output_len());
    // Both results are cut alike: the second goes where scratch would.
    let tasks = match planes {
        0 => return,
        n if tasks(par, n.saturating_mul(len * window.taps()), n) > 1 => n,
        _ => 1,
    };
    let room = planes / tasks * len;
    split(par, tasks, planes, y, len, indices, room, &|range, y, indices| {
        let outputs = y.chunks_exact_mut(len.max(1)).zip(indices.chunks_exact_mut(len.max(1)));
        for (plane, (y, indices)) in range.zip(outputs) {
            let x = &x[plane * in_len..][..in_len];
            for (o, (y, index)) in y.iter_mut().zip(indices).enumerate() {
                (*y, *index) = largest(window, x, o, column_major);
                if *index >= 0 {
                    *index += (plane * in_len) as i64;
                }
            }
        }
    });
}

fn largest<T: Ordered>(win: &Window, x: &[T], o: usize, column_major: bool) -> (T, i64) {
    let (od, oh, ow) =
        (o / win.output[2] / win.output[1], o / win.output[2] % win.output[1], o % win.output[2]);
    let (d, h, w) = (win.taps_at(0, od), win.taps_at(1, oh), win.taps_at(2, ow));
    let mut best = (T::LOWEST, -1);
    for td in d.0..d.1 {
        for th in h.0..h.1 {
            for tw in w.0..w.1 {
                let (id, ih, iw) = (win.at(0, od, td), win.at(1, oh, th), win.at(2, ow, tw));
                let value = x[(id * win.input[1] + ih) * win.input[2] + iw];
                if best.1 < 0 || value > best.0 {
                    let at = if column_major {
                        id + win.input[0] * (ih + win.input[1] * iw)
                    } else {
                        (id * win.input[1] + ih) * win.input[2] + iw
                    };
                    best = (value, at as i64);
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests;
