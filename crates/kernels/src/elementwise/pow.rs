//! Powers.

use super::zip::{Pair, Run, zip};
use crate::scalar_math::Float;

#[derive(Clone, Copy)]
struct Power;
#[derive(Clone, Copy)]
struct Square;
#[derive(Clone, Copy)]
struct Cube;
#[derive(Clone, Copy)]
struct Root;

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Pair<$t, $t, $t> for Power {
            #[inline(always)]
            fn of(self, x: $t, y: $t) -> $t { Float::pow(x, y) }
        }
        impl Pair<$t, $t, $t> for Square {
            #[inline(always)]
            fn of(self, x: $t, _: $t) -> $t { x * x }
        }
        impl Pair<$t, $t, $t> for Cube {
            #[inline(always)]
            fn of(self, x: $t, _: $t) -> $t { x * x * x }
        }
        impl Pair<$t, $t, $t> for Root {
            #[inline(always)]
            fn of(self, x: $t, _: $t) -> $t {
                // Unlike the root, the power of -0 is 0 and that of minus infinity is infinity.
                if x == <$t>::NEG_INFINITY { <$t>::INFINITY } else { Float::sqrt(x + 0.0) }
            }
        }
    )*};
}

floats! { f32 f64 }

/// `out = x ^ y` for f32 or f64. A single exponent of 2, 3 or 1/2, as decomposed norms and activations have
/// it, takes the short way.
///
/// # Panics
/// When strides along rows are others than 0 and 1, or slices are shorter than the plan says.
#[allow(private_bounds)] // the trait is an implementation detail of f32 and f64
pub fn pow_float<T>(run: Run<'_>, x: &[T], y: &[T], out: &mut [T])
where
    T: Float + 'static,
    Power: Pair<T, T, T>,
    Square: Pair<T, T, T>,
    Cube: Pair<T, T, T>,
    Root: Pair<T, T, T>,
{
    let exponent = match y {
        [y] => y.wide(),
        _ => f64::NAN,
    };
    match exponent {
        2.0 => zip(run, true, Square, x, y, out),
        3.0 => zip(run, true, Cube, x, y, out),
        0.5 => zip(run, true, Root, x, y, out),
        _ => zip(run, false, Power, x, y, out),
    }
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Pair<$t, i64, $t> for Power {
            #[inline(always)]
            fn of(self, x: $t, y: i64) -> $t {
                if y >= 0 {
                    return wrapping_power(x, y as u64, 1, <$t>::wrapping_mul);
                }
                // 1 / x^|y| towards zero; division by zero gives 0 as elsewhere.
                #[allow(unused_comparisons)] // of unsigned numbers with 0
                match x {
                    1 => 1,
                    x if x < 0 && x.wrapping_add(1) == 0 => if y % 2 == 0 { 1 } else { x },
                    _ => 0,
                }
            }
        }
        impl Pair<$t, f64, $t> for Power {
            #[inline(always)]
            fn of(self, x: $t, y: f64) -> $t { Float::pow(x as f64, y) as $t }
        }
    )*};
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

#[inline(always)]
fn wrapping_power<T: Copy>(mut x: T, mut y: u64, one: T, times: fn(T, T) -> T) -> T {
    let mut result = one;
    while y > 0 {
        if y & 1 == 1 {
            result = times(result, x);
        }
        x = times(x, x);
        y >>= 1;
    }
    result
}

/// `out = x ^ y` for integers, wrapping.
///
/// # Panics
/// As [`pow_float`].
#[allow(private_bounds)] // the trait is an implementation detail of the integers
pub fn pow_int<T>(run: Run<'_>, x: &[T], y: &[i64], out: &mut [T])
where
    T: Copy + Send + Sync,
    Power: Pair<T, i64, T>,
{
    zip(run, false, Power, x, y, out);
}

/// `out = x ^ y` for integers to fractional powers, towards zero and limited to the type.
///
/// # Panics
/// As [`pow_float`].
#[allow(private_bounds)] // the trait is an implementation detail of the integers
pub fn pow_float_to_int<T>(run: Run<'_>, x: &[T], y: &[f64], out: &mut [T])
where
    T: Copy + Send + Sync,
    Power: Pair<T, f64, T>,
{
    zip(run, false, Power, x, y, out);
}
