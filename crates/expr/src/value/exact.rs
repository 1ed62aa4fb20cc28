//! Numbers that become cells, or elements of the tensors of models: exactly, or the nearest.
//!
//! Whole numbers never change: one that the other type does not have is no element of it, and so is a fraction where whole
//! numbers are expected. Fractions are rounded to the nearest of a narrower float, as Vespa rounds them.

use std::fmt;

use half::{bf16, f16};

use crate::types::CellType;

/// A number of any type, with nothing lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number of a type of whole numbers.
    Whole(i64),
    /// A number of a type of floats, which may be whole too.
    Float(f64),
}

impl Number {
    /// The nearest double.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Float(float) => float,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Whole(whole) => write!(f, "{whole}"),
            Number::Float(float) => write!(f, "{float}"),
        }
    }
}

/// A number that a type of cells does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{number} is no {cell}")]
pub struct Inexact {
    /// As text: a whole number has more digits than a float.
    pub number: String,
    /// The type.
    pub cell: CellType,
}

/// A number as it is stored.
pub trait Element: Sized + Copy {
    /// The element for a number, if it has it.
    fn exact(number: Number) -> Option<Self>;
    /// The nearest element.
    fn nearest(number: Number) -> Self;

    /// The nearest element if it may be rounded, else the exact one.
    fn of(number: Number, is_rounded: bool) -> Option<Self> {
        Self::exact(number).or_else(|| is_rounded.then(|| Self::nearest(number)))
    }
}

macro_rules! whole {
    ($($of:ty),*) => {
        $(impl Element for $of {
            fn exact(number: Number) -> Option<$of> {
                match number {
                    Number::Whole(whole) => <$of>::try_from(whole).ok(),
                    // Saturates where no whole number of 64 bits is.
                    Number::Float(x) if x == x.trunc() => <$of>::try_from(x as i128).ok(),
                    Number::Float(_) => None,
                }
            }

            fn nearest(number: Number) -> $of {
                match number {
                    Number::Whole(whole) => {
                        <$of>::try_from(whole).unwrap_or(if whole < 0 { <$of>::MIN } else { <$of>::MAX })
                    }
                    Number::Float(x) => x.round_ties_even() as $of,
                }
            }
        })*
    };
}

whole!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! float {
    ($($of:ty, $narrow:expr, $wide:expr;)*) => {
        $(impl Element for $of {
            fn exact(number: Number) -> Option<$of> {
                let (x, is_whole) = match number {
                    Number::Whole(whole) => (whole as f64, true),
                    Number::Float(x) => (x, x == x.trunc()),
                };
                let narrow: $of = $narrow(x);
                let wide: f64 = $wide(narrow);
                let is_same = match number {
                    Number::Whole(whole) => wide as i128 == i128::from(whole),
                    Number::Float(x) => wide == x || x.is_nan(),
                };
                (is_same || !is_whole && wide.is_finite()).then_some(narrow)
            }

            fn nearest(number: Number) -> $of {
                match number {
                    Number::Whole(whole) => $narrow(whole as f64),
                    Number::Float(x) => $narrow(x),
                }
            }
        })*
    };
}

float! {
    f64, |x: f64| x, |x: f64| x;
    f32, |x: f64| x as f32, |x: f32| f64::from(x);
    f16, f16::from_f64, |x: f16| x.to_f64();
    // By way of f32, as Vespa rounds.
    bf16, |x: f64| bf16::from_f32(x as f32), |x: bf16| x.to_f64();
}

/// A byte that is 0 or 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bit(pub u8);

impl Element for Bit {
    fn exact(number: Number) -> Option<Bit> {
        u8::exact(number).filter(|bit| *bit <= 1).map(Bit)
    }

    fn nearest(number: Number) -> Bit {
        let is_set = match number {
            Number::Whole(whole) => whole != 0,
            Number::Float(x) => x != 0.0,
        };
        Bit(u8::from(is_set))
    }
}

macro_rules! numbers_from {
    ($($of:ty, $x:ident => $number:expr;)*) => {
        $(impl From<$of> for Number {
            fn from($x: $of) -> Number {
                $number
            }
        })*
    };
}

numbers_from! {
    f64, x => Number::Float(x);
    f32, x => Number::Float(f64::from(x));
    bf16, x => Number::Float(x.to_f64());
    f16, x => Number::Float(x.to_f64());
    i64, x => Number::Whole(x);
    i32, x => Number::Whole(i64::from(x));
    i16, x => Number::Whole(i64::from(x));
    i8, x => Number::Whole(i64::from(x));
    u8, x => Number::Whole(i64::from(x));
    Bit, x => Number::Whole(i64::from(x.0));
}
