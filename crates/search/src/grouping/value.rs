//! Values of expressions, and what they are as values of other types
//! (Vespa, `searchlib/src/vespa/searchlib/expression/resultnodes.cpp`).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::syntax::shown_double;

/// A value. Buckets have their first value and the first one behind them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[allow(missing_docs)] // The names tell.
pub enum Value {
    /// What is in no bucket.
    Null,
    Bool(bool),
    Long(i64),
    Double(f64),
    Text(String),
    Raw(Vec<u8>),
    LongBucket(i64, i64),
    DoubleBucket(f64, f64),
    /// Nothing is behind all.
    TextBucket(String, Option<String>),
    /// Nothing is behind all.
    RawBucket(Vec<u8>, Option<Vec<u8>>),
    List(Vec<Value>),
}

/// The type of a value, or of the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Long,
    Double,
    Text,
    Raw,
    Bucket,
}

impl Value {
    /// As a whole number; the nearest of one with a fraction.
    pub(super) fn long(&self) -> i64 {
        match self {
            Value::Bool(truth) => i64::from(*truth),
            Value::Long(number) => *number,
            Value::Double(number) if number.is_nan() => i64::MIN,
            Value::Double(number) => number.round() as i64,
            Value::Text(text) => leading_long(text),
            Value::Raw(bytes) => i64::from_be_bytes(eight(bytes)),
            _ => 0,
        }
    }

    /// As a number.
    pub(super) fn double(&self) -> f64 {
        match self {
            Value::Bool(truth) => f64::from(u8::from(*truth)),
            Value::Long(number) => *number as f64,
            Value::Double(number) => *number,
            Value::Text(text) => leading_double(text),
            Value::Raw(bytes) => f64::from_be_bytes(eight(bytes)),
            _ => 0.0,
        }
    }

