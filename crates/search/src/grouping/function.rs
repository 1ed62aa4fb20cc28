//! Functions of values
//! (Vespa, `searchlib/src/vespa/searchlib/expression/functionnodes.cpp`, `mathfunctionnode.cpp`, `timestamp.cpp`).

use stead_store::Position;

use super::code::{Typed, converted};
use super::md5;
use super::syntax::{Function, MathFunction, Number, TimePart};
use super::value::{Kind, Value};

/// The result of a function whose arguments are known, in the type that it was found to have; those that are about the document itself
/// are for others.
pub(super) fn apply(
    function: Function,
    typed: &Typed,
    codes: &[Typed],
    arguments: Vec<Value>,
) -> Value {
    use Function as F;
    let kind = typed.kind;
    let mut arguments = arguments.into_iter();
    let mut one = || arguments.next().unwrap_or(Value::Null);
    match function {
        F::Add | F::Sub | F::Mul | F::Div | F::Mod | F::Min | F::Max => {
            let is_list = typed.is_list;
            let first = converted_all(one(), kind, is_list);
            arguments.fold(first, |result, argument| {
                let argument = converted_all(argument, kind, false);
                joined(result, argument, &|a, b| arithmetic(function, a, b))
            })
        }
        F::Neg => each(one(), &|value| match converted(value, kind) {
            Value::Long(number) => Value::Long(number.wrapping_neg()),
            Value::Double(number) => Value::Double(-number),
            other => other,
        }),
        F::And | F::Or | F::Xor => {
            let all: Vec<i64> = arguments
                .flat_map(|value| value.elements().iter().map(Value::long).collect::<Vec<_>>())
                .collect();
            let join = |a: i64, b: &i64| match function {
                F::And => a & b,
                F::Or => a | b,
                _ => a ^ b,
            };
            let (first, rest) =
                all.split_first().map_or((0, &[][..]), |(first, rest)| (*first, rest));
            Value::Long(rest.iter().fold(first, join))
        }
        F::Cat => {
            let mut bytes = Vec::new();
            for (value, code) in arguments.zip(codes) {
                value.image(code.width, &mut bytes);
            }
            Value::Raw(bytes)
        }
        F::StrCat => {
            let mut text = String::new();
            for value in arguments {
                value.elements().iter().for_each(|value| text.push_str(&value.text()));
            }
            Value::Text(text)
        }
        F::Md5(bits) | F::XorBit(bits) => {
            let mut bytes = Vec::new();
            one().image(codes.first().map_or(8, |code| code.width), &mut bytes);
            let width = bits.div_ceil(8).max(1) as usize;
            Value::Raw(match function {
                F::Md5(_) => md5::digest(&bytes)[..width.min(16)].to_vec(),
                _ => folded(&bytes, width),
            })
        }
        F::Size => {
            let value = one();
            Value::Long(value.elements().len() as i64)
        }
        F::Sort => match one() {
            Value::List(mut list) => {
                list.sort();
                Value::List(list)
            }
            value => value,
        },
        F::Reverse => match one() {
            Value::List(mut list) => {
                list.reverse();
                Value::List(list)
            }
            value => value,
        },
        F::StrLen => each(one(), &|value| Value::Long(value.bytes().len() as i64)),
        F::NormalizeSubject => each(one(), &|value| Value::Text(subject(&value.text()).to_owned())),
        F::ToDouble | F::ToLong | F::ToString | F::ToRaw => {
            each(one(), &|value| converted(value, kind))
        }
        F::ZCurveX => each(one(), &|value| {
            Value::Long(i64::from(Position::from_curve(value.long()).longitude))
        }),
        F::ZCurveY => each(one(), &|value| {
            Value::Long(i64::from(Position::from_curve(value.long()).latitude))
        }),
        F::Time(part) => each(one(), &|value| time(part, value.long())),
        F::Math(function) => {
            let first = one();
            let second = one().double();
            each(first, &|value| Value::Double(math(function, value.double(), second)))
        }
        F::Relevance | F::Now | F::DocIdSpecific => Value::Null,
    }
}

