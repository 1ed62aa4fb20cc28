//! Numbers: JSON text to the element types, exact or refused.

use super::{JsonError, Reader};
use half::{bf16, f16};
use stead_tensor::Bool;

/// The text of a number, checked against JSON's grammar, with the parts that fast conversions need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    text: &'a str,
    negative: bool,
    /// All digits without the point, if there are at most 19 of them.
    mantissa: Option<u64>,
    /// Digits behind the point.
    fraction: u32,
    exponent: Option<i32>,
    special: Option<f64>,
}

impl<'a> Reader<'a> {
    pub(super) fn number_token(&mut self) -> Result<Token<'a>, JsonError> {
        self.skip_space();
        let rest = self.rest();
        let at = |i: usize| rest.get(i).copied().unwrap_or(0);
        let negative = at(0) == b'-';
        let mut i = usize::from(negative);
        let special = match at(i) {
            b'N' if !negative && rest.starts_with(b"NaN") => Some((f64::NAN, 3)),
            b'I' if rest.get(i..).is_some_and(|r| r.starts_with(b"Infinity")) => {
                Some((if negative { f64::NEG_INFINITY } else { f64::INFINITY }, 8))
            }
            b'0'..=b'9' => None,
            _ => return Err(self.wrong_kind("number")),
        };
        let mut token = Token {
            text: "",
            negative,
            mantissa: Some(0),
            fraction: 0,
            exponent: None,
            special: None,
        };
        if let Some((value, len)) = special {
            token.special = Some(value);
            self.pos += i + len;
            return Ok(token);
        }
        let mut mantissa = 0u64;
        let first = i;
        while let digit @ b'0'..=b'9' = at(i) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            i += 1;
        }
        let mut digits = i - first;
        if digits > 1 && at(first) == b'0' {
            return Err(self.syntax("number without leading zeros"));
        }
        if at(i) == b'.' {
            i += 1;
            let start = i;
            while let digit @ b'0'..=b'9' = at(i) {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
                i += 1;
            }
            if i == start {
                return Err(self.syntax("digit after the decimal point"));
            }
            token.fraction = u32::try_from(i - start).unwrap_or(u32::MAX);
            digits += i - start;
        }
        if at(i) | 0x20 == b'e' {
            i += 1;
            let down = at(i) == b'-';
            if down || at(i) == b'+' {
                i += 1;
            }
            let start = i;
            let mut exponent = 0i32;
            while let digit @ b'0'..=b'9' = at(i) {
                exponent = exponent.saturating_mul(10).saturating_add(i32::from(digit - b'0'));
                i += 1;
            }
            if i == start {
                return Err(self.syntax("digit of the exponent"));
            }
            token.exponent = Some(if down { -exponent } else { exponent });
        }
        // 19 digits always fit; more may have wrapped.
        token.mantissa = (digits <= 19).then_some(mantissa);
        token.text = rest
            .get(..i)
            .and_then(|t| std::str::from_utf8(t).ok())
            .ok_or_else(|| self.syntax("number"))?;
        self.pos += i;
        Ok(token)
    }

    /// Reads a number (or a boolean, for [`Bool`]).
    ///
    /// # Errors
    /// [`JsonError::Type`] for another kind of value, [`JsonError::Range`] when the type cannot hold it.
    pub fn number<T: JsonNumber>(&mut self) -> Result<T, JsonError> {
        T::read(self)
    }
}

impl Token<'_> {
    /// The exponent of ten that belongs to `mantissa`.
    fn scale(&self) -> i64 {
        i64::from(self.exponent.unwrap_or(0)) - i64::from(self.fraction)
    }

    /// The value as an integer, if it is one and fits.
    fn integer(&self) -> Option<i128> {
        if self.special.is_some() {
            return None;
        }
        let magnitude: u128 = if self.fraction == 0 && self.exponent.is_none() {
            match self.mantissa {
                Some(m) => u128::from(m),
                None => self.text.trim_start_matches('-').parse().ok()?,
            }
        } else {
            // `1.0` and `1e3` are integers as well; the loop runs at most 19 times up or down.
            let mut m = u128::from(self.mantissa?);
            let mut scale = self.scale();
            while scale < 0 && m != 0 {
                if m % 10 != 0 {
                    return None;
                }
                m /= 10;
                scale += 1;
            }
            if m == 0 { 0 } else { m.checked_mul(10u128.checked_pow(u32::try_from(scale).ok()?)?)? }
        };
        let value = i128::try_from(magnitude).ok()?;
        Some(if self.negative { -value } else { value })
    }
}

