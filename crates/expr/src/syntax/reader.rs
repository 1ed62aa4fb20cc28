//! The smallest parts of expressions: names, numbers, quoted texts, signs.

use crate::error::{Fault, Reason};
use crate::reader::{Reader, is_name_byte};

impl<'t> Reader<'t> {
    /// Takes a sign that must be next.
    pub(crate) fn expect(&mut self, sign: &str) -> Result<(), Fault> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    /// A name, or nothing.
    pub(crate) fn name(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let is_part = |b: u8| is_name_byte(b) || b == b'$' || b == b'@';
        let end = rest.bytes().position(|b| !is_part(b)).unwrap_or(rest.len());
        if end == 0 || rest.as_bytes()[0].is_ascii_digit() {
            return None;
        }
        self.at += end;
        Some(&rest[..end])
    }

    /// A name that must be next.
    pub(crate) fn expect_name(&mut self, what: &str) -> Result<String, Fault> {
        match self.name() {
            Some(name) => Ok(name.to_owned()),
            None => Err(self.unexpected(what)),
        }
    }

    /// Takes a word if it is next and no part of a longer one.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let before = self.at;
        let is_next = self.name() == Some(word);
        if !is_next {
            self.at = before;
        }
        is_next
    }

    /// A number without a sign, or nothing.
    pub(crate) fn number(&mut self) -> Option<f64> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits =
            |from: usize| from + bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits(0);
        let mut count = end;
        if bytes.get(end) == Some(&b'.') {
            let after = digits(end + 1);
            count += after - end - 1;
            end = after;
        }
        if count == 0 {
            return None;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let after = digits(end + 1 + sign);
            if after > end + 1 + sign {
                end = after;
            }
        }
        let number = rest[..end].parse().ok()?;
        self.at += end;
        Some(number)
    }

    /// A text in quotes of either kind, or nothing.
    pub(crate) fn quoted(&mut self) -> Result<Option<String>, Fault> {
        let rest = self.rest();
        let quote = match rest.as_bytes().first() {
            Some(b @ (b'"' | b'\'')) => char::from(*b),
            _ => return Ok(None),
        };
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.at += at + 1;
                    return Ok(Some(text));
                }
                '\\' => match escaped(&mut chars) {
                    Some(c) => text.push(c),
                    None => {
                        return Err(self
                            .fault_at(self.at + at, "one of \\\\ \\' \\\" \\n \\r \\t \\f \\xHH"));
                    }
                },
                c => text.push(c),
            }
        }
        self.at = self.text.len();
        Err(self.unexpected(if quote == '"' { "a closing \"" } else { "a closing '" }))
    }

    /// What is here instead of what is expected.
    pub(crate) fn unexpected(&mut self, expected: &str) -> Fault {
        self.rest();
        self.fault_at(self.at, expected)
    }

    fn fault_at(&self, at: usize, expected: &str) -> Fault {
        let rest = self.text.get(at..).unwrap_or_default();
        let word = rest.bytes().take_while(|b| is_name_byte(*b)).count().min(40);
        let found = match rest.chars().next() {
            None => "the end".to_owned(),
            Some(c) if word == 0 => format!("{c:?}").replace('\'', "\""),
            Some(_) => format!("{:?}", &rest[..word]),
        };
        Fault { at: at as u32, reason: Reason::Unexpected { found, expected: expected.to_owned() } }
    }
}

/// The character of what follows a backslash.
fn escaped(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    match chars.next()?.1 {
        c @ ('\\' | '\'' | '"') => Some(c),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'f' => Some('\u{c}'),
        'x' => {
            let (high, low) = (chars.next()?.1.to_digit(16)?, chars.next()?.1.to_digit(16)?);
            char::from_u32(high * 16 + low)
        }
        _ => None,
    }
}
