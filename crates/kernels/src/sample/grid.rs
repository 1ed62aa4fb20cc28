//! GridSample: values at points that a grid names.

use crate::Parallel;
use crate::par::{Output, for_ranges};
use crate::scalar_math::Float;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// How a value between elements is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    /// The nearest element, the even one of two.
    Nearest,
    /// Of 2 elements a dimension.
    Linear,
    /// Of 4 elements a dimension: cubic convolution with -0.75 (Keys, 1981).
    Cubic,
}

/// What lies outside of the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    /// Zeros.
    Zeros,
    /// The element at the border.
    Border,
    /// The tensor again, mirrored at its border.
    Reflection,
}

/// The sizes and the rules of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridSample {
    /// Batch entries.
    pub batches: usize,
    /// Channels, which share the points of their batch entry.
    pub channels: usize,
    /// The sizes of the dimensions that points lie in, 1 to 3 of them; those that are not there are 1 and come first.
    pub dims: [usize; 3],
    /// How many dimensions are there.
    pub rank: usize,
    /// Points of a batch entry.
    pub points: usize,
    /// Between elements.
    pub interpolation: Interpolation,
    /// Outside.
    pub padding: Padding,
    /// Whether -1 and 1 are the middles of the outermost elements, or their outer edges.
    pub align_corners: bool,
}

/// Numbers that points are computed with.
pub trait Coordinate:
    Float
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
}

impl Coordinate for f32 {}
impl Coordinate for f64 {}

/// Elements that one point is made of: 4 along each of 3 dimensions.
const MOST: usize = 64;

/// Writes `[batches, channels, points]` from `x` of `[batches, channels, dims]` and `grid` of `[batches, points, rank]`,
/// in which the last dimension comes first. A coordinate that is no number counts as that of the first element.
///
/// # Panics
/// When lengths do not fit.
pub fn grid_sample<T: Coordinate>(
    g: &GridSample,
    parallel: &dyn Parallel,
    x: &[T],
    grid: &[T],
    out: &mut [T],
) {
    let plane: usize = g.dims.iter().product();
    assert!((1..=3).contains(&g.rank), "number of dimensions");
    assert_eq!(x.len(), g.batches * g.channels * plane, "length of the input");
    assert_eq!(grid.len(), g.batches * g.points * g.rank, "length of the grid");
    assert_eq!(out.len(), g.batches * g.channels * g.points, "length of the output");
    if plane == 0 {
        return out.fill(T::ZERO);
    }
    let out = Output::new(out);
    for_ranges(parallel, g.batches * g.points, g.channels.saturating_mul(8), &|from, to| {
        for at in from..to {
            let (batch, point) = (at / g.points, at % g.points);
            let mut taps = [(0, T::ZERO); MOST];
            let count = taps_of(g, &grid[at * g.rank..][..g.rank], &mut taps);
            for channel in 0..g.channels {
                let row = batch * g.channels + channel;
                let x = &x[row * plane..][..plane];
                let mut sum = T::ZERO;
                for &(i, weight) in &taps[..count] {
                    sum = sum + x[i] * weight;
                }
                // SAFETY: each point of a channel is written once, by the range that has the point.
                unsafe { out.part(row * g.points + point, 1) }.fill(sum);
            }
        }
    });
}

/// The elements that a point is made of, with their weights.
fn taps_of<T: Coordinate>(g: &GridSample, point: &[T], taps: &mut [(usize, T); MOST]) -> usize {
    taps[0] = (0, T::ONE);
    let mut count = 1;
    for (axis, &size) in g.dims.iter().enumerate().skip(3 - g.rank) {
        let mut along = [(None, T::ZERO); 4];
        let used = axis_taps(g, point[2 - axis], size, &mut along);
        let mut joined = [(0, T::ZERO); MOST];
        let mut n = 0;
        for &(base, weight) in &taps[..count] {
            for &(i, share) in &along[..used] {
                if let Some(i) = i {
                    joined[n] = (base * size + i, weight * share);
                    n += 1;
                }
            }
        }
        *taps = joined;
        count = n;
    }
    count
}