    /// As bytes: those of its text.
    pub(super) fn bytes(&self) -> Cow<'_, [u8]> {
        match self {
            Value::Raw(bytes) => Cow::Borrowed(bytes),
            Value::Text(text) => Cow::Borrowed(text.as_bytes()),
            Value::Bool(truth) => Cow::Owned(truth.to_string().into_bytes()),
            Value::Long(number) => Cow::Owned(number.to_string().into_bytes()),
            Value::Double(number) => Cow::Owned(general(*number).into_bytes()),
            _ => Cow::Borrowed(&[]),
        }
    }

    /// As a text.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Value::Text(text) => Cow::Borrowed(text),
            other => Cow::Owned(String::from_utf8_lossy(&other.bytes()).into_owned()),
        }
    }

    /// The bytes that `cat`, `md5` and `xorbit` see: numbers have as many as their type, the highest first.
    pub(super) fn image(&self, width: usize, out: &mut Vec<u8>) {
        match self {
            Value::Bool(truth) => out.push(u8::from(*truth)),
            Value::Long(number) => out.extend(&number.to_be_bytes()[8 - width.min(8)..]),
            Value::Double(number) => out.extend(number.to_be_bytes()),
            Value::List(list) => list.iter().for_each(|value| value.image(width, out)),
            other => out.extend(&*other.bytes()),
        }
    }

    /// The elements of a list, or the value itself.
    pub(super) fn elements(&self) -> &[Value] {
        match self {
            Value::List(list) => list,
            one => std::slice::from_ref(one),
        }
    }

    /// About how much memory the value takes, in bytes.
    pub(super) fn memory(&self) -> usize {
        let inner = match self {
            Value::Text(text) => text.len(),
            Value::Raw(bytes) => bytes.len(),
            Value::TextBucket(from, to) => from.len() + to.as_ref().map_or(0, String::len),
            Value::RawBucket(from, to) => from.len() + to.as_ref().map_or(0, Vec::len),
            Value::List(list) => list.iter().map(Value::memory).sum(),
            _ => 0,
        };
        size_of::<Value>() + inner
    }

    /// Where it stands among values of other types.
    fn rank(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Long(_) => 2,
            Value::Double(_) => 3,
            Value::Text(_) => 4,
            Value::Raw(_) => 5,
            Value::LongBucket(..) => 6,
            Value::DoubleBucket(..) => 7,
            Value::TextBucket(..) => 8,
            Value::RawBucket(..) => 9,
            Value::List(_) => 10,
        }
    }

    /// The id of the group of the value.
    pub(super) fn id(&self) -> String {
        let (kind, image) = match self {
            Value::Null => return "group:null".to_owned(),
            Value::Bool(_) => ("bool", self.image_text()),
            Value::Long(_) => ("long", self.image_text()),
            Value::Double(_) => ("double", self.image_text()),
            Value::Text(_) | Value::List(_) => ("string", self.image_text()),
            Value::Raw(_) => ("raw", self.image_text()),
            Value::LongBucket(..) => ("long_bucket", self.ends_image()),
            Value::DoubleBucket(..) => ("double_bucket", self.ends_image()),
            Value::TextBucket(..) => ("string_bucket", self.ends_image()),
            Value::RawBucket(..) => ("raw_bucket", self.ends_image()),
        };
        format!("group:{kind}:{image}")
    }

    /// The value as results write it.
    pub(super) fn image_text(&self) -> String {
        match self {
            Value::Double(number) => shown_double(*number),
            Value::Raw(bytes) => STANDARD.encode(bytes),
            other => other.text().into_owned(),
        }
    }

    fn ends_image(&self) -> String {
        self.ends().map_or_else(String::new, |(from, to)| format!("{from}:{to}"))
    }

    /// The ends of a bucket as results write them.
    pub(super) fn ends(&self) -> Option<(String, String)> {
        let without = || "inf".to_owned();
        Some(match self {
            Value::LongBucket(from, to) => (from.to_string(), to.to_string()),
            Value::DoubleBucket(from, to) => (shown_double(*from), shown_double(*to)),
            Value::TextBucket(from, to) => (from.clone(), to.clone().unwrap_or_else(without)),
            Value::RawBucket(from, to) => {
                let to = to.as_ref().map_or_else(without, |to| STANDARD.encode(to));
                (STANDARD.encode(from), to)
            }
            _ => return None,
        })
    }
}

/// What is no number is less than all numbers.
fn doubles(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
    }
}

/// The end of a bucket; nothing is behind all.
fn ends<T: Ord>(a: Option<&T>, b: Option<&T>) -> Ordering {
    match (a, b) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => a.cmp(b),
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Long(a), Value::Long(b)) => a.cmp(b),
            (Value::Double(a), Value::Double(b)) => doubles(*a, *b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::Raw(a), Value::Raw(b)) => a.cmp(b),
            (Value::LongBucket(a, x), Value::LongBucket(b, y)) => (a, x).cmp(&(b, y)),
            (Value::DoubleBucket(a, x), Value::DoubleBucket(b, y)) => {
                doubles(*a, *b).then(doubles(*x, *y))
            }
            (Value::TextBucket(a, x), Value::TextBucket(b, y)) => {
                a.cmp(b).then(ends(x.as_ref(), y.as_ref()))
            }
            (Value::RawBucket(a, x), Value::RawBucket(b, y)) => {
                a.cmp(b).then(ends(x.as_ref(), y.as_ref()))
            }
            (Value::List(a), Value::List(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Doubles that are equal have the same bits here.
        let bits = |number: f64| match number.is_nan() {
            true => u64::MAX,
            false => (number + 0.0).to_bits(),
        };
        self.rank().hash(state);
        match self {
            Value::Null => {}
            Value::Bool(truth) => truth.hash(state),
            Value::Long(number) => number.hash(state),
            Value::Double(number) => bits(*number).hash(state),
            Value::Text(text) => text.hash(state),
            Value::Raw(bytes) => bytes.hash(state),
            Value::LongBucket(from, to) => (from, to).hash(state),
            Value::DoubleBucket(from, to) => (bits(*from), bits(*to)).hash(state),
            Value::TextBucket(from, to) => (from, to).hash(state),
            Value::RawBucket(from, to) => (from, to).hash(state),
            Value::List(list) => list.hash(state),
        }
    }
}

