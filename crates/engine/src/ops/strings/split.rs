//! StringSplit.

use super::{MAX_BYTES, fits};
use crate::error::{BuildError, PlanError};
use crate::ops::{NodeSpec, OpDef, OpPlan, Out, Param, Slot, plan_fn, types};
use std::iter;
use stead_tensor::{DType, Shape};

/// StringSplit.
pub const OPS: &[OpDef] = &[OpDef::new(
    "StringSplit",
    &[Param::required(1, types::STRING)],
    &[Out::Like(0), Out::Fixed(DType::I64)],
    string_split,
)
.since(20)];

/// How strings are split: as Python's `str.split` does.
#[derive(Clone)]
struct Rule {
    /// Empty: runs of white space, which are no part of a result at either end.
    delimiter: Vec<u8>,
    /// The most places at which one string is split.
    most: usize,
}

impl Rule {
    fn parts<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        let by_space = self.delimiter.is_empty();
        let mut rest = Some(text);
        let mut left = self.most;
        iter::from_fn(move || {
            let mut text = rest.take()?;
            if by_space {
                text = behind_spaces(text);
                if text.is_empty() {
                    return None;
                }
            }
            let cut = match left {
                0 => None,
                _ if by_space => find_space(text),
                _ => {
                    let n = self.delimiter.len();
                    text.windows(n).position(|part| part == self.delimiter).map(|at| (at, at + n))
                }
            };
            let Some((end, next)) = cut else { return Some(text) };
            left -= 1;
            rest = text.get(next..);
            text.get(..end)
        })
    }
}

/// The first character and its bytes. A byte that is no UTF-8 stands for itself and is no space.
fn first_char(text: &[u8]) -> Option<(char, usize)> {
    let head = text.get(..text.len().min(4))?;
    let valid = match std::str::from_utf8(head) {
        Ok(valid) => valid,
        Err(e) => std::str::from_utf8(head.get(..e.valid_up_to())?).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(c) => Some((c, c.len_utf8())),
        None => text.first().map(|_| (char::REPLACEMENT_CHARACTER, 1)),
    }
}

/// White space as Python has it: that of Unicode, and the four separators of ASCII.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

fn behind_spaces(mut text: &[u8]) -> &[u8] {
    while let Some((c, n)) = first_char(text)
        && is_space(c)
    {
        text = text.get(n..).unwrap_or_default();
    }
    text
}

/// Where the first white space of a text begins and ends.
fn find_space(text: &[u8]) -> Option<(usize, usize)> {
    let mut at = 0;
    while let Some((c, n)) = first_char(text.get(at..)?) {
        if is_space(c) {
            return Some((at, at + n));
        }
        at += n;
    }
    None
}

fn string_split(spec: &NodeSpec<'_>) -> Result<OpPlan, BuildError> {
    let attributes = spec.attributes();
    let most = attributes.int_or("maxsplit", -1)?;
    let rule = Rule {
        delimiter: attributes.string_or("delimiter", "")?.as_bytes().to_vec(),
        most: usize::try_from(most).unwrap_or(usize::MAX),
    };
    plan_fn(move |cx| {
        let (shape, rule) = (cx.shape(0)?, rule.clone());
        let x = cx.input(0)?;
        let Some(columns) = cx.measured() else {
            return Err(cx.measure("count_parts", 1, &[x], move |a| {
                let most = a.strings(0)?.iter().map(|text| rule.parts(text).count()).max();
                a.write::<i64>()?.fill(most.unwrap_or(0) as i64);
                Ok(())
            }));
        };
        let columns = columns.as_slice::<i64>()?.first().copied().unwrap_or(0).max(0) as usize;
        let mut dims = shape.to_vec();
        dims.push(columns);
        let table = Shape::new(&dims)?;
        if fits(table.elements(), 0).is_err() {
            return Err(PlanError::shape(format!(
                "a table of shape {table} of strings takes more than {MAX_BYTES} bytes"
            )));
        }
        let parts = cx.wants(0).then(|| cx.output(0, table)).transpose()?;
        let counts = cx.output(1, shape)?;
        let writes: Vec<Slot> = parts.into_iter().chain([counts]).collect();
        let wants_parts = parts.is_some();
        cx.step("string_split", &[x], &writes, move |a| {
            let texts = a.strings(0)?;
            let mut made = Vec::with_capacity(table.elements());
            for (text, count) in texts.iter().zip(a.write::<i64>()?) {
                let from = made.len();
                made.extend(rule.parts(text).take(columns).map(<[u8]>::to_vec));
                *count = (made.len() - from) as i64;
                made.resize(from + columns, Vec::new());
            }
            if wants_parts { a.write_strings(0, made) } else { Ok(()) }
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_python() {
        let cases: [(&str, &str, usize, &[&str]); 13] = [
            ("a,b,,c", ",", 9, &["a", "b", "", "c"]),
            ("", ",", 9, &[""]),
            ("a,b,c", ",", 1, &["a", "b,c"]),
            ("a,b", ",", 0, &["a,b"]),
            ("a--b-", "--", 9, &["a", "b-"]),
            (",", ",", 9, &["", ""]),
            ("  a \t b\n", "", 9, &["a", "b"]),
            ("", "", 9, &[]),
            (" \u{a0}\u{2003} ", "", 9, &[]),
            (" a  b  c ", "", 1, &["a", "b  c "]),
            (" a  ", "", 1, &["a"]),
            (" a b ", "", 0, &["a b "]),
            ("\u{e4}\u{3000}\u{f6}\u{1c}x", "", 9, &["\u{e4}", "\u{f6}", "x"]),
        ];
        for (text, delimiter, most, expected) in cases {
            let rule = Rule { delimiter: delimiter.into(), most };
            let parts: Vec<&[u8]> = rule.parts(text.as_bytes()).collect();
            let expected: Vec<&[u8]> = expected.iter().map(|part| part.as_bytes()).collect();
            assert_eq!(parts, expected, "{text:?} by {delimiter:?}, {most} times");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_kept() {
        let rule = Rule { delimiter: Vec::new(), most: usize::MAX };
        let parts: Vec<&[u8]> = rule.parts(b"\xff\xfe \xe3\x80").collect();
        assert_eq!(parts, [&b"\xff\xfe"[..], b"\xe3\x80"]);
    }
}
