//! Numbers as strings, and strings as numbers, for Cast.

use super::fits;
use crate::error::{PlanError, RunError};
use crate::ops::dispatch::{for_number, no_kernel};
use crate::ops::{Operand, PlanCx, Slot};
use half::{bf16, f16};
use std::fmt::Display;
use std::str::FromStr;
use stead_tensor::DType;

/// Emits the step of a Cast from strings or to strings.
///
/// # Errors
/// [`PlanError`] for types that are neither numbers nor bool.
pub fn convert(
    cx: &mut PlanCx<'_>,
    read: Operand,
    from: DType,
    slot: Slot,
    to: DType,
) -> Result<(), PlanError> {
    let (reads, writes) = (&[read], &[slot]);
    match (from, to) {
        (DType::Bool, _) => {
            cx.step("cast", reads, writes, |a| {
                let truth = |byte: &u8| if *byte == 0 { "False" } else { "True" };
                write(a, a.read_bytes(0)?.iter().map(|byte| truth(byte).to_owned()))
            });
            Ok(())
        }
        (_, DType::Bool) => {
            cx.step("cast", reads, writes, |a| {
                let strings = a.strings(0)?;
                for (to, text) in a.write_bytes()?.iter_mut().zip(strings) {
                    *to = truth(text).ok_or_else(|| wrong(text, "a truth"))?.into();
                }
                Ok(())
            });
            Ok(())
        }
        (DType::String, _) => for_number!(to, B => {
            cx.step("cast", reads, writes, |a| {
                let strings = a.strings(0)?;
                for (to, text) in a.write::<B>()?.iter_mut().zip(strings) {
                    *to = number(text)?;
                }
                Ok(())
            });
            Ok(())
        }, _ => Err(no_kernel(to))),
        _ => for_number!(from, A => {
            cx.step("cast", reads, writes, |a| {
                write(a, a.read::<A>(0)?.iter().map(|number| number.written()))
            });
            Ok(())
        }, _ => Err(no_kernel(from))),
    }
}

fn write(
    a: &mut crate::ops::Args<'_>,
    texts: impl Iterator<Item = String>,
) -> Result<(), RunError> {
    let texts: Vec<Vec<u8>> = texts.map(String::into_bytes).collect();
    fits(texts.len(), texts.iter().map(Vec::len).fold(0, usize::saturating_add))?;
    a.write_strings(0, texts)
}

/// The error for a string, of which a message has the beginning.
fn wrong(text: &[u8], expected: &str) -> RunError {
    const SHOWN: usize = 40;
    let text = String::from_utf8_lossy(text);
    let shown: String = text.chars().take(SHOWN).collect();
    RunError::value(format!("{shown:?} is not {expected}"))
}

fn truth(text: &[u8]) -> Option<bool> {
    match text.trim_ascii() {
        b"1" | b"True" | b"true" => Some(true),
        b"0" | b"False" | b"false" => Some(false),
        _ => None,
    }
}

/// The number that a text is.
///
/// # Errors
/// [`RunError::Value`]: it is none of this type.
pub fn number<T: Number>(text: &[u8]) -> Result<T, RunError> {
    T::read(text).ok_or_else(|| wrong(text, "a number of this type"))
}

/// A type of numbers.
pub trait Number: Sized {
    /// The number as text.
    fn written(&self) -> String;

    /// The number that a text is, if it is one.
    fn read(text: &[u8]) -> Option<Self>;
}

/// What `FromStr` reads, without blanks around.
fn parsed<T: FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn written(&self) -> String {
                self.to_string()
            }

            fn read(text: &[u8]) -> Option<$ty> {
                parsed(text)
            }
        }
    )*};
}
integers!(u8 i8 u16 i16 u32 i32 u64 i64);

impl Number for f32 {
    fn written(&self) -> String {
        real(f64::from(*self), || format!("{self:e}"))
    }

    fn read(text: &[u8]) -> Option<f32> {
        parsed(text)
    }
}

impl Number for f64 {
    fn written(&self) -> String {
        real(*self, || format!("{self:e}"))
    }

    fn read(text: &[u8]) -> Option<f64> {
        parsed(text)
    }
}

