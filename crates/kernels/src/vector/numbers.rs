//! Functions of pairs of numbers of many documents.

use super::rows::{Wide, Widen, ahead};
use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// A number for each document, or one for all.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a, W> {
    /// One for each
    Each(&'a [W]),
    /// One for all
    One(W),
}

/// A function of two numbers as ranking expressions have it: true is 1 and false 0, every number but 0 is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zip {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a * b
    Mul,
    /// a / b
    Div,
    /// b if a < b, else a, as `std::max`: NaN stays only on the left
    Max,
    /// b if b < a, else a, as `std::min`
    Min,
    /// a == b
    Equal,
    /// a != b
    NotEqual,
    /// a < b
    Less,
    /// a <= b
    LessEqual,
    /// a > b
    Greater,
    /// a >= b
    GreaterEqual,
}

/// Writes the function of each pair to `out`, whose length lists must have.
///
/// # Panics
/// If the lengths differ.
pub fn zip<W: Wide>(isa: Isa, op: Zip, a: Operand<'_, W>, b: Operand<'_, W>, out: &mut [W]) {
    macro_rules! run {
        ($step:ident) => {
            dispatch(isa, Zipping { a, b, out, step: $step })
        };
    }
    match op {
        Zip::Add => run!(Add),
        Zip::Sub => run!(Sub),
        Zip::Mul => run!(Mul),
        Zip::Div => run!(Div),
        Zip::Max => run!(Max),
        Zip::Min => run!(Min),
        Zip::Equal => run!(Equal),
        Zip::NotEqual => run!(NotEqual),
        Zip::Less => run!(Less),
        Zip::LessEqual => run!(LessEqual),
        Zip::Greater => run!(Greater),
        Zip::GreaterEqual => run!(GreaterEqual),
    }
}

trait Pair: Copy {
    fn of<W: Wide>(self, x: W, y: W) -> W;
}

macro_rules! pairs {
    ($($name:ident: |$x:ident, $y:ident| $value:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;
        impl Pair for $name {
            #[inline(always)]
            fn of<W: Wide>(self, $x: W, $y: W) -> W { $value }
        }
    )*};
}

pairs! {
    Add: |x, y| x + y;
    Sub: |x, y| x - y;
    Mul: |x, y| x * y;
    Div: |x, y| x / y;
    Max: |x, y| if x < y { y } else { x };
    Min: |x, y| if y < x { y } else { x };
    Equal: |x, y| truth(x == y);
    NotEqual: |x, y| truth(x != y);
    Less: |x, y| truth(x < y);
    LessEqual: |x, y| truth(x <= y);
    Greater: |x, y| truth(x > y);
    GreaterEqual: |x, y| truth(x >= y);
}

#[inline(always)]
fn truth<W: Wide>(is_true: bool) -> W {
    if is_true { W::ONE } else { W::ZERO }
}

struct Zipping<'a, W, P> {
    a: Operand<'a, W>,
    b: Operand<'a, W>,
    out: &'a mut [W],
    step: P,
}

impl<W: Wide, P: Pair> SimdOp for Zipping<'_, W, P> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Zipping { a, b, out, step } = self;
        match (a, b) {
            (Operand::Each(a), Operand::Each(b)) => {
                assert!(a.len() == out.len() && b.len() == out.len(), "the lengths of the lists");
                for ((out, x), y) in out.iter_mut().zip(a).zip(b) {
                    *out = step.of(*x, *y);
                }
            }
            (Operand::Each(a), Operand::One(y)) => {
                assert_eq!(a.len(), out.len(), "the length of the list");
                for (out, x) in out.iter_mut().zip(a) {
                    *out = step.of(*x, y);
                }
            }
            (Operand::One(x), Operand::Each(b)) => {
                assert_eq!(b.len(), out.len(), "the length of the list");
                for (out, y) in out.iter_mut().zip(b) {
                    *out = step.of(x, *y);
                }
            }
            (Operand::One(x), Operand::One(y)) => out.fill(step.of(x, y)),
        }
    }
}

/// Adds to each sum the weight times the number. The product is rounded before it is added, as in two steps.
///
/// # Panics
/// If the lengths differ.
pub fn add_scaled<T: Widen<f64>>(isa: Isa, weight: f64, numbers: &[T], sums: &mut [f64]) {
    assert_eq!(numbers.len(), sums.len(), "the lengths of the lists");
    dispatch(isa, Scaled { weight, numbers, sums });
}

/// Numbers between two looks ahead.
const PIECE: usize = 64;

struct Scaled<'a, T> {
    weight: f64,
    numbers: &'a [T],
    sums: &'a mut [f64],
}

impl<T: Widen<f64>> SimdOp for Scaled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let pieces = self.sums.chunks_mut(PIECE).zip(self.numbers.chunks(PIECE));
        for (sums, numbers) in pieces {
            // Of many columns each is read a little at a time: the next time begins behind this one.
            ahead(s, numbers);
            for (sum, x) in sums.iter_mut().zip(numbers) {
                *sum += self.weight * x.wide();
            }
        }
    }
}

/// Writes the numbers as wider ones.
///
/// # Panics
/// If the lengths differ.
pub fn widen<W: Wide, T: Widen<W>>(isa: Isa, numbers: &[T], out: &mut [W]) {
    assert_eq!(numbers.len(), out.len(), "the lengths of the lists");
    dispatch(isa, Widening { numbers, out });
}

struct Widening<'a, T, W> {
    numbers: &'a [T],
    out: &'a mut [W],
}

impl<W: Wide, T: Widen<W>> SimdOp for Widening<'_, T, W> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        for (out, numbers) in self.out.chunks_mut(PIECE).zip(self.numbers.chunks(PIECE)) {
            ahead(s, numbers);
            for (out, x) in out.iter_mut().zip(numbers) {
                *out = x.wide();
            }
        }
    }
}
