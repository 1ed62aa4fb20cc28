//! Pools of images whose channels lie together.

use super::Ordered;
use crate::chunks::{split_chunks, tasks};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::window::Window;
use crate::{Isa, Parallel};

/// As [`max`](super::max), of `[batch, spatial..., channels]`.
///
/// # Panics
/// If `x` or `y` is smaller than `window` says.
pub fn max_last<T: Ordered>(
    isa: Isa,
    par: &dyn Parallel,
    window: &Window,
    [batch, channels]: [usize; 2],
    x: &[T],
    y: &mut [T],
) {
    let (lines, line) = (window.output[0] * window.output[1], window.output[2] * channels);
    let rows = batch * lines;
    assert!(x.len() >= batch * window.input_len() * channels, "input of a pool");
    let tasks = tasks(par, rows.saturating_mul(line * window.taps()), rows);
    split_chunks(par, tasks, rows, y, line, &|range, y| {
        for (row, y) in range.zip(y.chunks_exact_mut(line.max(1))) {
            let image = window.input_len() * channels;
            let x = &x[row / lines * image..][..image];
            dispatch(isa, Line { window, channels, x, line: row % lines, y });
        }
    });
}

/// A line of outputs of one image.
struct Line<'a, T> {
    window: &'a Window,
    channels: usize,
    x: &'a [T],
    line: usize,
    y: &'a mut [T],
}

impl<T: Ordered> SimdOp for Line<'_, T> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let win = self.window;
        let [od, oh] = [self.line / win.output[1], self.line % win.output[1]];
        let (d, h) = (win.taps_at(0, od), win.taps_at(1, oh));
        for (ow, y) in self.y.chunks_exact_mut(self.channels).enumerate() {
            y.fill(T::LOWEST);
            let w = win.taps_at(2, ow);
            for td in d.0..d.1 {
                for th in h.0..h.1 {
                    let line = win.at(0, od, td) * win.input[1] + win.at(1, oh, th);
                    for tw in w.0..w.1 {
                        let at = (line * win.input[2] + win.at(2, ow, tw)) * self.channels;
                        for (y, &x) in y.iter_mut().zip(&self.x[at..][..self.channels]) {
                            *y = if x > *y { x } else { *y };
                        }
                    }
                }
            }
        }
    }
}