impl Number for f16 {
    fn written(&self) -> String {
        real(self.to_f64(), || shortest(self.to_f64(), |near| f16::from_f64(near) == *self))
    }

    fn read(text: &[u8]) -> Option<f16> {
        Some(f16::from_f64(parsed(text)?))
    }
}

impl Number for bf16 {
    fn written(&self) -> String {
        real(self.to_f64(), || shortest(self.to_f64(), |near| bf16::from_f64(near) == *self))
    }

    fn read(text: &[u8]) -> Option<bf16> {
        Some(bf16::from_f64(parsed(text)?))
    }
}

/// The fewest digits that are the same number in a type, with an exponent.
fn shortest(
    number: impl Display + Copy + std::fmt::LowerExp,
    is_it: impl Fn(f64) -> bool,
) -> String {
    /// No half needs more.
    const DIGITS: usize = 5;
    let with = |digits: usize| format!("{number:.digits$e}");
    let found = (0..DIGITS).map(with).find(|text| text.parse().is_ok_and(&is_it));
    found.unwrap_or_else(|| with(DIGITS))
}

/// A number as NumPy and Python write it, by the fewest digits that are the same number (`exact`, with an exponent): with an exponent
/// below 1e-4 and from 1e16 on, else plain, with a digit behind the point; what is no number as the standard names it.
fn real(number: f64, exact: impl Fn() -> String) -> String {
    /// From these exponents on plain digits are mostly zeros.
    const PLAIN: std::ops::Range<i32> = -4..16;
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "INF" } else { "-INF" }.to_owned();
    }
    let exact = exact();
    let (mantissa, exponent) = exact.split_once('e').unwrap_or((&exact, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    if !PLAIN.contains(&exponent) {
        let mark = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{mantissa}e{mark}{:02}", exponent.abs());
    }
    let digits = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    let before = usize::try_from(exponent + 1).unwrap_or_default();
    let zeros = "0".repeat(usize::try_from(-1 - exponent).unwrap_or_default());
    match digits.split_at_checked(before) {
        _ if digits.is_empty() => format!("{sign}0.0"),
        _ if before == 0 => format!("{sign}0.{zeros}{digits}"),
        Some((whole, "")) => format!("{sign}{whole}.0"),
        Some((whole, rest)) => format!("{sign}{whole}.{rest}"),
        None => format!("{sign}{digits}{}.0", "0".repeat(before - digits.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::Number;
    use half::{bf16, f16};

    /// As `str` of NumPy writes them, but for what is no number.
    #[test]
    fn numbers_are_written() {
        for (number, expected) in [
            (0.0_f32, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-120.0, "-120.0"),
            (0.1, "0.1"),
            (0.976_761_1, "0.9767611"),
            (0.0001, "0.0001"),
            (0.000_012_5, "1.25e-05"),
            (16_777_216.0, "16777216.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (-2.5e30, "-2.5e+30"),
            (f32::INFINITY, "INF"),
            (f32::NEG_INFINITY, "-INF"),
            (f32::NAN, "NaN"),
        ] {
            assert_eq!(number.written(), expected);
            assert_eq!(f32::read(expected.as_bytes()).map(f32::to_bits), Some(number.to_bits()));
        }
        assert_eq!(0.1_f64.written(), "0.1");
        assert_eq!((1.0_f64 / 3.0).written(), "0.3333333333333333");
        assert_eq!(f16::from_f32(0.1).written(), "0.1");
        assert_eq!(f16::from_f32(65504.0).written(), "65500.0");
        assert_eq!(bf16::from_f32(2.3).written(), "2.3");
        assert_eq!(i64::MIN.written(), "-9223372036854775808");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(f32::read(b" -1.5e2 "), Some(-150.0));
        assert_eq!(u8::read(b"255"), Some(255));
        for text in [&b""[..], b"x", b"1,5", b"\xff", b"1 2"] {
            assert_eq!(f64::read(text), None);
            assert_eq!(i32::read(text), None);
        }
        assert_eq!((u8::read(b"256"), u8::read(b"-1"), i64::read(b"3.5")), (None, None, None));
    }
}