/// An element type that a JSON value can stand for.
pub trait JsonNumber: Copy {
    /// The datatype's name in messages.
    const NAME: &'static str;

    /// Reads one value.
    ///
    /// # Errors
    /// As [`Reader::number`].
    fn read(reader: &mut Reader<'_>) -> Result<Self, JsonError>;
}

macro_rules! integers {
    ($($t:ty => $name:literal),*) => {$(
        impl JsonNumber for $t {
            const NAME: &'static str = $name;
            fn read(reader: &mut Reader<'_>) -> Result<Self, JsonError> {
                reader.skip_space();
                let offset = reader.pos;
                let token = reader.number_token()?;
                token
                    .integer()
                    .and_then(|v| v.try_into().ok())
                    .ok_or(JsonError::Range { offset, expected: $name })
            }
        }
    )*};
}

integers! {
    i8 => "INT8", i16 => "INT16", i32 => "INT32", i64 => "INT64",
    u8 => "UINT8", u16 => "UINT16", u32 => "UINT32", u64 => "UINT64"
}

/// Powers of ten that an `f64` holds exactly.
const POW10: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// The value when both the digits and the power of ten are exact: one correctly rounded operation then gives
/// the correctly rounded result (Clinger, "How to read floating point numbers accurately", 1990). `max_digits`
/// and `max_power` are the largest exact mantissa and power of the type.
fn exact_parts(token: &Token<'_>, max_mantissa: u64, max_power: i64) -> Option<(f64, i64)> {
    let mantissa = token.mantissa.filter(|&m| m <= max_mantissa)?;
    let scale = token.scale();
    (-max_power..=max_power).contains(&scale).then_some((mantissa as f64, scale))
}

fn power(scale: i64) -> f64 {
    POW10.get(scale.unsigned_abs() as usize).copied().unwrap_or(f64::NAN)
}

impl JsonNumber for f64 {
    const NAME: &'static str = "FP64";
    fn read(reader: &mut Reader<'_>) -> Result<Self, JsonError> {
        reader.skip_space();
        let offset = reader.pos;
        let token = reader.number_token()?;
        if let Some(special) = token.special {
            return Ok(special);
        }
        if let Some((mantissa, scale)) = exact_parts(&token, 1 << 53, 22) {
            let magnitude =
                if scale < 0 { mantissa / power(scale) } else { mantissa * power(scale) };
            return Ok(if token.negative { -magnitude } else { magnitude });
        }
        finite(token.text.parse().ok().filter(|v: &f64| v.is_finite()), offset, Self::NAME)
    }
}

/// The correctly rounded `f32` of up to 19 digits, by way of an `f64` that is off by less than 2^-51 of itself
/// (half an ulp for the digits, half for the power): when both ends of that error round to the same `f32`, so
/// does the exact value. Python prints `f32` data with 17 digits, so this path is the common one.
fn narrow(token: &Token<'_>) -> Option<f32> {
    let (mantissa, scale) = exact_parts(token, u64::MAX, 22)?;
    let value = if scale < 0 { mantissa / power(scale) } else { mantissa * power(scale) };
    let error = value * f64::EPSILON * 2.0;
    let (low, high) = ((value - error) as f32, (value + error) as f32);
    let signed = if token.negative { -low } else { low };
    (low.to_bits() == high.to_bits() && low.is_finite()).then_some(signed)
}

impl JsonNumber for f32 {
    const NAME: &'static str = "FP32";
    fn read(reader: &mut Reader<'_>) -> Result<Self, JsonError> {
        reader.skip_space();
        let offset = reader.pos;
        let token = reader.number_token()?;
        if let Some(special) = token.special {
            return Ok(special as f32);
        }
        if let Some(value) = narrow(&token) {
            return Ok(value);
        }
        finite(token.text.parse().ok().filter(|v: &f32| v.is_finite()), offset, Self::NAME)
    }
}

fn finite<T>(value: Option<T>, offset: usize, expected: &'static str) -> Result<T, JsonError> {
    value.ok_or(JsonError::Range { offset, expected })
}

macro_rules! halves {
    ($($t:ty => $name:literal),*) => {$(
        impl JsonNumber for $t {
            const NAME: &'static str = $name;
            fn read(reader: &mut Reader<'_>) -> Result<Self, JsonError> {
                let offset = reader.pos;
                // Through f64: its 53 bits make a second rounding to at most 11 bits harmless in all but
                // constructed cases.
                let wide = f64::read(reader)?;
                let value = <$t>::from_f64(wide);
                finite((value.is_finite() || !wide.is_finite()).then_some(value), offset, $name)
            }
        }
    )*};
}
halves! { f16 => "FP16", bf16 => "BF16" }

impl JsonNumber for Bool {
    const NAME: &'static str = "BOOL";
    fn read(reader: &mut Reader<'_>) -> Result<Self, JsonError> {
        if reader.peek()? == super::Kind::Number {
            let offset = reader.pos;
            return match u8::read(reader)? {
                v @ (0 | 1) => Ok(Bool(v)),
                _ => Err(JsonError::Range { offset, expected: Self::NAME }),
            };
        }
        reader.boolean().map(Bool::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: JsonNumber>(text: &str) -> Result<T, JsonError> {
        let mut r = Reader::new(text.as_bytes());
        let v = r.number()?;
        r.end()?;
        Ok(v)
    }

    #[test]
    fn floats_round_correctly() {
        let texts = [
            "0",
            "-0",
            "1",
            "0.1",
            "-2.5e-3",
            "16777217",
            "123456789.125",
            "1e22",
            "1e23",
            "9007199254740993",
            "0.12345678806304932",
            "3.4028234663852886e38",
            "1e-45",
            "4.9e-324",
            "2.2250738585072011e-308",
            "1.7976931348623157e308",
            "0.000000000000000000000000001",
            "12345678901234567890123456789",
            "1.00000000000000000000000000000000000001",
            "1E+2",
        ];
        for text in texts {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(read::<f64>(text).unwrap().to_bits(), expected.to_bits(), "{text}");
            let narrow: f32 = text.parse().unwrap();
            match read::<f32>(text) {
                Ok(v) => assert_eq!(v.to_bits(), narrow.to_bits(), "{text}"),
                Err(e) => assert!(narrow.is_infinite(), "{text}: {e}"),
            }
        }
        assert!(read::<f32>("NaN").unwrap().is_nan());
        assert_eq!(read::<f32>("-Infinity"), Ok(f32::NEG_INFINITY));
        assert_eq!(read::<f64>("Infinity"), Ok(f64::INFINITY));
    }

    #[test]
    fn the_short_way_to_f32_agrees_with_the_long_one() {
        let mut seed = 1u64;
        for _ in 0..20_000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = f32::from_bits((seed >> 32) as u32);
            if !value.is_finite() {
                continue;
            }
            // Its shortest text, its value as a double, and the middle between it and the next one.
            let next = f32::from_bits(value.to_bits() + 1);
            let middle = (f64::from(value) + f64::from(next)) / 2.0;
            for text in [value.to_string(), f64::from(value).to_string(), middle.to_string()] {
                let expected: f32 = text.parse().unwrap();
                if expected.is_finite() {
                    assert_eq!(read::<f32>(&text).unwrap().to_bits(), expected.to_bits(), "{text}");
                }
            }
        }
    }

    #[test]
    fn ranges_are_checked() {
        assert_eq!(read::<u8>("255"), Ok(255));
        assert_eq!(read::<u8>("256"), Err(JsonError::Range { offset: 0, expected: "UINT8" }));
        assert_eq!(read::<i8>("-128"), Ok(-128));
        assert_eq!(read::<u64>("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(read::<i64>("-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(read::<i32>("1.0"), Ok(1));
        assert_eq!(read::<i32>("12e2"), Ok(1200));
        assert_eq!(read::<i32>("1200e-2"), Ok(12));
        assert_eq!(read::<i64>("0e999999999999"), Ok(0));
        for text in ["18446744073709551616", "-1", "1.5", "1e400", "NaN", "1e-400", "1e30"] {
            assert!(matches!(read::<u64>(text), Err(JsonError::Range { .. })), "{text}");
        }
        assert!(matches!(read::<f32>("1e39"), Err(JsonError::Range { .. })));
        assert!(matches!(read::<f64>("1e309"), Err(JsonError::Range { .. })));
        assert!(matches!(read::<f16>("70000"), Err(JsonError::Range { .. })));
        assert_eq!(read::<f16>("0.5"), Ok(f16::from_f32(0.5)));
        assert_eq!(read::<bf16>("-3"), Ok(bf16::from_f32(-3.0)));
        assert_eq!(read::<Bool>("true"), Ok(Bool(1)));
        assert_eq!(read::<Bool>("0"), Ok(Bool(0)));
        assert!(read::<Bool>("2").is_err());
        for text in ["\"1\"", "true", "null", "[1]", "{}"] {
            assert!(matches!(read::<f32>(text), Err(JsonError::Type { .. })), "{text}");
        }
    }
}
