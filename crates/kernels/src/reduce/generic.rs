//! Reductions of the other element types: plain loops.

use super::ReduceOp;
use crate::scalar_math::Float;

/// A number that [`reduce`] can fold.
pub trait Reducible: Copy + PartialOrd {
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// Not above any number
    const LEAST: Self;
    /// Not below any number
    const GREATEST: Self;
    /// `self + other`; integers wrap.
    fn plus(self, other: Self) -> Self;
    /// `self * other`; integers wrap.
    fn times(self, other: Self) -> Self;
    /// |self|; integers wrap.
    fn magnitude(self) -> Self;
    /// `self / n`; integers truncate.
    fn over(self, n: usize) -> Self;
    /// For roots and logarithms.
    fn to_f64(self) -> f64;
    /// Rounded towards zero for integers, saturating.
    fn from_f64(x: f64) -> Self;
}

macro_rules! integers {
    ($($t:ty, $abs:ident;)*) => {$(
        impl Reducible for $t {
            const ZERO: $t = 0;
            const ONE: $t = 1;
            const LEAST: $t = <$t>::MIN;
            const GREATEST: $t = <$t>::MAX;
            #[inline]
            fn plus(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline]
            fn times(self, other: $t) -> $t { self.wrapping_mul(other) }
            #[inline]
            fn magnitude(self) -> $t { integers!(@$abs self) }
            #[inline]
            fn over(self, n: usize) -> $t {
                // In 128 bits, since the count may not fit the type.
                if n == 0 { 0 } else { (self as i128 / n as i128) as $t }
            }
            #[inline]
            fn to_f64(self) -> f64 { self as f64 }
            #[inline]
            fn from_f64(x: f64) -> $t { x as $t }
        }
    )*};
    (@signed $x:ident) => { $x.wrapping_abs() };
    (@unsigned $x:ident) => { $x };
}

integers! {
    i8, signed; i16, signed; i32, signed; i64, signed;
    u8, unsigned; u16, unsigned; u32, unsigned; u64, unsigned;
}

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Reducible for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const LEAST: $t = <$t>::NEG_INFINITY;
            const GREATEST: $t = <$t>::INFINITY;
            #[inline]
            fn plus(self, other: $t) -> $t { self + other }
            #[inline]
            fn times(self, other: $t) -> $t { self * other }
            #[inline]
            fn magnitude(self) -> $t { self.abs() }
            #[inline]
            fn over(self, n: usize) -> $t { self / n as $t }
            #[inline]
            fn to_f64(self) -> f64 { f64::from(self) }
            #[inline]
            fn from_f64(x: f64) -> $t { x as $t }
        }
    )*};
}

floats!(f32 f64);

/// Reduces `src` of `(outer, axis, inner)` to `dst` of `(outer, inner)`.
///
/// # Panics
/// If the lengths do not fit the shape.
pub fn reduce<T: Reducible>(
    op: ReduceOp,
    (outer, axis, inner): (usize, usize, usize),
    src: &[T],
    dst: &mut [T],
) {
    assert_eq!(src.len(), outer * axis * inner, "length of the source");
    assert_eq!(dst.len(), outer * inner, "length of the destination");
    for o in 0..outer {
        for j in 0..inner {
            let along = (0..axis).map(|i| src[(o * axis + i) * inner + j]);
            dst[o * inner + j] = fold(op, axis, along);
        }
    }
}

fn fold<T: Reducible>(op: ReduceOp, n: usize, along: impl Iterator<Item = T> + Clone) -> T {
    let sum = |xs: &mut dyn Iterator<Item = T>| xs.fold(T::ZERO, T::plus);
    let mut along = along;
    match op {
        ReduceOp::Sum => sum(&mut along),
        ReduceOp::Mean => sum(&mut along).over(n),
        ReduceOp::Max => along.fold(T::LEAST, |a, x| pick(a, x, x > a)),
        ReduceOp::Min => along.fold(T::GREATEST, |a, x| pick(a, x, x < a)),
        ReduceOp::Prod => along.fold(T::ONE, T::times),
        ReduceOp::L1 => sum(&mut along.map(T::magnitude)),
        ReduceOp::SumSquare => sum(&mut along.map(|x| x.times(x))),
        ReduceOp::L2 => {
            let squares = along.map(|x| x.to_f64() * x.to_f64()).fold(0.0, |a, x| a + x);
            T::from_f64(Float::sqrt(squares))
        }
        ReduceOp::LogSum => T::from_f64(Float::ln(along.fold(0.0, |a, x| a + x.to_f64()))),
        ReduceOp::LogSumExp => {
            let max = along.clone().fold(f64::NEG_INFINITY, |a, x| a.max(x.to_f64()));
            let max = if max.is_finite() { max } else { 0.0 };
            let sum = along.fold(0.0, |a, x| a + Float::exp(x.to_f64() - max));
            T::from_f64(max + Float::ln(sum))
        }
    }
}

/// The better of two; NaN, which differs from itself, wins.
#[expect(clippy::eq_op, reason = "the test for NaN without a trait for it")]
fn pick<T: Reducible>(a: T, x: T, better: bool) -> T {
    if a == a && (better || x != x) { x } else { a }
}