/// The elements along one dimension: their indices, `None` where zeros lie, and their weights.
fn axis_taps<T: Coordinate>(
    g: &GridSample,
    place: T,
    size: usize,
    taps: &mut [(Option<usize>, T); 4],
) -> usize {
    let (one, two, half) = (T::ONE, T::of(2.0), T::of(0.5));
    let length = T::of(size as f64);
    let (low, high) = match g.align_corners {
        true => (T::ZERO, length - one),
        false => (-half, length - half),
    };
    let mut x = match g.align_corners {
        true => (place + one) / two * (length - one),
        false => ((place + one) * length - one) / two,
    };
    if g.interpolation == Interpolation::Nearest {
        x = x.round_even();
    }
    if x < low || x > high {
        x = match g.padding {
            Padding::Zeros => x,
            Padding::Border if x < T::ZERO => T::ZERO,
            Padding::Border if x > length - one => length - one,
            Padding::Border => x,
            Padding::Reflection => reflected(x, low, high),
        };
    }
    let first = x.floor();
    let part = x - first;
    // A place beyond all integers has no part, and its neighbours are as far outside.
    let base = first.wide() as i64;
    let element = |offset: i64| {
        let i = base.saturating_add(offset);
        let inside = usize::try_from(i).ok().filter(|&i| i < size);
        match g.padding {
            _ if inside.is_some() => inside,
            Padding::Zeros => None,
            Padding::Border => Some(if i < 0 { 0 } else { size - 1 }),
            Padding::Reflection => {
                let i = reflected(T::of(i as f64), low, high).wide();
                Some((i.max(0.0) as usize).min(size - 1))
            }
        }
    };
    match g.interpolation {
        Interpolation::Nearest => {
            taps[0] = (element(0), one);
            1
        }
        Interpolation::Linear => {
            taps[0] = (element(0), one - part);
            taps[1] = (element(1), part);
            2
        }
        Interpolation::Cubic => {
            for (i, (tap, weight)) in taps.iter_mut().zip(cubic(part)).enumerate() {
                *tap = (element(i as i64 - 1), weight);
            }
            4
        }
    }
}

/// `x` mirrored at the nearer border until it lies between both.
fn reflected<T: Coordinate>(x: T, low: T, high: T) -> T {
    let range = high - low;
    let away = if x < low { low - x } else { x - high };
    // A single element is its own mirror image, and no number and infinities have none.
    let has_image = range > T::ZERO && away > T::ZERO && away.wide().is_finite();
    if !has_image {
        return if away > T::ZERO { low } else { x };
    }
    let turns = (away / range).wide() as i64;
    let rest = away - T::of(turns as f64) * range;
    if (turns % 2 == 0) == (x < low) { low + rest } else { high - rest }
}

/// The weights of the elements at -1, 0, 1 and 2 for a place at `x` behind element 0.
fn cubic<T: Coordinate>(x: T) -> [T; 4] {
    let (a, one, two) = (T::of(-0.75), T::ONE, T::of(2.0));
    let far = |d: T| ((a * d - T::of(5.0) * a) * d + T::of(8.0) * a) * d - T::of(4.0) * a;
    let near = |d: T| ((a + two) * d - (a + T::of(3.0))) * d * d + one;
    [far(x + one), near(x), near(one - x), far(two - x)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    fn line(padding: Padding, interpolation: Interpolation, align_corners: bool) -> GridSample {
        GridSample {
            batches: 1,
            channels: 1,
            dims: [1, 1, 4],
            rank: 1,
            points: 1,
            interpolation,
            padding,
            align_corners,
        }
    }

    #[test]
    fn places_along_a_line() {
        use Interpolation::{Cubic, Linear, Nearest};
        use Padding::{Border, Reflection, Zeros};
        // With aligned corners element i lies at 2 i / 3 - 1.
        let at = |element: f64| element * 2.0 / 3.0 - 1.0;
        let cases = [
            ("on an element", line(Zeros, Linear, true), at(1.0), 20.0),
            ("between two", line(Zeros, Linear, true), at(1.25), 22.5),
            ("half outside", line(Zeros, Linear, true), at(3.5), 20.0),
            ("the border", line(Border, Linear, true), at(3.5), 40.0),
            ("mirrored", line(Reflection, Linear, true), at(3.5), 35.0),
            ("mirrored twice", line(Reflection, Linear, true), at(-4.0), 30.0),
            ("mirrored at edges", line(Reflection, Nearest, false), 1.25, 40.0),
            ("the even one", line(Zeros, Nearest, true), at(2.5), 30.0),
            ("a line is cubic", line(Zeros, Cubic, true), at(1.5), 25.0),
            ("far outside", line(Zeros, Cubic, true), 1e30, 0.0),
            ("infinitely far", line(Reflection, Linear, true), f64::INFINITY, 10.0),
            ("no number", line(Border, Nearest, true), f64::NAN, 10.0),
        ];
        for (label, g, place, want) in cases {
            let mut out = [f64::NAN];
            grid_sample(&g, &Serial, &[10.0, 20.0, 30.0, 40.0], &[place], &mut out);
            assert!((out[0] - want).abs() < 1e-9, "{label}: {} {want}", out[0]);
        }
    }

    #[test]
    fn the_last_dimension_comes_first() {
        let g = GridSample {
            channels: 2,
            dims: [1, 2, 3],
            rank: 2,
            ..line(Padding::Zeros, Interpolation::Nearest, true)
        };
        let x: [f32; 12] = core::array::from_fn(|i| i as f32);
        let mut out = [f32::NAN; 2];
        // The last column of the first row.
        grid_sample(&g, &Serial, &x, &[1.0, -1.0], &mut out);
        assert_eq!(out, [2.0, 8.0]);
    }

    #[test]
    fn nothing_to_read_is_zero() {
        let g =
            GridSample { dims: [1, 1, 0], ..line(Padding::Border, Interpolation::Linear, false) };
        let mut out = [f32::NAN];
        grid_sample(&g, &Serial, &[], &[0.0], &mut out);
        assert_eq!(out, [0.0]);
    }
}
