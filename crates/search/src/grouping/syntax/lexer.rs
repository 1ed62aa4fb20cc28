//! The text of a grouping as words, numbers, texts and signs.

use super::MAX_TEXT;
use crate::yql::{Fault, behind_blank, number_end, quoted};

/// The next thing in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'t> {
    /// A letter with letters, digits, `_` and `@` behind it.
    Word(&'t str),
    /// Digits. There is one more than the greatest of 64 bits with a sign: its negation is the least.
    Integer(u64),
    Decimal(f64),
    Text(String),
    Sign(char),
    End,
}

const SIGNS: &str = ";,$.=+/%*-(){}<>[]";

/// A place in a text that is being read, with the token that is next.
#[derive(Debug, Clone)]
pub(super) struct Lexer<'t> {
    text: &'t str,
    /// The byte behind the token.
    behind: usize,
    /// The byte where the token begins.
    pub(super) at: usize,
    pub(super) token: Token<'t>,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Result<Lexer<'t>, Fault> {
        let mut lexer = Lexer { text, behind: 0, at: 0, token: Token::End };
        if text.len() > MAX_TEXT {
            return Err(lexer.fault(format!("a grouping of more than {MAX_TEXT} bytes")));
        }
        lexer.advance()?;
        Ok(lexer)
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

    /// What stands behind the token, with the token that is behind that.
    pub(super) fn following(&self) -> Result<(Token<'t>, Token<'t>), Fault> {
        let mut ahead = self.clone();
        ahead.advance()?;
        let first = ahead.take()?;
        Ok((first, ahead.token))
    }

    pub(super) fn is_sign(&self, sign: char) -> bool {
        self.token == Token::Sign(sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.token == Token::Word(word)
    }

    /// Takes a sign if it is next.
    pub(super) fn take_sign(&mut self, sign: char) -> Result<bool, Fault> {
        let is_next = self.is_sign(sign);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    /// Takes a word if it is next.
    pub(super) fn take_word(&mut self, word: &str) -> Result<bool, Fault> {
        let is_next = self.is_word(word);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    pub(super) fn expect(&mut self, sign: char) -> Result<(), Fault> {
        match self.take_sign(sign)? {
            true => Ok(()),
            false => Err(self.unexpected(&sign.to_string())),
        }
    }

    /// A name.
    pub(super) fn name(&mut self, what: &str) -> Result<&'t str, Fault> {
        let Token::Word(word) = self.token else { return Err(self.unexpected(what)) };
        self.advance()?;
        Ok(word)
    }

    /// A text, or a name as one.
    pub(super) fn text(&mut self, what: &str) -> Result<String, Fault> {
        match &self.token {
            Token::Word(_) | Token::Text(_) => {}
            _ => return Err(self.unexpected(what)),
        }
        Ok(match self.take()? {
            Token::Text(text) => text,
            Token::Word(word) => word.to_owned(),
            _ => String::new(),
        })
    }

    fn advance(&mut self) -> Result<(), Fault> {
        self.skip()?;
        self.at = self.behind;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let Some(first) = rest.chars().next() else {
            self.token = Token::End;
            return Ok(());
        };
        self.token = if first.is_ascii_alphabetic() {
            let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'@');
            let end = rest.bytes().position(|b| !is_part(b)).unwrap_or(rest.len());
            self.behind += end;
            Token::Word(&rest[..end])
        } else if first.is_ascii_digit() {
            self.number(rest)?
        } else if first == '"' || first == '\'' {
            let (text, taken) = quoted(rest, self.at)?;
            self.behind += taken;
            Token::Text(text)
        } else if SIGNS.contains(first) {
            self.behind += 1;
            Token::Sign(first)
        } else {
            return Err(self.fault(format!("unknown character {first}")));
        };
        Ok(())
    }

    /// Spaces and comments, as YQL has them.
    fn skip(&mut self) -> Result<(), Fault> {
        self.behind = behind_blank(self.text, self.behind)?;
        Ok(())
    }

    /// `7`, `7L`, `7.`, `.5` is none, `1.5e-3`
    fn number(&mut self, rest: &str) -> Result<Token<'t>, Fault> {
        let bytes = rest.as_bytes();
        let (end, is_whole) = number_end(bytes, 0);
        let number = &rest[..end];
        self.behind += end;
        let is_long = matches!(bytes.get(end), Some(b'l' | b'L'));
        let is_double = matches!(bytes.get(end), Some(b'f' | b'F' | b'd' | b'D'));
        self.behind += usize::from(is_long && is_whole || is_double);
        if is_whole && !is_double {
            let most = i64::MAX as u64 + 1;
            let parsed = number.parse().ok().filter(|n: &u64| *n <= most).map(Token::Integer);
            return parsed.ok_or_else(|| {
                let text = "expected a whole number of at most 64 bits, found ";
                self.fault(format!("{text}{number:.40}"))
            });
        }
        let parsed = number.parse().ok().filter(|n: &f64| n.is_finite()).map(Token::Decimal);
        parsed.ok_or_else(|| self.fault(format!("expected a number, found {number:.40}")))
    }
}