/// A function of each element of a list, or of the value that is none.
pub(super) fn each(value: Value, one: &dyn Fn(&Value) -> Value) -> Value {
    match value {
        Value::List(list) => Value::List(list.iter().map(one).collect()),
        value => one(&value),
    }
}

/// Numbers of a type; a list of one where a list is wanted.
fn converted_all(value: Value, kind: Kind, is_list: bool) -> Value {
    let value = each(value, &|value| converted(value, kind));
    match value {
        Value::List(_) => value,
        one if is_list => Value::List(vec![one]),
        one => one,
    }
}

/// Two values by a function of two numbers: elements of lists with those in the same places, one value with all. Of lists of different
/// lengths the longer one goes on with what it has, or from 0.
fn joined(result: Value, argument: Value, join: &dyn Fn(&Value, &Value) -> Value) -> Value {
    let (mut result, argument) = match (result, argument) {
        (Value::List(result), argument) => (result, argument),
        (result, argument) => return join(&result, &argument),
    };
    let Value::List(argument) = argument else {
        return Value::List(result.iter().map(|value| join(value, &argument)).collect());
    };
    match (result.as_slice(), argument.as_slice()) {
        (_, [one]) => return Value::List(result.iter().map(|value| join(value, one)).collect()),
        ([one], all) if !all.is_empty() => {
            return Value::List(all.iter().map(|value| join(one, value)).collect());
        }
        _ => {}
    }
    let zero = match argument.first() {
        Some(Value::Double(_)) => Value::Double(0.0),
        _ => Value::Long(0),
    };
    if argument.len() > result.len() {
        result.resize(argument.len(), zero);
    }
    for (value, argument) in result.iter_mut().zip(&argument) {
        *value = join(value, argument);
    }
    Value::List(result)
}

/// Two numbers of one type. What is divided by 0 is 0.
fn arithmetic(function: Function, a: &Value, b: &Value) -> Value {
    use Function as F;
    if let (Value::Long(a), Value::Long(b)) = (a, b) {
        let (a, b) = (*a, *b);
        return Value::Long(match function {
            F::Add => a.wrapping_add(b),
            F::Sub => a.wrapping_sub(b),
            F::Mul => a.wrapping_mul(b),
            F::Div if b == 0 => 0,
            F::Div => a.wrapping_div(b),
            F::Mod if b == 0 => 0,
            F::Mod => a.wrapping_rem(b),
            F::Min => a.min(b),
            _ => a.max(b),
        });
    }
    let (x, y) = (a.double(), b.double());
    Value::Double(match function {
        F::Add => x + y,
        F::Sub => x - y,
        F::Mul => x * y,
        F::Div if y == 0.0 => 0.0,
        F::Div => x / y,
        // Of whole numbers, as in Vespa.
        F::Mod => match b.long() {
            0 => 0.0,
            by => a.long().wrapping_rem(by) as f64,
        },
        // What is no number is neither less nor greater.
        F::Min if y < x => y,
        F::Max if y > x => y,
        _ => x,
    })
}

/// Bytes as one number of a width by the exclusive or of its parts; what is left in the end takes the place of what is there, as in
/// Vespa.
fn folded(bytes: &[u8], width: usize) -> Vec<u8> {
    let mut found = vec![0; width];
    let mut parts = bytes.chunks_exact(width);
    for part in &mut parts {
        found.iter_mut().zip(part).for_each(|(to, byte)| *to ^= byte);
    }
    found.iter_mut().zip(parts.remainder()).for_each(|(to, byte)| *to = *byte);
    found
}

