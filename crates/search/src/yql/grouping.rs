//! Groupings behind `|`: kept as they are written.

use super::error::Fault;
use super::expression::Parser;
use super::tree::Grouping;

impl Parser<'_> {
    /// `all(...)` or `each(...)` with annotations before it, up to the next `|` or the end.
    pub(super) fn grouping(&mut self) -> Result<Grouping, Fault> {
        let annotations = self.annotations()?;
        if !self.lexer.is_word("all") && !self.lexer.is_word("each") {
            return Err(self.lexer.unexpected("all(...) or each(...)"));
        }
        let at = self.lexer.at;
        let end = end(self.lexer.text, at)?;
        let text = self.lexer.text[at..end].trim().to_owned();
        self.lexer.jump(end)?;
        Ok(Grouping { at, annotations, text })
    }
}

/// Where a grouping ends.
fn end(text: &str, from: usize) -> Result<usize, Fault> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (from, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => {
                let close = closing_quote(bytes, at);
                at = close.ok_or_else(|| Fault {
                    at,
                    text: "expected a quote that ends this text, found the end".to_owned(),
                })?;
            }
            b'#' => at = line_end(bytes, at),
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = line_end(bytes, at),
            b'(' => depth += 1,
            b')' => {
                depth = depth.checked_sub(1).ok_or_else(|| Fault {
                    at,
                    text: "expected the end of the grouping, found )".to_owned(),
                })?;
            }
            b'|' | b';' if depth == 0 => return Ok(at),
            _ => {}
        }
        at += 1;
    }
    match depth {
        0 => Ok(text.len()),
        _ => Err(Fault {
            at: from,
            text: "expected ) behind this grouping, found the end".to_owned(),
        }),
    }
}

fn closing_quote(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 1,
            byte if *byte == bytes[open] => return Some(at),
            _ => {}
        }
        at += 1;
    }
}

fn line_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
}
