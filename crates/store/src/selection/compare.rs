//! Values of selections, and how they compare.

use std::cmp::Ordering;

use super::{Comparison, Pattern, bucket};

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// There is none.
    Null,
    Integer(i64),
    Number(f64),
    Text(String),
    /// The elements of a field with several: true is what is true of one of them.
    Many(Vec<Value>),
    /// A bucket, which is equal to each that has it.
    Bucket(u64),
    /// Something that is there, and that is all that can be said of it.
    Other,
}

/// Whether a comparison is true; nothing where it says nothing.
pub(super) fn compare(comparison: Comparison, left: &Value, right: &Value) -> Option<bool> {
    match (left, right) {
        (Value::Bucket(bucket), Value::Integer(other))
        | (Value::Integer(other), Value::Bucket(bucket)) => {
            let is_in = bucket::contains(*other as u64, *bucket);
            return match comparison {
                Comparison::Equal => Some(is_in),
                Comparison::Unequal => Some(!is_in),
                _ => None,
            };
        }
        (Value::Many(list), other) if *other != Value::Null => {
            return any(list, |value| compare(comparison, value, other));
        }
        (other, Value::Many(list)) if *other != Value::Null => {
            return any(list, |value| compare(comparison, other, value));
        }
        _ => {}
    }
    let order = match (left, right) {
        (Value::Integer(a), Value::Integer(b)) => Some(a.cmp(b)),
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        _ => number(left).zip(number(right)).and_then(|(a, b)| a.partial_cmp(&b)),
    };
    let is_null = (*left == Value::Null, *right == Value::Null);
    match (comparison, order) {
        (Comparison::Equal, None) => Some(is_null == (true, true)),
        (Comparison::Unequal, None) => Some(is_null != (true, true)),
        (_, None) => None,
        (Comparison::Equal, Some(order)) => Some(order == Ordering::Equal),
        (Comparison::Unequal, Some(order)) => Some(order != Ordering::Equal),
        (Comparison::Less, Some(order)) => Some(order == Ordering::Less),
        (Comparison::LessOrEqual, Some(order)) => Some(order != Ordering::Greater),
        (Comparison::Greater, Some(order)) => Some(order == Ordering::Greater),
        (Comparison::GreaterOrEqual, Some(order)) => Some(order != Ordering::Less),
    }
}

fn any(list: &[Value], test: impl Fn(&Value) -> Option<bool>) -> Option<bool> {
    Some(list.iter().any(|value| test(value) == Some(true)))
}

/// Whether a text fits; nothing if it is none.
pub(super) fn fits(pattern: &Pattern, value: &Value) -> Option<bool> {
    match value {
        Value::Text(text) => Some(match pattern {
            Pattern::Glob(glob) => glob_fits(glob, text),
            Pattern::Regex(regex) => regex.is_match(text),
        }),
        Value::Many(list) => any(list, |value| fits(pattern, value)),
        Value::Null => Some(false),
        _ => None,
    }
}

pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// `*` stands for any characters, `?` for one. The last star is where a text that does not fit is tried again, one character
/// further.
fn glob_fits(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut g, mut t) = (0, 0);
    let mut star = None;
    while t < text.len() {
        match glob.get(g) {
            Some('*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (g, t) = (g + 1, t + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (g, t) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}
