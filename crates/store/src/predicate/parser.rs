//! Predicates are read and evaluated in one go.

use std::borrow::Cow;

use super::lexer::{Lexer, Token};
use super::{Known, MAX_DEPTH, PredicateError};

/// A predicate that is being read.
pub(super) struct Parser<'t, 'k, K> {
    lexer: Lexer<'t>,
    known: &'k K,
    depth: usize,
}

impl<'t, K: Known> Parser<'t, '_, K> {
    pub(super) fn evaluate(text: &'t str, known: &K) -> Result<u64, PredicateError> {
        let mut parser = Parser { lexer: Lexer::new(text)?, known, depth: 0 };
        let found = parser.or()?;
        match parser.lexer.token {
            Token::End => Ok(found),
            _ => Err(parser.lexer.unexpected("and, or or the end")),
        }
    }

    fn or(&mut self) -> Result<u64, PredicateError> {
        let mut found = self.and()?;
        while self.lexer.take_word("or")? {
            found |= self.and()?;
        }
        Ok(found)
    }

    fn and(&mut self) -> Result<u64, PredicateError> {
        let mut found = self.one()?;
        while self.lexer.take_word("and")? {
            found &= self.one()?;
        }
        Ok(found)
    }

    /// A condition or parentheses, with `not` before it or without.
    fn one(&mut self) -> Result<u64, PredicateError> {
        let is_word = self.lexer.is_word("not");
        if !is_word {
            return match self.lexer.take_sign("(")? {
                true => self.parenthesis(),
                false => self.named(),
            };
        }
        let word = self.name()?;
        // An attribute may have the name of a keyword.
        if self.lexer.is_word("in") || self.lexer.is_word("not") {
            return self.condition(&word);
        }
        Ok(!match self.lexer.take_sign("(")? {
            true => self.parenthesis()?,
            false => self.named()?,
        })
    }

    fn parenthesis(&mut self) -> Result<u64, PredicateError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.lexer.fault(format!("more than {MAX_DEPTH} levels of nesting")));
        }
        let found = self.or()?;
        if !self.lexer.take_sign(")")? {
            return Err(self.lexer.unexpected("and, or or )"));
        }
        self.depth -= 1;
        Ok(found)
    }

    /// A truth value, or a condition that begins with the name of an attribute.
    fn named(&mut self) -> Result<u64, PredicateError> {
        let (is_true, is_false) = (self.lexer.is_word("true"), self.lexer.is_word("false"));
        let name = self.name()?;
        match self.lexer.is_word("in") || self.lexer.is_word("not") {
            false if is_true => Ok(u64::MAX),
            false if is_false => Ok(0),
            _ => self.condition(&name),
        }
    }

    fn name(&mut self) -> Result<Cow<'t, str>, PredicateError> {
        match &self.lexer.token {
            Token::Word(_) | Token::Text(_) => match self.lexer.take()? {
                Token::Text(text) => Ok(text),
                Token::Word(word) => Ok(Cow::Borrowed(word)),
                Token::Sign(_) | Token::End => Ok(Cow::Borrowed("")),
            },
            _ => Err(self.lexer.unexpected("the name of an attribute, true, false, not or (")),
        }
    }

    /// What is behind the name of an attribute.
    fn condition(&mut self, name: &str) -> Result<u64, PredicateError> {
        let is_not = self.lexer.take_word("not")?;
        if !self.lexer.take_word("in")? {
            return Err(self.lexer.unexpected(if is_not { "in" } else { "in or not in" }));
        }
        let found = match self.lexer.take_sign("[")? {
            true => self.list(name)?,
            false => {
                let value = self.value()?;
                self.known.has(name, &value)
            }
        };
        Ok(if is_not { !found } else { found })
    }

    /// `value, ...]` or `from..to]`
    fn list(&mut self, name: &str) -> Result<u64, PredicateError> {
        if self.lexer.take_sign("..")? {
            return self.range(name, i64::MIN);
        }
        let at = self.lexer.at;
        let is_number = matches!(self.lexer.token, Token::Word(_));
        let first = self.value()?;
        if self.lexer.take_sign("..")? {
            let from = first.parse().ok().filter(|_| is_number);
            let from = from.ok_or_else(|| PredicateError {
                at,
                text: "expected a whole number before ..".to_owned(),
            })?;
            return self.range(name, from);
        }
        let mut found = self.known.has(name, &first);
        loop {
            if self.lexer.take_sign("]")? {
                return Ok(found);
            }
            if !self.lexer.take_sign(",")? {
                return Err(self.lexer.unexpected(", or ]"));
            }
            let value = self.value()?;
            found |= self.known.has(name, &value);
        }
    }

    /// What is behind `..`
    fn range(&mut self, name: &str, from: i64) -> Result<u64, PredicateError> {
        let to = match self.lexer.token {
            Token::Word(word) => match word.parse() {
                Ok(to) => {
                    self.lexer.take()?;
                    to
                }
                Err(_) => return Err(self.lexer.unexpected("a whole number behind ..")),
            },
            _ => i64::MAX,
        };
        if from > to {
            return Err(self.lexer.fault(format!("the range from {from} to {to} is empty")));
        }
        match self.lexer.take_sign("]")? {
            true => Ok(self.known.within(name, from, to)),
            false => Err(self.lexer.unexpected("]")),
        }
    }

    fn value(&mut self) -> Result<Cow<'t, str>, PredicateError> {
        match self.lexer.token {
            Token::Word(_) | Token::Text(_) => self.name(),
            _ => Err(self.lexer.unexpected("a value")),
        }
    }
}