/// A subject without the first `Re: `, `Fw: ` or `Fwd: `.
fn subject(text: &str) -> &str {
    let lower = text.get(..5).or(text.get(..4)).unwrap_or_default().to_ascii_lowercase();
    let is_capital = |first| text.starts_with(first);
    if is_capital('R') && lower.starts_with("re: ") || is_capital('F') && lower.starts_with("fw: ")
    {
        &text[4..]
    } else if is_capital('F') && lower == "fwd: " {
        &text[5..]
    } else {
        text
    }
}

/// A part of a moment in seconds since 1970; years are those of the Gregorian calendar, before it was too.
fn time(part: TimePart, seconds: i64) -> Value {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    Value::Long(match part {
        TimePart::Date => return Value::Text(format!("{year}-{month}-{day}")),
        TimePart::DayOfMonth => day,
        // 1970 began with a Thursday. Sunday is 0, whatever Vespa's page says.
        TimePart::DayOfWeek => (days + 4).rem_euclid(7),
        TimePart::DayOfYear => days - days_before(year),
        TimePart::HourOfDay => second / 3600,
        TimePart::MinuteOfHour => second / 60 % 60,
        TimePart::MonthOfYear => month,
        TimePart::SecondOfMinute => second % 60,
        TimePart::Year => year,
    })
}

/// Year, month from 1 and day from 1 of a day since 1970, by cycles of 400 years that begin in March.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (cycle, of_cycle) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (cycle * 400 + year + i64::from(month <= 2), month, day)
}

/// The days from 1970 to the first of a year.
fn days_before(year: i64) -> i64 {
    let before = year - 1;
    let leaps = before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400);
    365 * (year - 1970) + leaps - 477
}

fn math(function: MathFunction, x: f64, y: f64) -> f64 {
    use MathFunction as M;
    match function {
        M::Exp => x.exp(),
        M::Pow => x.powf(y),
        M::Log => x.ln(),
        M::Log1p => x.ln_1p(),
        M::Log10 => x.log10(),
        M::Sin => x.sin(),
        M::Asin => x.asin(),
        M::Cos => x.cos(),
        M::Acos => x.acos(),
        M::Tan => x.tan(),
        M::Atan => x.atan(),
        M::Sqrt => x.sqrt(),
        M::Sinh => x.sinh(),
        M::Asinh => x.asinh(),
        M::Cosh => x.cosh(),
        M::Acosh => x.acosh(),
        M::Tanh => x.tanh(),
        M::Atanh => x.atanh(),
        M::Cbrt => x.cbrt(),
        M::Hypot => x.hypot(y),
        M::Floor => x.floor(),
    }
}

/// The bucket of a width that a number lies in (Vespa, `fixedwidthbucketfunctionnode.cpp`).
pub(super) fn fixed(value: &Value, width: Number) -> Value {
    match value {
        Value::Double(number) => {
            let (width, at) = (width.double(), (number / width.double()).floor());
            Value::DoubleBucket(at * width, (at + 1.0) * width)
        }
        value => {
            let number = value.long();
            let width = match width {
                Number::Long(width) => width,
                Number::Double(width) => Value::Double(width).long(),
            };
            if width <= 0 {
                return Value::LongBucket(number, number);
            }
            let from = number.div_euclid(width).saturating_mul(width);
            // The first bucket begins where numbers do, the last one ends there.
            let from = if from > number { i64::MIN } else { from };
            let to = number.div_euclid(width).saturating_add(1).saturating_mul(width);
            Value::LongBucket(from, if to <= number { i64::MAX } else { to })
        }
    }
}

/// The bucket that a value lies in, as a value of the type of the buckets.
pub(super) fn predefined(value: &Value, buckets: &[Value]) -> Value {
    let has = |bucket: &Value| match bucket {
        Value::LongBucket(from, to) => (*from..*to).contains(&value.long()),
        Value::DoubleBucket(from, to) => {
            let number = value.double();
            *from <= number && (number < *to || number == f64::INFINITY && number == *to)
        }
        Value::TextBucket(from, to) => {
            let text = value.text();
            from.as_str() <= &*text && to.as_deref().is_none_or(|to| &*text < to)
        }
        Value::RawBucket(from, to) => {
            let bytes = value.bytes();
            from.as_slice() <= &*bytes && to.as_deref().is_none_or(|to| &*bytes < to)
        }
        _ => false,
    };
    buckets.iter().find(|bucket| has(bucket)).cloned().unwrap_or(Value::Null)
}

