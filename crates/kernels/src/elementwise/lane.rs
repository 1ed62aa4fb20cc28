//! The functions by name, for all number types and both halves.

use super::CHUNK;
use super::number::Number;
use super::zip::{Half, Pair, Run, zip, zip_half};
use crate::simd::{Scalar, Simd, SimdOp, dispatch};
use crate::split::split;
use crate::{Isa, Parallel};
use half::{bf16, f16};

/// A function of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a * b
    Mul,
    /// a / b
    Div,
    /// The smaller; NaN if either is
    Min,
    /// The larger; NaN if either is
    Max,
    /// Remainder with the sign of b, as Python's `%`
    Mod,
    /// Remainder with the sign of a, as C's `fmod`
    Fmod,
    /// a, or a * b where a is negative
    PRelu,
}

/// A comparison, false if either is NaN. Swap the operands for the other two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    /// a == b
    Equal,
    /// a < b
    Less,
    /// a <= b
    LessOrEqual,
}

/// A function of one signed number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignOp {
    /// |x|
    Abs,
    /// -x
    Neg,
    /// -1, 0 or 1
    Sign,
    /// max(0, x)
    Relu,
}

macro_rules! pairs {
    ($($name:ident: |$a:ident, $b:ident| $value:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;
        impl<T: Number> Pair<T, T, T> for $name {
            #[inline(always)]
            fn of(self, $a: T, $b: T) -> T { $value }
        }
    )*};
}

pairs! {
    Add: |a, b| a.plus(b);
    Sub: |a, b| a.minus(b);
    Mul: |a, b| a.times(b);
    Div: |a, b| a.over(b);
    Min: |a, b| a.smaller(b);
    Max: |a, b| a.larger(b);
    Mod: |a, b| a.modulo(b);
    Fmod: |a, b| a.remainder(b);
    PRelu: |a, b| a.prelu(b);
}

macro_rules! comparisons {
    ($($name:ident: |$a:ident, $b:ident| $value:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;
        impl<T: PartialOrd> Pair<T, T, u8> for $name {
            #[inline(always)]
            fn of(self, $a: T, $b: T) -> u8 { u8::from($value) }
        }
    )*};
}

comparisons! {
    Equal: |a, b| a == b;
    Less: |a, b| a < b;
    LessOrEqual: |a, b| a <= b;
}

/// An element type that functions of two operands are there for.
pub trait Lane: Copy + Send + Sync + 'static {
    /// `out = op(a, b)`.
    ///
    /// # Panics
    /// When strides along rows are others than 0 and 1, or slices are shorter than the plan says.
    fn binary(run: Run<'_>, op: BinaryOp, a: &[Self], b: &[Self], out: &mut [Self]);

    /// `out = op(a, b)`, 1 for true.
    ///
    /// # Panics
    /// As [`Lane::binary`].
    fn compare(run: Run<'_>, op: CompareOp, a: &[Self], b: &[Self], out: &mut [u8]);

    /// `out[i] = op(x[i])`.
    ///
    /// # Panics
    /// When the lengths differ.
    fn sign(isa: Isa, parallel: &dyn Parallel, op: SignOp, x: &[Self], out: &mut [Self]);
}

macro_rules! choose {
    ($op:expr, $enum:ident { $($name:ident)* }, |$f:ident| $call:expr) => {
        match $op { $($enum::$name => { let $f = $name; $call })* }
    };
}

macro_rules! lanes {
    ($($t:ty)*) => {$(
        impl Lane for $t {
            fn binary(run: Run<'_>, op: BinaryOp, a: &[Self], b: &[Self], out: &mut [Self]) {
                // Remainders and quotients of integers have no vector form.
                let wide = <$t>::COMMON && !matches!(op, BinaryOp::Mod | BinaryOp::Fmod);
                choose!(op, BinaryOp { Add Sub Mul Div Min Max Mod Fmod PRelu },
                    |f| zip(run, wide, f, a, b, out))
            }
            fn compare(run: Run<'_>, op: CompareOp, a: &[Self], b: &[Self], out: &mut [u8]) {
                choose!(op, CompareOp { Equal Less LessOrEqual },
                    |f| zip(run, <$t>::COMMON, f, a, b, out))
            }
            fn sign(isa: Isa, parallel: &dyn Parallel, op: SignOp, x: &[Self], out: &mut [Self]) {
                assert_eq!(x.len(), out.len(), "lengths of source and destination");
                split(parallel, out, &|start, out| {
                    let signs = Signs { op, x: &x[start..][..out.len()], out };
                    if <$t>::COMMON { dispatch(isa, signs) } else { signs.eval(Scalar) }
                });
            }
        }
    )*};
}

lanes! { f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! halves {
    ($($t:ty)*) => {$(
        impl Lane for $t {
            fn binary(run: Run<'_>, op: BinaryOp, a: &[Self], b: &[Self], out: &mut [Self]) {
                choose!(op, BinaryOp { Add Sub Mul Div Min Max Mod Fmod PRelu },
                    |f| zip_half(run, f, a, b, out))
            }
            fn compare(run: Run<'_>, op: CompareOp, a: &[Self], b: &[Self], out: &mut [u8]) {
                choose!(op, CompareOp { Equal Less LessOrEqual },
                    |f| zip_half(run, f, a, b, out))
            }
            fn sign(isa: Isa, parallel: &dyn Parallel, op: SignOp, x: &[Self], out: &mut [Self]) {
                map_half(isa, parallel, x, out, &|x, y| {
                    dispatch(isa, Signs { op, x, out: y });
                });
            }
        }
    )*};
}

halves! { f16 bf16 }

struct Signs<'a, T> {
    op: SignOp,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> SimdOp for Signs<'_, T> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let pairs = self.out.iter_mut().zip(self.x);
        match self.op {
            SignOp::Abs => pairs.for_each(|(y, x)| *y = x.magnitude()),
            SignOp::Neg => pairs.for_each(|(y, x)| *y = x.negated()),
            SignOp::Sign => pairs.for_each(|(y, x)| *y = x.sign()),
            SignOp::Relu => pairs.for_each(|(y, x)| *y = x.larger(T::ZERO)),
        }
    }
}

/// `out = f(x)` computed in f32, a chunk at a time.
pub(crate) fn map_half<H: Half>(
    isa: Isa,
    parallel: &dyn Parallel,
    x: &[H],
    out: &mut [H],
    f: &(dyn Fn(&[f32], &mut [f32]) + Sync),
) {
    assert_eq!(x.len(), out.len(), "lengths of source and destination");
    split(parallel, out, &|start, out| {
        let (mut wide, mut result) = ([0f32; CHUNK], [0f32; CHUNK]);
        for (x, y) in x[start..].chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            let n = y.len();
            H::widen(isa, &x[..n], &mut wide[..n]);
            f(&wide[..n], &mut result[..n]);
            H::narrow(isa, &result[..n], y);
        }
    });
}
