//! JSON (RFC 8259) without recursion, with the `NaN` and `Infinity` that XGBoost writes.

use super::cursor::Cursor;
use super::{Builder, Document};
use crate::error::TreeError;
use crate::limits::Limits;

/// Parses a whole file.
///
/// # Errors
/// A syntax error with its offset; more values or deeper nesting than the limits.
pub(crate) fn parse(bytes: &[u8], limits: &Limits) -> Result<Document, TreeError> {
    let mut parser = Parser(Cursor::new("JSON", bytes));
    let mut out = Builder::new(limits);
    loop {
        parser.space();
        if out.complete() {
            return match parser.0.peek() {
                None => Ok(out.finish()),
                Some(_) => Err(parser.0.expected("the end of the file")),
            };
        }
        match out.inside() {
            None => parser.value(&mut out)?,
            Some(object) => {
                let close = if object { b'}' } else { b']' };
                if parser.0.skip(close) {
                    out.close();
                    continue;
                }
                if out.len() > 0 {
                    parser.take(b',', if object { "`,` or `}`" } else { "`,` or `]`" })?;
                    parser.space();
                }
                if object {
                    let key = parser.string("a name in quotes")?;
                    out.key(&key)?;
                    parser.space();
                    parser.take(b':', "`:`")?;
                    parser.space();
                }
                parser.value(&mut out)?;
            }
        }
    }
}

/// Reads values where the cursor stands.
struct Parser<'a>(Cursor<'a>);

impl Parser<'_> {
    fn space(&mut self) {
        while matches!(self.0.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.0.at += 1;
        }
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), TreeError> {
        if self.0.skip(byte) { Ok(()) } else { Err(self.0.expected(expected)) }
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.0.rest().starts_with(word.as_bytes());
        if found {
            self.0.at += word.len();
        }
        found
    }

    /// A scalar, or the beginning of a container.
    fn value(&mut self, out: &mut Builder) -> Result<(), TreeError> {
        match self.0.peek() {
            Some(b'{') => {
                self.0.at += 1;
                out.open(true)
            }
            Some(b'[') => {
                self.0.at += 1;
                out.open(false)
            }
            Some(b'"') => {
                let text = self.string("a string")?;
                out.text(&text)
            }
            _ if self.word("true") => out.truth(true),
            _ if self.word("false") => out.truth(false),
            _ if self.word("null") => out.null(),
            _ if self.word("NaN") => out.number(f64::NAN),
            _ if self.word("Infinity") => out.number(f64::INFINITY),
            _ if self.word("-Infinity") => out.number(f64::NEG_INFINITY),
            Some(b'-' | b'0'..=b'9') => {
                let x = self.number()?;
                out.number(x)
            }
            _ => Err(self.0.expected("a value")),
        }
    }

    fn number(&mut self) -> Result<f64, TreeError> {
        let rest = self.0.rest();
        let len = rest
            .iter()
            .position(|b| !matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'))
            .unwrap_or(rest.len());
        let x = std::str::from_utf8(&rest[..len]).ok().and_then(|text| text.parse().ok());
        let x = x.ok_or_else(|| self.0.expected("a number"))?;
        self.0.at += len;
        Ok(x)
    }

    fn string(&mut self, expected: &'static str) -> Result<String, TreeError> {
        self.take(b'"', expected)?;
        let mut text = String::new();
        loop {
            let rest = self.0.rest();
            let plain = rest.iter().position(|b| matches!(b, b'"' | b'\\' | 0..0x20));
            let plain = plain.ok_or_else(|| self.0.expected("the end of the string"))?;
            let part = std::str::from_utf8(&rest[..plain]);
            text.push_str(part.map_err(|_| self.0.expected("UTF-8"))?);
            self.0.at += plain;
            match rest[plain] {
                b'"' => {
                    self.0.at += 1;
                    return Ok(text);
                }
                b'\\' => {
                    self.0.at += 1;
                    text.push(self.escape()?);
                }
                _ => return Err(self.0.expected("no control character in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, TreeError> {
        let byte = self.0.peek().ok_or_else(|| self.0.expected("an escape"))?;
        self.0.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => byte as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                let code = match first {
                    0xd800..0xdc00 if self.word("\\u") => {
                        let second = self.unit()?;
                        let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400);
                        let low =
                            low.ok_or_else(|| self.0.expected("the second of two surrogates"))?;
                        0x10000 + ((first - 0xd800) << 10) + low
                    }
                    _ => first,
                };
                char::from_u32(code).ok_or_else(|| self.0.expected("a pair of surrogates"))?
            }
            _ => return Err(self.0.expected("an escape")),
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, TreeError> {
        let digits = self.0.bytes.get(self.0.at..self.0.at + 4);
        let digits = digits.filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let text = digits.and_then(|d| std::str::from_utf8(d).ok());
        let unit = text.and_then(|text| u32::from_str_radix(text, 16).ok());
        let unit = unit.ok_or_else(|| self.0.expected("four hexadecimal digits"))?;
        self.0.at += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_their_places() {
        let text = br#" {"a": [1, -2.5e3, {"b": null}], "c": "x\u00e9\ud83d\ude00\n", "d": true, "e": NaN} "#;
        let document = parse(text, &Limits::default()).unwrap();
        let root = document.root();
        assert_eq!(root.len(), 4);
        let a: Vec<_> = root.get("a").unwrap().elements().collect();
        assert_eq!((a[0].number(), a[1].number(), a.len()), (Some(1.0), Some(-2500.0), 3));
        assert!(a[2].get("b").is_some_and(|b| b.number().is_none()));
        assert_eq!(root.get("c").unwrap().text(), Some("x\u{e9}\u{1f600}\n"));
        assert_eq!(root.get("d").unwrap().truth(), Some(true));
        assert!(root.get("e").unwrap().number().is_some_and(f64::is_nan));
    }

    #[test]
    fn errors_say_where() {
        let cases: &[(&[u8], usize, &str)] = &[
            (b"", 0, "a value"),
            (b"[1 2]", 3, "`,` or `]`"),
            (b"[1,]", 3, "a value"),
            (b"{\"a\" 1}", 5, "`:`"),
            (b"{a:1}", 1, "a name in quotes"),
            (b"[1]x", 3, "the end of the file"),
            (b"\"ab", 1, "the end of the string"),
            (b"\"\\ud800x\"", 7, "a pair of surrogates"),
            (b"[1-2]", 1, "a number"),
            (b"[[", 2, "a value"),
        ];
        for (text, offset, expected) in cases {
            let wrong = TreeError::Syntax { format: "JSON", offset: *offset, expected };
            let label = String::from_utf8_lossy(text);
            assert_eq!(parse(text, &Limits::default()).unwrap_err(), wrong, "{label}");
        }
    }

    #[test]
    fn depth_is_bounded_and_costs_no_stack() {
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        assert!(parse(&deep, &Limits::default()).is_ok());
        let limits = Limits { depth: 10, ..Limits::default() };
        assert!(matches!(parse(&deep, &limits), Err(TreeError::Limit { limit: 10, .. })));
        let limits = Limits { values: 10, ..Limits::default() };
        assert!(matches!(parse(&deep, &limits), Err(TreeError::Limit { limit: 10, .. })));
    }
}
