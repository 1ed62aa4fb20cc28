//! UBJSON (draft 12, <https://ubjson.org>) without recursion, with XGBoost's use of it.

use super::cursor::Cursor;
use super::{Builder, Document};
use crate::error::TreeError;
use crate::limits::Limits;

/// A container that is open.
struct Container {
    /// How many values are still to come, where the file says it.
    left: Option<u64>,
    /// The type of all values, where the file says it.
    kind: Option<u8>,
}

/// Parses a whole file.
///
/// # Errors
/// A syntax error with its offset; more values or deeper nesting than the limits.
pub(crate) fn parse(bytes: &[u8], limits: &Limits) -> Result<Document, TreeError> {
    let mut parser = Parser(Cursor::new("UBJSON", bytes));
    let mut out = Builder::new(limits);
    let mut open: Vec<Container> = Vec::new();
    while !out.complete() {
        let object = out.inside() == Some(true);
        let kind = match open.last_mut() {
            None => parser.marker()?,
            Some(container) => {
                if let Some(left) = &mut container.left {
                    if *left == 0 {
                        open.pop();
                        out.close();
                        continue;
                    }
                    *left -= 1;
                } else if parser.0.skip(if object { b'}' } else { b']' }) {
                    open.pop();
                    out.close();
                    continue;
                }
                let kind = container.kind;
                if object {
                    let key = parser.string()?;
                    out.key(key)?;
                }
                match kind {
                    Some(kind) => kind,
                    None => parser.marker()?,
                }
            }
        };
        match kind {
            b'[' | b'{' => {
                out.open(kind == b'{')?;
                open.push(parser.header()?);
            }
            _ => parser.scalar(kind, &mut out)?,
        }
    }
    match parser.0.peek() {
        None => Ok(out.finish()),
        Some(_) => Err(parser.0.expected("the end of the file")),
    }
}

/// Reads values where the cursor stands.
struct Parser<'a>(Cursor<'a>);

impl<'a> Parser<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8], TreeError> {
        let end = self.0.at.checked_add(n).filter(|end| *end <= self.0.bytes.len());
        let end = end.ok_or_else(|| self.0.expected("more bytes"))?;
        let taken = &self.0.bytes[self.0.at..end];
        self.0.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TreeError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    /// The next marker, no-operations skipped.
    fn marker(&mut self) -> Result<u8, TreeError> {
        loop {
            match self.take(1)?[0] {
                b'N' => {}
                marker => return Ok(marker),
            }
        }
    }

    /// What stands between the opening of a container and its first value: type and count.
    fn header(&mut self) -> Result<Container, TreeError> {
        let mut kind = None;
        if self.0.skip(b'$') {
            let marker = self.take(1)?[0];
            // Types without bytes would make values out of nothing.
            if !matches!(
                marker,
                b'i' | b'U' | b'I' | b'l' | b'L' | b'd' | b'D' | b'C' | b'S' | b'[' | b'{'
            ) {
                self.0.at -= 1;
                return Err(self.0.expected("a type whose values have bytes"));
            }
            kind = Some(marker);
            if self.0.peek() != Some(b'#') {
                return Err(self.0.expected("`#`: a typed container has a count"));
            }
        }
        let mut left = None;
        if self.0.skip(b'#') {
            left = Some(self.count()?);
        }
        Ok(Container { left, kind })
    }

    fn count(&mut self) -> Result<u64, TreeError> {
        let marker = self.marker()?;
        let n = self.integer(marker)?;
        n.and_then(|n| u64::try_from(n).ok()).ok_or_else(|| self.0.expected("a count"))
    }

    /// An integer of the type, none if the type is another.
    fn integer(&mut self, kind: u8) -> Result<Option<i64>, TreeError> {
        Ok(Some(match kind {
            b'i' => i64::from(i8::from_be_bytes(self.array()?)),
            b'U' => i64::from(u8::from_be_bytes(self.array()?)),
            b'I' => i64::from(i16::from_be_bytes(self.array()?)),
            b'l' => i64::from(i32::from_be_bytes(self.array()?)),
            b'L' => i64::from_be_bytes(self.array()?),
            _ => return Ok(None),
        }))
    }

    fn string(&mut self) -> Result<&'a str, TreeError> {
        let len = self.count()?;
        let bytes = self.take(usize::try_from(len).unwrap_or(usize::MAX))?;
        std::str::from_utf8(bytes).map_err(|_| self.0.expected("UTF-8 before here"))
    }

    fn scalar(&mut self, kind: u8, out: &mut Builder) -> Result<(), TreeError> {
        if let Some(n) = self.integer(kind)? {
            return out.number(n as f64);
        }
        match kind {
            b'd' => out.number(f64::from(f32::from_be_bytes(self.array()?))),
            b'D' => out.number(f64::from_be_bytes(self.array()?)),
            b'T' => out.truth(true),
            b'F' => out.truth(false),
            b'Z' => out.null(),
            b'C' => {
                let [byte] = self.array()?;
                out.text(char::from(byte).encode_utf8(&mut [0; 4]))
            }
            b'S' => {
                let text = self.string()?;
                out.text(text)
            }
            _ => {
                self.0.at -= 1;
                Err(self.0.expected("the marker of a type"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_counted_and_plain_containers() {
        let bytes =
            b"{i\x01a[$d#i\x02\x3f\x80\x00\x00\xc0\x00\x00\x00i\x01b[SU\x01xTNZ]i\x01c{#i\x01i\x01dl\x00\x00\x01\x00}";
        let document = parse(bytes, &Limits::default()).unwrap();
        let root = document.root();
        assert_eq!(root.get("a").unwrap().numbers(), Some(vec![1.0, -2.0]));
        let b: Vec<_> = root.get("b").unwrap().elements().collect();
        assert_eq!((b.len(), b[0].text(), b[1].truth()), (3, Some("x"), Some(true)));
        assert_eq!(root.at(&["c", "d"]).and_then(|d| d.number()), Some(256.0));
    }

    #[test]
    fn errors_say_where() {
        let cases: &[(&[u8], usize, &str)] = &[
            (b"", 0, "more bytes"),
            (b"[$d#l\x7f\xff\xff\xff\x00\x00\x00\x00", 13, "more bytes"),
            (b"[$Z#l\x7f\xff\xff\xff", 2, "a type whose values have bytes"),
            (b"[$di", 3, "`#`: a typed container has a count"),
            (b"[#i\xff", 4, "a count"),
            (b"[q", 1, "the marker of a type"),
            (b"[]x", 2, "the end of the file"),
            (b"SL\x7f\xff\xff\xff\xff\xff\xff\xff", 10, "more bytes"),
        ];
        for (bytes, offset, expected) in cases {
            let wrong = TreeError::Syntax { format: "UBJSON", offset: *offset, expected };
            assert_eq!(parse(bytes, &Limits::default()).unwrap_err(), wrong, "{bytes:?}");
        }
    }

    #[test]
    fn nested_typed_containers_are_bounded() {
        // Each level is an array of one array.
        let bytes: Vec<u8> = b"[$[#i\x01".repeat(1000);
        let limits = Limits { depth: 100, ..Limits::default() };
        assert!(matches!(parse(&bytes, &limits), Err(TreeError::Limit { .. })));
    }
}
