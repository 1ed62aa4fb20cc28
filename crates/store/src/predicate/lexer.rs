//! A predicate as words, texts and signs.

use std::borrow::Cow;

use super::PredicateError;

/// The next thing in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'t> {
    /// Letters, digits and `_`, or a whole number with its sign.
    Word(&'t str),
    /// What stands in quotes.
    Text(Cow<'t, str>),
    /// `[`, `]`, `(`, `)`, `,` or `..`
    Sign(&'static str),
    End,
}

const SIGNS: [&str; 6] = ["[", "]", "(", ")", ",", ".."];

/// A place in a text that is being read, with the token that is next.
pub(super) struct Lexer<'t> {
    pub(super) text: &'t str,
    /// The byte where the token begins.
    pub(super) at: usize,
    /// The byte behind it.
    behind: usize,
    pub(super) token: Token<'t>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Result<Lexer<'t>, PredicateError> {
        let mut lexer = Lexer { text, at: 0, behind: 0, token: Token::End };
        lexer.advance()?;
        Ok(lexer)
    }

    /// Takes what is next and goes to what follows.
    pub(super) fn take(&mut self) -> Result<Token<'t>, PredicateError> {
        let token = std::mem::replace(&mut self.token, Token::End);
        self.advance()?;
        Ok(token)
    }

    /// Whether a keyword is next: in small letters or in capitals.
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.token, Token::Word(found)
            if found == word || (found.eq_ignore_ascii_case(word) && found.bytes().all(|b| b.is_ascii_uppercase())))
    }

    pub(super) fn take_word(&mut self, word: &str) -> Result<bool, PredicateError> {
        let is_next = self.is_word(word);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> Result<bool, PredicateError> {
        let is_next = matches!(self.token, Token::Sign(found) if found == sign);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    pub(super) fn fault(&self, text: impl Into<String>) -> PredicateError {
        PredicateError { at: self.at, text: text.into() }
    }

    pub(super) fn unexpected(&self, expected: &str) -> PredicateError {
        let found = match &self.token {
            Token::End => "the end".to_owned(),
            _ => self.text.get(self.at..self.behind).unwrap_or_default().chars().take(40).collect(),
        };
        self.fault(format!("expected {expected}, found {found}"))
    }

    fn advance(&mut self) -> Result<(), PredicateError> {
        let bytes = self.text.as_bytes();
        self.at = self.behind;
        while matches!(bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (token, length) = match rest.as_bytes().first() {
            None => (Token::End, 0),
            Some(b'\'' | b'"') => self.quoted(rest)?,
            Some(first) if is_letter(*first) || matches!(first, b'-' | b'+') => {
                let end = rest.bytes().skip(1).position(|byte| !is_letter(byte));
                let end = end.map_or(rest.len(), |end| end + 1);
                let digits = rest[..end].trim_start_matches(['-', '+']);
                let is_number = !digits.is_empty()
                    && digits.bytes().all(|byte| byte.is_ascii_digit())
                    && (digits == "0" || !digits.starts_with('0'));
                if !is_letter(*first) && !is_number {
                    return Err(self.fault("expected a whole number behind a sign"));
                }
                (Token::Word(&rest[..end]), end)
            }
            Some(_) => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => {
                    let found: String = rest.chars().take(1).collect();
                    return Err(self.fault(format!("{found:?} means nothing outside of quotes")));
                }
            },
        };
        (self.token, self.behind) = (token, self.at + length);
        Ok(())
    }

    /// What stands in the quotes that a text begins with, and the bytes that it takes.
    fn quoted(&self, rest: &'t str) -> Result<(Token<'t>, usize), PredicateError> {
        let bytes = rest.as_bytes();
        let (quote, mut end, mut is_escaped) = (bytes.first().copied(), 1, false);
        loop {
            match bytes.get(end) {
                None => {
                    return Err(self.fault("expected a quote that ends this text, found the end"));
                }
                Some(b'\\') => {
                    is_escaped = true;
                    end += 2;
                }
                found if found.copied() == quote => break,
                Some(_) => end += 1,
            }
        }
        // Quotes are one byte each, so these are borders of letters.
        let inner = rest.get(1..end).unwrap_or_default();
        let text =
            if is_escaped { Cow::Owned(self.unescaped(inner)?) } else { Cow::Borrowed(inner) };
        Ok((Token::Text(text), end + 1))
    }

    /// A text without its escapes: bytes of UTF-8 may be written as `\xHH`.
    fn unescaped(&self, text: &str) -> Result<String, PredicateError> {
        let mut found = Vec::with_capacity(text.len());
        let mut bytes = text.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'\\' {
                found.push(byte);
                continue;
            }
            found.push(match bytes.next() {
                Some(same @ (b'\\' | b'\'' | b'"')) => same,
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(b'f') => 0x0c,
                Some(b'r') => b'\r',
                Some(b'x') => {
                    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                    match (digit(bytes.next()), digit(bytes.next())) {
                        (Some(high), Some(low)) => (high * 16 + low) as u8,
                        _ => return Err(self.fault("expected two digits behind \\x")),
                    }
                }
                _ => return Err(self.fault("expected one of \\ ' \" t n f r x behind \\")),
            });
        }
        String::from_utf8(found).map_err(|_| self.fault("the bytes of this text are no UTF-8"))
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
