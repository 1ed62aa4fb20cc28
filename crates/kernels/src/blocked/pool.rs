//! Pools over blocks: the largest number or the mean under a window, and the mean of a whole plane.

use super::sums::{Sums, means};
use super::{BLOCK, blocks};
use crate::chunks::{split_chunks, tasks};
use crate::pool::AverageCount;
use crate::simd::{Simd, SimdOp, dispatch};
use crate::window::Window;
use crate::{Isa, Parallel};

/// The largest number under the window for each output of `planes` planes of blocks. NaN is never the largest.
///
/// # Panics
/// If `x` or `y` is smaller than `window` says.
pub fn max_pool(
    isa: Isa,
    par: &dyn Parallel,
    window: &Window,
    planes: usize,
    x: &[f32],
    y: &mut [f32],
) {
    each_plane(isa, par, window, planes, x, y, None);
}

/// The mean under the window for each output of `planes` planes of blocks; 0 where nothing counts.
///
/// # Panics
/// If `x` or `y` is smaller than `window` says.
pub fn average_pool(
    isa: Isa,
    par: &dyn Parallel,
    window: &Window,
    count: AverageCount,
    planes: usize,
    x: &[f32],
    y: &mut [f32],
) {
    each_plane(isa, par, window, planes, x, y, Some(count));
}

fn each_plane(
    isa: Isa,
    par: &dyn Parallel,
    win: &Window,
    planes: usize,
    x: &[f32],
    y: &mut [f32],
    mean: Option<AverageCount>,
) {
    let (in_len, len) = (win.input_len() * BLOCK, win.output_len() * BLOCK);
    let tasks = tasks(par, planes.saturating_mul(len * win.taps()), planes);
    split_chunks(par, tasks, planes, y, len, &|range, y| {
        for (plane, y) in range.zip(y.chunks_exact_mut(len.max(1))) {
            dispatch(isa, Plane { win, mean, x: &x[plane * in_len..][..in_len], y });
        }
    });
}

struct Plane<'a> {
    win: &'a Window,
    mean: Option<AverageCount>,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl SimdOp for Plane<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Plane { win, mean, x, y } = self;
        let start = s.splat(if mean.is_some() { 0.0 } else { f32::NEG_INFINITY });
        let [_, height, width] = win.output;
        for (at, y) in y.chunks_exact_mut(BLOCK).enumerate() {
            let o = [at / width / height, at / width % height, at % width];
            let taps = core::array::from_fn::<_, 3, _>(|a| win.taps_at(a, o[a]));
            let count = match mean {
                Some(count) => (0..3).map(|a| count.taps(win, a, o[a])).product::<usize>().max(1),
                None => 1,
            };
            for first in (0..BLOCK).step_by(S::LANES) {
                let mut acc = start;
                for td in taps[0].0..taps[0].1 {
                    for th in taps[1].0..taps[1].1 {
                        let line = win.at(0, o[0], td) * win.input[1] + win.at(1, o[1], th);
                        for tw in taps[2].0..taps[2].1 {
                            let pixel = line * win.input[2] + win.at(2, o[2], tw);
                            let x = s.load(&x[pixel * BLOCK + first..]);
                            // The second operand if the first is NaN.
                            acc = if mean.is_some() { s.add(acc, x) } else { s.max(x, acc) };
                        }
                    }
                }
                if mean.is_some() {
                    acc = s.div(acc, s.splat(count as f32));
                }
                s.store(&mut y[first..], acc);
            }
        }
    }
}

/// The mean of each channel, as `[batch, channels]`.
///
/// # Panics
/// If `x` or `y` is smaller than the sizes say.
pub fn global_average(
    isa: Isa,
    par: &dyn Parallel,
    (batch, channels, pixels): (usize, usize, usize),
    x: &[f32],
    y: &mut [f32],
) {
    let (per_image, len) = (blocks(channels), pixels * BLOCK);
    for (image, y) in y.chunks_exact_mut(channels.max(1)).take(batch).enumerate() {
        let x = &x[image * per_image * len..][..per_image * len];
        // Whole blocks are cut among threads; the lanes of the last one end with the channels.
        let whole = channels / BLOCK;
        let tasks = tasks(par, whole.saturating_mul(len), whole);
        let (most, rest) = y.split_at_mut(whole * BLOCK);
        split_chunks(par, tasks, whole, most, BLOCK, &|range, y| {
            for (block, y) in range.zip(y.chunks_exact_mut(BLOCK)) {
                let sums = dispatch(isa, Sums(&x[block * len..][..len]));
                y.copy_from_slice(&means(sums, pixels));
            }
        });
        if !rest.is_empty() {
            let sums = dispatch(isa, Sums(&x[whole * len..][..len]));
            rest.copy_from_slice(&means(sums, pixels)[..rest.len()]);
        }
    }
}
