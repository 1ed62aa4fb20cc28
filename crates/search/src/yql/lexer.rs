//! A text in YQL as words, numbers, texts and signs.

use super::error::Fault;
use super::{MAX_DEPTH, MAX_NODES};

/// The next thing in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'t> {
    /// A name or keyword: letters, digits, `_` and, behind the first, `-`.
    Word(&'t str),
    Integer(i64),
    Number(f64),
    Text(String),
    Sign(&'static str),
    End,
}

/// Longer signs stand before those that they begin with.
const SIGNS: [&str; 23] = [
    "<=", ">=", "!=", "(", ")", "[", "]", "{", "}", ",", ":", ";", "|", "<", ">", "=", "!", "*",
    "@", ".", "-", "+", "/",
];

/// A place in a text that is being read, with the token that is next.
#[derive(Debug)]
pub(super) struct Lexer<'t> {
    pub(super) text: &'t str,
    /// The byte behind the token.
    pub(super) behind: usize,
    /// The byte where the token begins.
    pub(super) at: usize,
    pub(super) token: Token<'t>,
    depth: usize,
    nodes: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Result<Lexer<'t>, Fault> {
        let mut lexer = Lexer { text, behind: 0, at: 0, token: Token::End, depth: 0, nodes: 0 };
        lexer.advance()?;
        Ok(lexer)
    }

    /// Goes one level deeper, if there is one.
    pub(super) fn enter(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        match self.depth > MAX_DEPTH {
            true => Err(self.fault(format!("more than {MAX_DEPTH} levels of nesting"))),
            false => Ok(()),
        }
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Counts a node of the tree.
    pub(super) fn count(&mut self) -> Result<(), Fault> {
        self.nodes += 1;
        match self.nodes > MAX_NODES {
            true => Err(self.fault(format!("more than {MAX_NODES} values and operators"))),
            false => Ok(()),
        }
    }

    pub(super) fn fault(&self, text: impl Into<String>) -> Fault {
        Fault { at: self.at, text: text.into() }
    }

    pub(super) fn unexpected(&self, expected: &str) -> Fault {
        let found = match &self.token {
            Token::End => "the end".to_owned(),
            _ => self.text.get(self.at..self.behind).unwrap_or_default().chars().take(40).collect(),
        };
        self.fault(format!("expected {expected}, found {found}"))
    }

    /// Takes what is next and goes to what follows.
    pub(super) fn take(&mut self) -> Result<Token<'t>, Fault> {
        let token = std::mem::replace(&mut self.token, Token::End);
        self.advance()?;
        Ok(token)
    }

    /// Takes a sign if it is next.
    pub(super) fn take_sign(&mut self, sign: &str) -> Result<bool, Fault> {
        let is_next = self.is_sign(sign);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    /// Takes a keyword if it is next; capitals make no difference.
    pub(super) fn take_word(&mut self, word: &str) -> Result<bool, Fault> {
        let is_next = self.is_word(word);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(&self.token, Token::Sign(found) if *found == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Word(found) if found.eq_ignore_ascii_case(word))
    }

    pub(super) fn expect_sign(&mut self, sign: &str) -> Result<(), Fault> {
        match self.take_sign(sign)? {
            true => Ok(()),
            false => Err(self.unexpected(sign)),
        }
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Result<(), Fault> {
        match self.take_word(word)? {
            true => Ok(()),
            false => Err(self.unexpected(word)),
        }
    }

    /// A name.
    pub(super) fn name(&mut self, what: &str) -> Result<&'t str, Fault> {
        let Token::Word(word) = self.token else { return Err(self.unexpected(what)) };
        self.advance()?;
        Ok(word)
    }

    /// What stands behind the next token, without going there.
    pub(super) fn following(&self) -> Result<Token<'t>, Fault> {
        let mut ahead = Lexer { token: Token::End, ..*self };
        ahead.advance()?;
        Ok(ahead.token)
    }

    /// Goes on reading at a byte.
    pub(super) fn jump(&mut self, at: usize) -> Result<(), Fault> {
        self.behind = at;
        self.advance()
    }

    fn advance(&mut self) -> Result<(), Fault> {
        self.skip()?;
        self.at = self.behind;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(first) = rest.chars().next() else {
            self.token = Token::End;
            return Ok(());
        };
        let second = rest.as_bytes().get(1).copied().unwrap_or(0);
        let begins_number = match first {
            '0'..='9' => true,
            '.' => second.is_ascii_digit(),
            '-' => second.is_ascii_digit() || second == b'.',
            _ => false,
        };
        self.token = if first.is_ascii_alphabetic() || first == '_' {
            let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
            let end = rest.bytes().position(|b| !is_part(b)).unwrap_or(rest.len());
            self.behind += end;
            Token::Word(&rest[..end])
        } else if begins_number {
            self.number(rest)?
        } else if first == '"' || first == '\'' {
            let (text, taken) = quoted(rest, self.at)?;
            self.behind += taken;
            Token::Text(text)
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            self.behind += sign.len();
            Token::Sign(sign)
        } else {
            return Err(self.fault(format!("unknown character {first}")));
        };
        Ok(())
    }

    /// Spaces and comments: `//` and `#` to the end of the line, `/*` to `*/`.
    fn skip(&mut self) -> Result<(), Fault> {
        self.behind = behind_blank(self.text, self.behind)?;
        Ok(())
    }

    /// `7`, `-7L`, `.5`, `1e-3`
    fn number(&mut self, rest: &str) -> Result<Token<'t>, Fault> {
        let bytes = rest.as_bytes();
        let (end, is_whole) = number_end(bytes, usize::from(bytes[0] == b'-'));
        let number = &rest[..end];
        self.behind += end;
        if !is_whole {
            let parsed = number.parse().ok().filter(|n: &f64| n.is_finite());
            let expected = || self.fault(format!("expected a number, found {number:.40}"));
            return parsed.map(Token::Number).ok_or_else(expected);
        }
        if let Some(b'l' | b'L') = bytes.get(end) {
            self.behind += 1;
        }
        let parsed = number.parse().map(Token::Integer);
        parsed.map_err(|_| {
            self.fault(format!("expected a whole number of at most 64 bits, found {number:.40}"))
        })
    }
}