fn eight(bytes: &[u8]) -> [u8; 8] {
    let mut all = [0; 8];
    all.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    all
}

/// The whole number that a text begins with, as C's `strtoll` reads it in any base.
fn leading_long(text: &str) -> i64 {
    let text = text.trim_ascii_start();
    let (is_negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, base) = match hex {
        Some(hex) => (hex, 16),
        None if digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    let mut number: i128 = 0;
    for digit in digits.chars().map_while(|character| character.to_digit(base)) {
        number = (number * i128::from(base) + i128::from(digit)).min(1 << 64);
    }
    let number = if is_negative { -number } else { number };
    number.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// The number that a text begins with, 0 if with none.
fn leading_double(text: &str) -> f64 {
    let text = text.trim_ascii_start();
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        from + bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count()
    };
    let begin = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let words = ["infinity", "inf", "nan"];
    let starts = |word: &&str| {
        text.get(begin..begin + word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
    };
    if let Some(word) = words.into_iter().find(starts) {
        return text[..begin + word.len()].parse().unwrap_or(0.0);
    }
    let mut end = digits(begin);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let behind = digits(end + 1 + sign);
        if behind > end + 1 + sign {
            end = behind;
        }
    }
    text[..end].parse().unwrap_or(0.0)
}

/// A number as C's `%g` writes it: six digits, without zeros at the end.
fn general(number: f64) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{number:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        return short(&format!("{number:.*}", (5 - exponent) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", short(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::{Value, general, leading_double, leading_long};

    #[test]
    fn texts_begin_with_numbers() {
        for (text, long, double) in [
            ("", 0, 0.0),
            ("x", 0, 0.0),
            (" 42x", 42, 42.0),
            ("-7.5e1z", -7, -75.0),
            ("0x1F", 31, 0.0),
            ("017", 15, 17.0),
            ("99999999999999999999", i64::MAX, 1e20),
            ("-99999999999999999999", i64::MIN, -1e20),
            ("1e", 1, 1.0),
            (".5", 0, 0.5),
            ("-inf", 0, f64::NEG_INFINITY),
        ] {
            assert_eq!(leading_long(text), long, "{text}");
            assert_eq!(leading_double(text), double, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_as_c_writes_them() {
        for (number, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (1234567.0, "1.23457e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (999_999.5, "1e+06"),
            (2.34567891, "2.34568"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(general(number), expected);
        }
    }

    #[test]
    fn values_have_ids_and_an_order() {
        for (value, id) in [
            (Value::Null, "group:null"),
            (Value::Bool(true), "group:bool:true"),
            (Value::Long(-3), "group:long:-3"),
            (Value::Double(1e7), "group:double:1.0E7"),
            (Value::Text("a b".to_owned()), "group:string:a b"),
            (Value::Raw(vec![1, 2, 3]), "group:raw:AQID"),
            (Value::LongBucket(0, 10), "group:long_bucket:0:10"),
            (Value::DoubleBucket(0.5, f64::INFINITY), "group:double_bucket:0.5:Infinity"),
            (Value::TextBucket("a".to_owned(), None), "group:string_bucket:a:inf"),
        ] {
            assert_eq!(value.id(), id);
        }
        let texts = |from: &str, to: Option<&str>| {
            Value::TextBucket(from.to_owned(), to.map(str::to_owned))
        };
        assert!(texts("a", Some("b")) < texts("a", None));
        assert!(Value::Double(f64::NAN) < Value::Double(f64::NEG_INFINITY));
        assert_eq!(Value::Double(0.0), Value::Double(-0.0));
        assert_eq!(Value::Double(2.5).long(), 3);
        assert_eq!(Value::Text("7".to_owned()).bytes().as_ref(), b"7");
    }
}
