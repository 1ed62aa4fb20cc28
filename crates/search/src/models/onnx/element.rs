//! Numbers that become elements: exactly, or the nearest.

use half::{bf16, f16};

/// A number of any type, with nothing lost.
#[derive(Clone, Copy)]
pub(super) enum Number {
    Whole(i64),
    Float(f64),
}

/// An element of a tensor.
pub(super) trait Element: Sized + bytemuck::Pod {
    /// The element for a number, if it has it.
    fn exact(number: Number) -> Option<Self>;
    /// The nearest element.
    fn nearest(number: Number) -> Self;
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
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(super) struct Bit(u8);

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
    i64, x => Number::Whole(x);
    i32, x => Number::Whole(i64::from(x));
    i16, x => Number::Whole(i64::from(x));
    i8, x => Number::Whole(i64::from(x));
    u8, x => Number::Whole(i64::from(x));
}