/// The byte behind the spaces and comments from one on: `//` and `#` go to the end of the line, `/*` to `*/`.
pub(crate) fn behind_blank(text: &str, from: usize) -> Result<usize, Fault> {
    let mut behind = from;
    loop {
        let rest = text.get(behind..).unwrap_or_default();
        let trimmed = rest.trim_ascii_start();
        behind += rest.len() - trimmed.len();
        if trimmed.starts_with("//") || trimmed.starts_with('#') {
            behind += trimmed.find(['\n', '\r']).unwrap_or(trimmed.len());
        } else if let Some(comment) = trimmed.strip_prefix("/*") {
            let Some(end) = comment.find("*/") else {
                let text = "expected */ behind this, found the end".to_owned();
                return Err(Fault { at: behind, text });
            };
            behind += end + 4;
        } else {
            return Ok(behind);
        }
    }
}

/// Where a number ends whose digits begin at a byte, and whether it is whole: a fraction and an exponent are part of it.
pub(crate) fn number_end(bytes: &[u8], begin: usize) -> (usize, bool) {
    let digits =
        |from: usize| from + bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let (mut end, mut is_whole) = (digits(begin), true);
    if bytes.get(end) == Some(&b'.') {
        (end, is_whole) = (digits(end + 1), false);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            (end, is_whole) = (digits(end + 1 + sign), false);
        }
    }
    (end, is_whole)
}

/// The text between the quote that `rest` begins with and the next one, and the bytes that this takes; `begin` is where it stands.
pub(crate) fn quoted(rest: &str, begin: usize) -> Result<(String, usize), Fault> {
    let fail = |at: usize, text: &str| Fault { at: begin + at, text: text.to_owned() };
    let mut text = String::new();
    let mut characters = rest.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    while let Some((at, character)) = characters.next() {
        if Some(character) == quote {
            return Ok((text, at + 1));
        }
        if character != '\\' {
            text.push(character);
            continue;
        }
        let Some((_, escaped)) = characters.next() else { break };
        text.push(match escaped {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '"' | '\'' | '\\' | '/' => escaped,
            'u' => {
                let (unit, taken) = unicode(&rest[at..])
                    .ok_or_else(|| fail(at, "expected \\u with four digits of hex"))?;
                // One character of the iterator is `u`, the others of the escape are taken here.
                for _ in 0..taken - 2 {
                    characters.next();
                }
                unit
            }
            other => {
                let text =
                    format!("expected one of b t n f r u \" ' \\ / behind \\, found {other}");
                return Err(Fault { at: begin + at, text });
            }
        });
    }
    Err(fail(0, "expected a quote that ends this text, found the end"))
}

/// The character of `\uXXXX`, or of two of them that are one character together, and how many bytes that takes.
fn unicode(escape: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = escape.get(at..at + 6)?.strip_prefix("\\u")?;
        let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
    };
    let first = unit(0)?;
    if let Some(character) = char::from_u32(u32::from(first)) {
        return Some((character, 6));
    }
    let both = char::decode_utf16([first, unit(6)?]).next()?.ok()?;
    Some((both, 12))
}
