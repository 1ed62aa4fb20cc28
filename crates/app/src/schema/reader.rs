//! Characters, names and raw texts of a schema, with their places.

use std::cell::Cell;
use std::sync::Arc;

use crate::package::{Located, Place};

/// The text of a file and how far it is read.
pub(crate) struct Reader<'t> {
    file: Arc<str>,
    pub(crate) text: &'t str,
    pub(crate) at: usize,
    /// The byte at which each line begins.
    lines: Vec<usize>,
    /// The last byte that was asked for and its column: places are asked for in order, and a line may be a megabyte long.
    last: Cell<(usize, u32)>,
}

/// Where a raw text ends, beside a brace that closes what is around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// At the end of the line.
    AtLine,
    /// Nowhere else.
    AtBrace,
    /// At the end of a line when all of its own braces are closed.
    AfterBraces,
}

/// Something that cannot be read, with the byte where it is.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) text: String,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(file: &str, text: &'t str) -> Reader<'t> {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        Reader { file: file.into(), text, at: 0, lines: lines.collect(), last: Cell::new((0, 1)) }
    }

    /// The place of a byte.
    pub(crate) fn place(&self, at: usize) -> Place {
        let line = self.lines.partition_point(|from| *from <= at).max(1);
        let begin = self.lines.get(line - 1).copied().unwrap_or(0);
        let (from, column) = match self.last.get() {
            (last, column) if (begin..=at).contains(&last) => (last, column),
            _ => (begin, 1),
        };
        let between = self.text.as_bytes().get(from..at.min(self.text.len())).unwrap_or_default();
        // Characters are counted by the bytes that begin one.
        let column = column + between.iter().filter(|b| **b & 0xc0 != 0x80).count() as u32;
        self.last.set((at, column));
        Place { file: self.file.clone(), line: line as u32, column }
    }

    /// The place where it stands.
    pub(crate) fn here(&self) -> Place {
        self.place(self.at)
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips spaces and comments, and newlines if told so.
    pub(crate) fn skip(&mut self, over_lines: bool) {
        while let Some(byte) = self.byte() {
            match byte {
                b' ' | b'\t' | b'\r' | 0x0c => self.at += 1,
                b'\n' if over_lines => self.at += 1,
                b'#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                0xef if self.at == 0 && self.rest().starts_with('\u{feff}') => self.at += 3,
                _ => return,
            }
        }
    }

    /// Skips spaces, newlines and comments.
    pub(crate) fn blank(&mut self) {
        self.skip(true);
    }

    /// Skips spaces and comments within the line.
    pub(crate) fn spaces(&mut self) {
        self.skip(false);
    }

    /// The next byte after blanks.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.byte()
    }

    /// Takes a sign if it is next on this line.
    pub(crate) fn take(&mut self, sign: &str) -> bool {
        self.spaces();
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    /// Takes a sign that must be next on this line.
    pub(crate) fn expect(&mut self, sign: &str, expected: &str) -> Result<(), Fault> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// The longest run of bytes that may stand in a word, without skipping anything.
    fn run(&self, is_part: impl Fn(u8) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.bytes().position(|b| !is_part(b)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// A word on this line: a letter or underscore, then letters, digits, underscores and dashes.
    pub(crate) fn word(&mut self) -> Option<Located<&'t str>> {
        self.spaces();
        let word = self.run(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return None;
        }
        let place = self.here();
        self.at += word.len();
        Some(Located::new(word, place))
    }

    /// A word that must be next on this line.
    pub(crate) fn expect_word(&mut self, expected: &str) -> Result<Located<&'t str>, Fault> {
        self.word().ok_or_else(|| self.unexpected(expected))
    }

    /// Anything on this line that has no space and none of `{},:` in it.
    pub(crate) fn token(&mut self) -> Option<Located<&'t str>> {
        self.spaces();
        let is_end = |b: u8| b.is_ascii_whitespace() || b"{},:#".contains(&b);
        let token = self.run(|b| !is_end(b));
        if token.is_empty() {
            return None;
        }
        let place = self.here();
        self.at += token.len();
        Some(Located::new(token, place))
    }

    /// A text in quotes of either kind on this line, or nothing. Backslashes stand for themselves.
    pub(crate) fn quoted(&mut self) -> Result<Option<Located<&'t str>>, Fault> {
        self.spaces();
        let Some(quote @ (b'"' | b'\'')) = self.byte() else {
            return Ok(None);
        };
        let (place, from) = (self.here(), self.at + 1);
        let rest = self.text.get(from..).unwrap_or_default();
        match rest.bytes().position(|b| b == quote || b == b'\n') {
            Some(end) if rest.as_bytes()[end] == quote => {
                self.at = from + end + 1;
                Ok(Some(Located::new(&rest[..end], place)))
            }
            _ => Err(Fault {
                at: self.at,
                text: format!("expected a closing {} on this line", char::from(quote)),
            }),
        }
    }

    /// Where a raw text ends that begins at a byte: at a closing brace that it did not open, or where it may end at a
    /// line. Braces in quotes and comments do not count.
    fn raw_end(&self, at: usize, ends: Ends) -> usize {
        let bytes = self.text.as_bytes();
        let (mut at, mut open) = (at, 0_usize);
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'\n' if ends == Ends::AtLine || (ends == Ends::AfterBraces && open == 0) => {
                    return at;
                }
                b'{' => open += 1,
                b'}' if open == 0 => return at,
                b'}' => open -= 1,
                b'#' => {
                    while bytes.get(at + 1).is_some_and(|b| *b != b'\n') {
                        at += 1;
                    }
                }
                quote @ (b'"' | b'\'') => at = closing(bytes, at, *quote).unwrap_or(at),
                _ => {}
            }
            at += 1;
        }
        bytes.len()
    }

    /// The raw text up to the end of the line or a closing brace, or across lines up to a closing brace; comments
    /// become spaces, so that places in it stay places in the file.
    pub(crate) fn raw(&mut self, ends: Ends) -> Located<String> {
        self.skip(ends == Ends::AtBrace);
        let (place, end) = (self.here(), self.raw_end(self.at, ends));
        let text = without_comments(&self.text[self.at..end]);
        self.at = end;
        Located::new(text.trim_ascii_end().to_owned(), place)
    }

    /// Goes behind an element that begins at a byte and cannot be read.
    pub(crate) fn recover(&mut self, from: usize) {
        let mut end = self.raw_end(from, Ends::AfterBraces);
        loop {
            self.at = end;
            // The braces of an element may begin on a line of their own.
            self.blank();
            if self.byte() != Some(b'{') {
                break;
            }
            end = self.raw_end(self.at, Ends::AfterBraces);
        }
        self.at = end.max(from);
    }

    /// Takes a tensor, a list or a single token as it is written: brackets of all kinds up to those that close them.
    pub(crate) fn literal(&mut self, expected: &str) -> Result<Located<String>, Fault> {
        self.blank();
        let (place, from) = (self.here(), self.at);
        let mut open = 0_usize;
        while let Some(byte) = self.byte() {
            match byte {
                b'{' | b'[' | b'(' => open += 1,
                b'}' | b']' | b')' if open == 0 => break,
                b'}' | b']' | b')' => open -= 1,
                b'#' => {
                    self.skip(false);
                    continue;
                }
                quote @ (b'"' | b'\'') => {
                    self.at = closing(self.text.as_bytes(), self.at, quote).unwrap_or(self.at);
                }
                b if open == 0 && (b.is_ascii_whitespace() || b == b',') => break,
                _ => {}
            }
            self.at += 1;
            if open == 0 && matches!(byte, b'}' | b']') {
                break;
            }
        }
        if self.at == from {
            return Err(self.unexpected(expected));
        }
        Ok(Located::new(without_comments(&self.text[from..self.at]), place))
    }

    /// What stands here instead of what is expected.
    pub(crate) fn unexpected(&mut self, expected: &str) -> Fault {
        self.spaces();
        Fault { at: self.at, text: format!("expected {expected}, found {}", self.found()) }
    }

    /// What stands here, in quotes and shortened.
    pub(crate) fn found(&self) -> String {
        let word = self.run(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
        match (self.rest().chars().next(), word.len()) {
            (None, _) => "the end of the file".to_owned(),
            (Some('\n'), _) => "the end of the line".to_owned(),
            (Some(c), 0) => format!("{:?}", c.to_string()),
            (_, length) => format!("{:?}", &word[..length.min(60)]),
        }
    }
}

/// The byte of the quote that closes the one at `at`, on the same line.
fn closing(bytes: &[u8], at: usize, quote: u8) -> Option<usize> {
    let mut end = at + 1;
    loop {
        match bytes.get(end)? {
            b'\n' => return None,
            b'\\' => end += 2,
            b if *b == quote => return Some(end),
            _ => end += 1,
        }
    }
}

/// The text with comments replaced by spaces.
fn without_comments(text: &str) -> String {
    if !text.contains('#') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut result = String::with_capacity(text.len());
    let (mut at, mut from) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            quote @ (b'"' | b'\'') => at = closing(bytes, at, *quote).unwrap_or(at),
            b'#' => {
                let end = text[at..].find('\n').map_or(text.len(), |n| at + n);
                result.push_str(&text[from..at]);
                result.extend(text[at..end].chars().map(|_| ' '));
                (at, from) = (end, end);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    result.push_str(&text[from..]);
    result
}