/// Where a number stands among sorted ones, with a fraction between two of them.
pub(super) fn interpolated(sorted: &[Value], number: f64) -> f64 {
    let Some(first) = sorted.first() else { return 0.0 };
    if number < first.double() {
        return 0.0;
    }
    let behind = sorted.iter().skip(1).position(|value| number < value.double());
    match behind {
        None => (sorted.len() - 1) as f64,
        Some(at) => {
            let (low, high) = (sorted[at].double(), sorted[at + 1].double());
            at as f64 + (number - low) / (high - low)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grouping::code::Code;

    #[test]
    fn moments_have_parts() {
        for (seconds, date, week, year_day, clock) in [
            (0, "1970-1-1", 4, 0, (0, 0, 0)),
            (951_782_399, "2000-2-28", 1, 58, (23, 59, 59)),
            (951_868_800, "2000-3-1", 3, 60, (0, 0, 0)),
            (1_157_526_000, "2006-9-6", 3, 248, (7, 0, 0)),
            (-1, "1969-12-31", 3, 364, (23, 59, 59)),
            (-62_135_596_800, "1-1-1", 1, 0, (0, 0, 0)),
        ] {
            assert_eq!(time(TimePart::Date, seconds), Value::Text(date.to_owned()));
            let found = [
                TimePart::DayOfWeek,
                TimePart::DayOfYear,
                TimePart::HourOfDay,
                TimePart::MinuteOfHour,
                TimePart::SecondOfMinute,
            ]
            .map(|part| time(part, seconds).long());
            assert_eq!(found, [week, year_day, clock.0, clock.1, clock.2], "{date}");
        }
    }

    #[test]
    fn numbers_lie_in_buckets() {
        for (number, from, to) in [
            (0, 0, 10),
            (9, 0, 10),
            (10, 10, 20),
            (-1, -10, 0),
            (-10, -10, 0),
            (i64::MAX, i64::MAX / 10 * 10, i64::MAX),
            (i64::MIN, i64::MIN, i64::MIN / 10 * 10),
        ] {
            let found = fixed(&Value::Long(number), Number::Long(10));
            assert_eq!(found, Value::LongBucket(from, to), "{number}");
        }
        let found = fixed(&Value::Double(-0.1), Number::Double(0.5));
        assert_eq!(found, Value::DoubleBucket(-0.5, 0.0));
    }

    #[test]
    fn small_functions() {
        assert_eq!(subject("Re: a"), "a");
        assert_eq!(subject("FWD: a"), "a");
        assert_eq!(subject("re: a"), "re: a");
        assert_eq!(folded(&[1, 2, 3, 4, 7], 2), [7, 6]);
        let sorted = [0, 1, 2, 4, 8].map(Value::Long);
        assert_eq!(interpolated(&sorted, 5.0), 3.25);
        assert_eq!(interpolated(&sorted, -1.0), 0.0);
        assert_eq!(interpolated(&sorted, 9.0), 4.0);
        let place = Position { latitude: -63_418_417, longitude: 10_433_033 };
        for (function, expected) in
            [(Function::ZCurveX, place.longitude), (Function::ZCurveY, place.latitude)]
        {
            let code = Code::Constant(Value::Null);
            let typed = Typed { code, kind: Kind::Long, is_list: false, width: 8 };
            let found = apply(function, &typed, &[], vec![Value::Long(place.curve())]);
            assert_eq!(found, Value::Long(i64::from(expected)));
        }
    }
}
