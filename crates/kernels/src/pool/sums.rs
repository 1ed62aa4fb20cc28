//! Pools that sum: means and norms.

use super::each_run;
use crate::chunks::{split_chunks, tasks};
use crate::scalar_math::Float;
use crate::simd::{Simd, SimdOp, dispatch};
use crate::window::Window;
use crate::{Isa, Parallel};
use core::ops::{Add, Div, Mul};

/// A float that is summed in its own type.
pub trait Addend: Float + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self> {}

impl Addend for f32 {}
impl Addend for f64 {}

/// What a mean is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AverageCount {
    /// The elements of the input under the window.
    Inside,
    /// Those of the padding too, of which there are so many at the end of each dimension.
    Padded([usize; 3]),
}

impl AverageCount {
    /// Taps that count along one dimension.
    #[inline(always)]
    pub(crate) fn taps(&self, win: &Window, axis: usize, output: usize) -> usize {
        match self {
            AverageCount::Inside => {
                let (first, end) = win.taps_at(axis, output);
                end - first
            }
            AverageCount::Padded(ends) => {
                // With ceil_mode a window may reach behind the padding.
                let extent = win.pads[axis] + win.input[axis] + ends[axis];
                let room = extent.saturating_sub(output * win.strides[axis]);
                room.div_ceil(win.dilations[axis]).min(win.kernel[axis])
            }
        }
    }
}

/// The mean under the window for each output of `planes` planes; 0 where nothing counts.
///
/// # Panics
/// If `x` or `y` is smaller than `window` says.
pub fn average<T: Addend>(
    isa: Isa,
    par: &dyn Parallel,
    window: &Window,
    count: AverageCount,
    planes: usize,
    x: &[T],
    y: &mut [T],
) {
    each_plane(isa, par, window, planes, x, y, Finish::Mean(count));
}

/// The p-norm under the window for each output of `planes` planes, for `p` of at least 1.
///
/// # Panics
/// If `x` or `y` is smaller than `window` says.
pub fn lp<T: Addend>(
    isa: Isa,
    par: &dyn Parallel,
    window: &Window,
    p: u32,
    planes: usize,
    x: &[T],
    y: &mut [T],
) {
    each_plane(isa, par, window, planes, x, y, Finish::Norm(p));
}

#[derive(Clone, Copy)]
enum Finish {
    Mean(AverageCount),
    Norm(u32),
}

fn each_plane<T: Addend>(
    isa: Isa,
    par: &dyn Parallel,
    window: &Window,
    planes: usize,
    x: &[T],
    y: &mut [T],
    finish: Finish,
) {
    let (in_len, len) = (window.input_len(), window.output_len());
    let tasks = tasks(par, planes.saturating_mul(len * window.taps()), planes);
    split_chunks(par, tasks, planes, y, len, &|range, y| {
        for (plane, y) in range.zip(y.chunks_exact_mut(len.max(1))) {
            let x = &x[plane * in_len..][..in_len];
            dispatch(isa, Plane { window, finish, x, y });
        }
    });
}

struct Plane<'a, T> {
    window: &'a Window,
    finish: Finish,
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Addend> SimdOp for Plane<'_, T> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let (win, y) = (self.window, self.y);
        y.fill(T::ZERO);
        let stride = win.strides[2];
        each_run(win, |at, range| {
            let runs = y[range].iter_mut().zip(self.x[at..].iter().step_by(stride));
            match self.finish {
                Finish::Mean(_) => runs.for_each(|(y, &x)| *y = *y + x),
                Finish::Norm(p) => runs.for_each(|(y, &x)| *y = *y + power(x, p)),
            }
        });
        match self.finish {
            Finish::Norm(p) => y.iter_mut().for_each(|y| *y = root(*y, p)),
            Finish::Mean(count) => {
                for (row, y) in y.chunks_exact_mut(win.output[2].max(1)).enumerate() {
                    let (od, oh) = (row / win.output[1], row % win.output[1]);
                    let others = count.taps(win, 0, od) * count.taps(win, 1, oh);
                    for (ow, y) in y.iter_mut().enumerate() {
                        let n = others * count.taps(win, 2, ow);
                        *y = *y / T::of(n.max(1) as f64);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn magnitude<T: Addend>(x: T) -> T {
    if x < T::ZERO { x * T::of(-1.0) } else { x }
}

/// |x|^p
#[inline(always)]
fn power<T: Addend>(x: T, p: u32) -> T {
    match p {
        1 => magnitude(x),
        2 => x * x,
        _ => magnitude(x).pow(T::of(f64::from(p))),
    }
}

/// The p-th root.
#[inline(always)]
fn root<T: Addend>(x: T, p: u32) -> T {
    match p {
        1 => x,
        2 => Float::sqrt(x),
        _ => x.pow(T::of(1.0 / f64::from(p))),
    }
}
