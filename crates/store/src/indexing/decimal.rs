//! Decimal arithmetic, in which scripts add and multiply: `0.1 + 0.2` is `0.3`
//! (Vespa takes `BigDecimal`, with 16 digits for quotients).

use std::cmp::Ordering;

/// `mantissa * 10^exponent`
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal {
    mantissa: i128,
    exponent: i32,
}

/// The digits of a quotient.
const QUOTIENT: u32 = 16;

impl Decimal {
    pub(super) fn integer(number: i64) -> Decimal {
        Decimal { mantissa: i128::from(number), exponent: 0 }
    }

    /// The shortest decimal number that is this double; nothing if it is infinite or no number.
    pub(super) fn double(number: f64) -> Option<Decimal> {
        let text = number.is_finite().then(|| format!("{number:e}"))?;
        let (digits, exponent) = text.split_once('e')?;
        let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
        let mantissa = digits.replace('.', "").parse().ok()?;
        Some(Decimal { mantissa, exponent: exponent.parse::<i32>().ok()? - fraction })
    }

    /// Both with one exponent; nothing if they are too far apart.
    fn aligned(self, other: Decimal) -> Option<(i128, i128, i32)> {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |d: Decimal| {
            if d.mantissa == 0 {
                return Some(0);
            }
            let power = 10_i128.checked_pow((d.exponent - exponent) as u32)?;
            d.mantissa.checked_mul(power)
        };
        Some((scaled(self)?, scaled(other)?, exponent))
    }

    pub(super) fn add(self, other: Decimal) -> Option<Decimal> {
        let (a, b, exponent) = self.aligned(other)?;
        Some(Decimal { mantissa: a.checked_add(b)?, exponent })
    }

    pub(super) fn subtract(self, other: Decimal) -> Option<Decimal> {
        self.add(Decimal { mantissa: other.mantissa.checked_neg()?, ..other })
    }

    pub(super) fn multiply(self, other: Decimal) -> Option<Decimal> {
        let mantissa = self.mantissa.checked_mul(other.mantissa)?;
        Some(Decimal { mantissa, exponent: self.exponent + other.exponent })
    }

    /// The quotient in 16 digits, rounded to the nearest, of two the even one. The other must not be 0.
    pub(super) fn divide(self, other: Decimal) -> Option<Decimal> {
        let digits = |n: i128| n.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
        // So that the quotient has a digit more than is wanted, or two.
        let more = (QUOTIENT + 1 + digits(other.mantissa)).saturating_sub(digits(self.mantissa));
        let dividend = self.mantissa.checked_mul(10_i128.checked_pow(more)?)?;
        let (mut quotient, rest) =
            (dividend.checked_div(other.mantissa)?, dividend.checked_rem(other.mantissa)?);
        let mut exponent = self.exponent - other.exponent - more as i32;
        let mut is_more = rest != 0;
        let mut last = 0;
        while digits(quotient) > QUOTIENT {
            is_more |= last != 0;
            last = (quotient % 10).unsigned_abs();
            quotient /= 10;
            exponent += 1;
        }
        let is_up = match last.cmp(&5) {
            Ordering::Greater => true,
            Ordering::Equal => is_more || quotient % 2 != 0,
            Ordering::Less => false,
        };
        let sign = if (self.mantissa < 0) == (other.mantissa < 0) { 1 } else { -1 };
        let mantissa = if is_up { quotient + sign } else { quotient };
        Some(Decimal { mantissa, exponent })
    }

    /// What is left of a division without a fraction; it has the sign of this one. The other must not be 0.
    pub(super) fn remainder(self, other: Decimal) -> Option<Decimal> {
        let (a, b, exponent) = self.aligned(other)?;
        Some(Decimal { mantissa: a.checked_rem(b)?, exponent })
    }

    pub(super) fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// The nearest double.
    pub(super) fn to_double(self) -> f64 {
        let text = format!("{}e{}", self.mantissa, self.exponent);
        text.parse().unwrap_or(f64::NAN)
    }

    /// The nearest float.
    pub(super) fn to_float(self) -> f32 {
        let text = format!("{}e{}", self.mantissa, self.exponent);
        text.parse().unwrap_or(f32::NAN)
    }

    /// The whole part.
    pub(super) fn to_integer(self) -> i128 {
        let power = |exponent: u32| 10_i128.checked_pow(exponent);
        match self.exponent {
            exponent @ 0.. => power(exponent as u32)
                .and_then(|power| self.mantissa.checked_mul(power))
                .unwrap_or_default(),
            exponent => power(exponent.unsigned_abs()).map_or(0, |power| self.mantissa / power),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn numbers_are_those_of_decimal_arithmetic() {
        let of = |number: f64| Decimal::double(number).unwrap();
        for (label, found, expected) in [
            ("0.1 + 0.2", of(0.1).add(of(0.2)), 0.3),
            ("0.3 - 0.1", of(0.3).subtract(of(0.1)), 0.2),
            ("1.1 * 1.1", of(1.1).multiply(of(1.1)), 1.21),
            ("2 / 3", of(2.0).divide(of(3.0)), 0.666_666_666_666_666_7),
            ("-2 / 3", of(-2.0).divide(of(3.0)), -0.666_666_666_666_666_7),
            ("1 / 8", of(1.0).divide(of(8.0)), 0.125),
            ("5.5 % 2", of(5.5).remainder(of(2.0)), 1.5),
            ("-7 % 3", of(-7.0).remainder(of(3.0)), -1.0),
            ("0 * 1e300", of(0.0).multiply(of(1e300)), 0.0),
            ("1e-3 + 1e3", of(1e-3).add(of(1e3)), 1000.001),
        ] {
            assert_eq!(found.unwrap().to_double(), expected, "{label}");
        }
        assert!(of(1e300).add(of(1e-300)).is_none());
        assert!(Decimal::double(f64::NAN).is_none());
        assert_eq!(of(-3.99).to_integer(), -3);
        assert_eq!(Decimal::integer(7).divide(Decimal::integer(2)).unwrap().to_integer(), 3);
    }
}
