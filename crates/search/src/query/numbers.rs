//! Ranges of numbers (Vespa, `searchlib/src/vespa/searchlib/query/numeric_range_spec.cpp` and `query_term_simple.cpp`).

use std::fmt;

/// Numbers from one to another. Each end is known as a double and, where it was written as a whole number, exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberRange {
    low: End,
    high: End,
}

/// An end of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
struct End {
    number: f64,
    whole: Option<i64>,
    is_open: bool,
}

impl End {
    fn of(number: f64, is_open: bool) -> End {
        End { number, whole: None, is_open }
    }

    fn whole(number: i64, is_open: bool) -> End {
        End { number: number as f64, whole: Some(number), is_open }
    }

    fn parse(text: &str, is_open: bool) -> Option<End> {
        let text = text.trim();
        if let Ok(number) = text.strip_prefix('+').unwrap_or(text).parse::<i64>() {
            return Some(End::whole(number, is_open));
        }
        let number: f64 = text.parse().ok()?;
        (!number.is_nan()).then(|| End::of(number, is_open))
    }
}

const LEAST: End = End { number: f64::NEG_INFINITY, whole: Some(i64::MIN), is_open: false };
const GREATEST: End = End { number: f64::INFINITY, whole: Some(i64::MAX), is_open: false };

impl NumberRange {
    /// A number alone.
    #[must_use]
    pub fn exactly(number: i64) -> NumberRange {
        NumberRange { low: End::whole(number, false), high: End::whole(number, false) }
    }

    /// From texts: a number, `[low;high]` with `<` and `>` for open ends, `<high`, `>low`.
    #[must_use]
    pub fn parse(text: &str) -> Option<NumberRange> {
        let text = text.trim();
        let full = text.strip_prefix(['[', '<']).and_then(|t| t.strip_suffix([']', '>']));
        if let Some((low, high)) = full.and_then(|inner| inner.split_once(';')) {
            let (opens, closes) = (text.starts_with('<'), text.ends_with('>'));
            let end = |text: &str, is_open, without: End| match text.trim().is_empty() {
                true => Some(without),
                false => End::parse(text, is_open),
            };
            let (low, high) = (end(low, opens, LEAST)?, end(high, closes, GREATEST)?);
            return Some(NumberRange { low, high });
        }
        if let Some(high) = text.strip_prefix('<') {
            return Some(NumberRange { low: LEAST, high: End::parse(high, true)? });
        }
        if let Some(low) = text.strip_prefix('>') {
            return Some(NumberRange { low: End::parse(low, true)?, high: GREATEST });
        }
        let end = End::parse(text, false)?;
        Some(NumberRange { low: end, high: end })
    }

    /// As whole numbers that a column may hold, both ends within; `least` and `greatest` are those of its type. Nothing if
    /// no such number is in it. The least stands for no value, which no range has that is more than this number
    /// (Vespa, `searchlib/src/vespa/searchlib/attribute/numeric_range_matcher.h`).
    #[must_use]
    pub fn whole(&self, least: i64, greatest: i64) -> Option<(i64, i64)> {
        let (low, high) = match (self.low.whole, self.high.whole) {
            (Some(low), Some(high)) => {
                let low = if self.low.is_open { low.checked_add(1)? } else { low };
                (low, if self.high.is_open { high.checked_sub(1)? } else { high })
            }
            _ => {
                let (low, high) = self.doubles();
                // A single number with a fraction is rounded, as in Vespa.
                match low == high {
                    true => (low.round() as i64, high.round() as i64),
                    false => (low.ceil() as i64, high.floor() as i64),
                }
            }
        };
        let low = if low <= least && high > least { least.saturating_add(1) } else { low };
        (low <= high && low <= greatest && high >= least)
            .then(|| (low.max(least), high.min(greatest)))
    }

    /// As doubles, both ends within.
    #[must_use]
    pub fn doubles(&self) -> (f64, f64) {
        let low = if self.low.is_open { self.low.number.next_up() } else { self.low.number };
        let high = if self.high.is_open { self.high.number.next_down() } else { self.high.number };
        (low, high)
    }

    /// As floats, both ends within.
    #[must_use]
    pub fn floats(&self) -> (f32, f32) {
        let (low, high) = (self.low.number as f32, self.high.number as f32);
        let low = if self.low.is_open { low.next_up() } else { low };
        (low, if self.high.is_open { high.next_down() } else { high })
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (self.low, self.high);
        if low == high && !low.is_open {
            return write!(f, "= {low}");
        }
        let open = if low.is_open { '<' } else { '[' };
        let close = if high.is_open { '>' } else { ']' };
        write!(f, "in {open}{low};{high}{close}")
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.whole {
            Some(whole) if self.number.is_finite() => write!(f, "{whole}"),
            _ => write!(f, "{}", self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::NumberRange;

    #[test]
    fn ranges_of_whole_numbers() {
        let (least, greatest) = (i64::from(i32::MIN), i64::from(i32::MAX));
        for (text, expected) in [
            ("5", Some((5, 5))),
            ("+5", Some((5, 5))),
            ("2.5", Some((3, 3))),
            ("<5", Some((least + 1, 4))),
            (">5", Some((6, greatest))),
            ("[;5]", Some((least + 1, 5))),
            ("[5;]", Some((5, greatest))),
            ("<1;4>", Some((2, 3))),
            ("<1;2>", None),
            ("[1.5;3.5]", Some((2, 3))),
            ("[-Infinity;3]", Some((least + 1, 3))),
            ("[3;Infinity]", Some((3, greatest))),
            (">2.0", Some((3, greatest))),
            ("8589934592", None),
            ("-2147483648", Some((least, least))),
        ] {
            let range = NumberRange::parse(text).unwrap();
            assert_eq!(range.whole(least, greatest), expected, "{text}");
        }
        let (least, greatest) = (i64::MIN, i64::MAX);
        let range = NumberRange::parse(">9223372036854775807").unwrap();
        assert_eq!(range.whole(least, greatest), None);
        let range = NumberRange::parse("[9007199254740993;9007199254740993]").unwrap();
        assert_eq!(
            range.whole(least, greatest),
            Some((9_007_199_254_740_993, 9_007_199_254_740_993))
        );
    }

    #[test]
    fn ranges_of_doubles() {
        for (text, inside, outside) in [
            ("<1.5", vec![1.4, -1e300, f64::NEG_INFINITY], vec![1.5, f64::NAN]),
            ("[1;2]", vec![1.0, 2.0], vec![0.9, 2.1]),
            ("<1;2>", vec![1.5], vec![1.0, 2.0]),
            ("1.5", vec![1.5], vec![1.4]),
        ] {
            let (low, high) = NumberRange::parse(text).unwrap().doubles();
            let has = |n: f64| low <= n && n <= high;
            assert!(inside.into_iter().all(has) && !outside.into_iter().any(has), "{text}");
        }
    }

    #[test]
    fn what_is_no_range() {
        for text in ["", "x", "[1;2", "<", ">x", "nan", "[nan;1]", "1;2"] {
            assert_eq!(NumberRange::parse(text), None, "{text}");
        }
    }
}
