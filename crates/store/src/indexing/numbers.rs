//! Sums and comparisons of numbers, and numbers from texts.

use std::cmp::Ordering;

use stead_app::schema::{Comparison, Operator};

use super::Datum;
use super::decimal::Decimal;
use super::spelling::spelled;
use crate::kind::DataType;
use crate::value::FieldValue;

/// A sum, product and so on. The type is the wider one of both; whole numbers that it does not have go around.
pub(super) fn arithmetic(left: &Datum, operator: Operator, right: &Datum) -> Result<Datum, String> {
    let (a, b) = (decimal(left)?, decimal(right)?);
    if matches!(operator, Operator::Divide | Operator::Remainder) && b.is_zero() {
        return Err("division by 0".to_owned());
    }
    let exact = match operator {
        Operator::Add => a.add(b),
        Operator::Subtract => a.subtract(b),
        Operator::Multiply => a.multiply(b),
        Operator::Divide => a.divide(b),
        Operator::Remainder => a.remainder(b),
    };
    let has = |kind: DataType| left.kind == kind || right.kind == kind;
    let is_double = has(DataType::Double);
    if is_double || has(DataType::Float) || has(DataType::Float16) {
        let number = match (exact, is_double) {
            (Some(exact), true) => exact.to_double(),
            (Some(exact), false) => f64::from(exact.to_float()),
            // Numbers this far apart have no digits in common.
            (None, _) => double(a.to_double(), operator, b.to_double()),
        };
        let kind = if is_double { DataType::Double } else { DataType::Float };
        return Ok(Datum { kind, value: FieldValue::Number(number) });
    }
    let whole = exact.map_or(0, Decimal::to_integer);
    if has(DataType::Long) {
        return Ok(Datum::long(whole as i64));
    }
    Ok(Datum { kind: DataType::Int, value: FieldValue::Integer(i64::from(whole as i32)) })
}

fn double(a: f64, operator: Operator, b: f64) -> f64 {
    match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => a % b,
    }
}

fn decimal(datum: &Datum) -> Result<Decimal, String> {
    let found = match &datum.value {
        FieldValue::Integer(number) => Some(Decimal::integer(*number)),
        FieldValue::Number(number) => Decimal::double(rounded(&datum.kind, *number)),
        _ => None,
    };
    found.ok_or_else(|| format!("expected a number, found {}", spelled(datum)))
}

/// A number as its type has it.
pub(super) fn rounded(kind: &DataType, number: f64) -> f64 {
    match kind {
        DataType::Float | DataType::Float16 => f64::from(number as f32),
        _ => number,
    }
}

/// Whether a comparison holds: of numbers by their values, of anything else by their texts.
pub(super) fn holds(left: &Datum, comparison: Comparison, right: &Datum) -> bool {
    let number = |datum: &Datum| match &datum.value {
        FieldValue::Integer(number) => Some(Number::Integer(*number)),
        FieldValue::Number(number) => Some(Number::Double(rounded(&datum.kind, *number))),
        _ => None,
    };
    let ordering = match (number(left), number(right)) {
        (Some(left), Some(right)) => left.compare(right),
        _ => spelled(left).cmp(&spelled(right)),
    };
    match comparison {
        Comparison::Equal => ordering == Ordering::Equal,
        Comparison::NotEqual => ordering != Ordering::Equal,
        Comparison::Less => ordering == Ordering::Less,
        Comparison::AtMost => ordering != Ordering::Greater,
        Comparison::Greater => ordering == Ordering::Greater,
        Comparison::AtLeast => ordering != Ordering::Less,
    }
}

enum Number {
    Integer(i64),
    Double(f64),
}

impl Number {
    fn compare(self, other: Number) -> Ordering {
        let double = |number: Number| match number {
            Number::Integer(number) => number as f64,
            Number::Double(number) => number,
        };
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a.cmp(&b),
            (a, b) => double(a).partial_cmp(&double(b)).unwrap_or(Ordering::Equal),
        }
    }
}

