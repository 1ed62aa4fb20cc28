//! Texts and numbers of scripts.

use super::parser::Parser;
use super::tree::Literal;
use crate::schema::reader::Fault;

impl Parser<'_, '_> {
    pub(super) fn text(&mut self) -> Result<Literal, Fault> {
        self.skip();
        match self.reader.quoted()? {
            Some(text) => Ok(Literal::Text(unescaped(text.value))),
            None => Err(self.reader.unexpected("a text in quotes")),
        }
    }

    pub(super) fn integer(&mut self) -> Result<Literal, Fault> {
        self.skip();
        let before = self.reader.at;
        match self.number() {
            Some(Literal::Integer(number)) => Ok(Literal::Integer(number)),
            _ => {
                self.reader.at = before;
                Err(self.reader.unexpected("a whole number"))
            }
        }
    }

    /// A text or number, or nothing.
    pub(super) fn literal(&mut self) -> Result<Option<Literal>, Fault> {
        if let Some(text) = self.reader.quoted()? {
            return Ok(Some(Literal::Text(unescaped(text.value))));
        }
        Ok(self.number())
    }

    /// A number, or nothing: `3`, `3L`, `0x1f`, `0.5`, `1e3f`.
    pub(super) fn number(&mut self) -> Option<Literal> {
        let rest = self.reader.rest();
        let bytes = rest.as_bytes();
        let sign = usize::from(bytes.first() == Some(&b'-'));
        if !bytes.get(sign)?.is_ascii_digit() {
            return None;
        }
        let mut end = sign;
        while let Some(byte) = bytes.get(end) {
            let is_exponent = end > 0 && matches!(bytes[end - 1], b'e' | b'E');
            // A dot belongs to the number only before a digit: behind it a text may follow.
            let is_dot = *byte == b'.' && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
            let is_sign = is_exponent && matches!(byte, b'+' | b'-') && !rest.starts_with("0x");
            if !(byte.is_ascii_alphanumeric() || is_dot || is_sign) {
                break;
            }
            end += 1;
        }
        let text = &rest[..end];
        let whole = text.trim_end_matches(['l', 'L']);
        let literal = match whole.strip_prefix("0x").or_else(|| whole.strip_prefix("0X")) {
            Some(hex) => Literal::Integer(i64::from_str_radix(hex, 16).ok()?),
            None => match whole.parse() {
                Ok(integer) => Literal::Integer(integer),
                Err(_) => Literal::Number(text.trim_end_matches(['f', 'F']).parse().ok()?),
            },
        };
        self.reader.at += end;
        Some(literal)
    }
}

/// A text without the backslashes before its quotes and backslashes; `\n` and `\t` are what they are everywhere.
fn unescaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => result.push('\n'),
            ('\\', Some('t')) => result.push('\t'),
            ('\\', Some(c @ ('"' | '\'' | '\\'))) => result.push(c),
            // Regular expressions of split are full of backslashes.
            ('\\', Some(other)) => result.extend(['\\', other]),
            (c, _) => result.push(c),
        }
    }
    result
}