/// `to_int` and the like: the number that the text of a value is.
pub(super) fn converted(datum: &Datum, kind: DataType) -> Result<Datum, String> {
    let text = spelled(datum);
    let fail = || {
        let article = if kind == DataType::Int { "an" } else { "a" };
        format!("expected {article} {kind}, found {text:?}")
    };
    let value = match kind {
        DataType::Byte => text.parse::<i8>().map(|n| FieldValue::Integer(n.into())).ok(),
        DataType::Int => text.parse::<i32>().map(|n| FieldValue::Integer(n.into())).ok(),
        DataType::Long => text.parse::<i64>().map(FieldValue::Integer).ok(),
        DataType::Float => {
            number(&text).and_then(|t| t.parse::<f32>().ok()).map(|n| FieldValue::Number(n.into()))
        }
        _ => number(&text).and_then(|t| t.parse::<f64>().ok()).map(FieldValue::Number),
    };
    Ok(Datum { value: value.ok_or_else(fail)?, kind })
}

/// The text of a number with a fraction: blanks around it and a letter for its type behind it are allowed.
fn number(text: &str) -> Option<&str> {
    let text = text.trim();
    // Rust reads names that Java does not.
    let is_name = text.trim_start_matches(['+', '-']);
    if is_name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return matches!(is_name, "NaN" | "Infinity").then_some(text);
    }
    Some(text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text))
}

/// `to_bool`: numbers are true if they are not 0, texts if they are not empty.
pub(super) fn truth(datum: &Datum) -> bool {
    match &datum.value {
        FieldValue::Bool(value) => *value,
        FieldValue::Integer(number) => *number != 0,
        FieldValue::Number(number) => *number as i32 != 0,
        FieldValue::Text(text) => !text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use stead_app::schema::Operator;

    use super::{arithmetic, converted};
    use crate::indexing::Datum;
    use crate::kind::DataType;
    use crate::value::FieldValue;

    fn datum(kind: DataType, number: f64) -> Datum {
        let value = match kind {
            DataType::Byte | DataType::Int | DataType::Long => FieldValue::Integer(number as i64),
            _ => FieldValue::Number(number),
        };
        Datum { kind, value }
    }

    #[test]
    fn the_wider_type_is_that_of_the_result() {
        use DataType::{Byte, Double, Float, Int, Long};
        for (left, a, operator, right, b, kind, expected) in [
            (Int, 6.0, Operator::Add, Int, 9.0, Int, 15.0),
            (Byte, 6.0, Operator::Multiply, Byte, 9.0, Int, 54.0),
            (Int, 7.0, Operator::Divide, Int, 2.0, Int, 3.0),
            (Int, 2_147_483_647.0, Operator::Add, Int, 1.0, Int, -2_147_483_648.0),
            (Int, 2_147_483_647.0, Operator::Add, Long, 1.0, Long, 2_147_483_648.0),
            (Int, 1.0, Operator::Divide, Float, 4.0, Float, 0.25),
            (Float, 0.1, Operator::Add, Double, 0.2, Double, 0.300_000_001_490_116_12),
            (Double, 0.1, Operator::Add, Double, 0.2, Double, 0.3),
            (Long, -7.0, Operator::Remainder, Int, 3.0, Long, -1.0),
        ] {
            let found = arithmetic(&datum(left, a), operator, &datum(right, b)).unwrap();
            assert_eq!(found, datum(kind, expected), "{a} {operator:?} {b}");
        }
        let zero = datum(DataType::Int, 0.0);
        assert_eq!(arithmetic(&zero, Operator::Divide, &zero).unwrap_err(), "division by 0");
    }

    #[test]
    fn texts_become_numbers_as_in_java() {
        use DataType::{Byte, Double, Float, Int, Long};
        for (text, kind, expected) in [
            ("5", Int, Ok(5.0)),
            ("+5", Int, Ok(5.0)),
            ("5.0", Int, Err("expected an int, found \"5.0\"")),
            (" 5", Int, Err("expected an int, found \" 5\"")),
            ("128", Byte, Err("expected a byte, found \"128\"")),
            ("3000000000", Long, Ok(3e9)),
            (" 1.5f ", Float, Ok(1.5)),
            ("1e3d", Double, Ok(1000.0)),
            ("inf", Double, Err("expected a double, found \"inf\"")),
            ("", Double, Err("expected a double, found \"\"")),
        ] {
            let found = converted(&Datum::text(text), kind.clone());
            let expected = expected.map(|n| datum(kind, n)).map_err(str::to_owned);
            assert_eq!(found, expected, "{text}");
        }
    }
}
