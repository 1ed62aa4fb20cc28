//! Predicates are read without a tree: what they mean is put together in one go.

use std::borrow::Cow;

use super::lexer::{Lexer, Token};
use super::{MAX_DEPTH, PredicateError};

/// What the parts of a predicate mean. Of two parts the first was read first.
pub(super) trait Meaning {
    /// What a part is.
    type Part;

    fn constant(&mut self, is: bool) -> Self::Part;
    fn has(&mut self, name: &str, value: &str) -> Self::Part;
    fn within(&mut self, name: &str, from: i64, to: i64) -> Self::Part;
    fn and(&mut self, first: Self::Part, second: Self::Part) -> Self::Part;
    fn or(&mut self, first: Self::Part, second: Self::Part) -> Self::Part;
    fn not(&mut self, part: Self::Part) -> Self::Part;
}

/// Two meanings of the same predicate.
impl<A: Meaning, B: Meaning> Meaning for (A, B) {
    type Part = (A::Part, B::Part);

    fn constant(&mut self, is: bool) -> Self::Part {
        (self.0.constant(is), self.1.constant(is))
    }

    fn has(&mut self, name: &str, value: &str) -> Self::Part {
        (self.0.has(name, value), self.1.has(name, value))
    }

    fn within(&mut self, name: &str, from: i64, to: i64) -> Self::Part {
        (self.0.within(name, from, to), self.1.within(name, from, to))
    }

    fn and(&mut self, first: Self::Part, second: Self::Part) -> Self::Part {
        (self.0.and(first.0, second.0), self.1.and(first.1, second.1))
    }

    fn or(&mut self, first: Self::Part, second: Self::Part) -> Self::Part {
        (self.0.or(first.0, second.0), self.1.or(first.1, second.1))
    }

    fn not(&mut self, part: Self::Part) -> Self::Part {
        (self.0.not(part.0), self.1.not(part.1))
    }
}

/// A predicate that is being read.
pub(super) struct Parser<'t, 'm, M> {
    lexer: Lexer<'t>,
    meaning: &'m mut M,
    depth: usize,
}

impl<'t, M: Meaning> Parser<'t, '_, M> {
    pub(super) fn read(text: &'t str, meaning: &mut M) -> Result<M::Part, PredicateError> {
        let mut parser = Parser { lexer: Lexer::new(text)?, meaning, depth: 0 };
        let found = parser.or()?;
        match parser.lexer.token {
            Token::End => Ok(found),
            _ => Err(parser.lexer.unexpected("and, or or the end")),
        }
    }

    fn or(&mut self) -> Result<M::Part, PredicateError> {
        let mut found = self.and()?;
        while self.lexer.take_word("or")? {
            let next = self.and()?;
            found = self.meaning.or(found, next);
        }
        Ok(found)
    }

    fn and(&mut self) -> Result<M::Part, PredicateError> {
        let mut found = self.one()?;
        while self.lexer.take_word("and")? {
            let next = self.one()?;
            found = self.meaning.and(found, next);
        }
        Ok(found)
    }

    /// A condition or parentheses, with `not` before it or without.
    fn one(&mut self) -> Result<M::Part, PredicateError> {
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
        let found = match self.lexer.take_sign("(")? {
            true => self.parenthesis()?,
            false => self.named()?,
        };
        Ok(self.meaning.not(found))
    }

    fn parenthesis(&mut self) -> Result<M::Part, PredicateError> {
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
    fn named(&mut self) -> Result<M::Part, PredicateError> {
        let (is_true, is_false) = (self.lexer.is_word("true"), self.lexer.is_word("false"));
        let name = self.name()?;
        match self.lexer.is_word("in") || self.lexer.is_word("not") {
            false if is_true => Ok(self.meaning.constant(true)),
            false if is_false => Ok(self.meaning.constant(false)),
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
    fn condition(&mut self, name: &str) -> Result<M::Part, PredicateError> {
        let is_not = self.lexer.take_word("not")?;
        if !self.lexer.take_word("in")? {
            return Err(self.lexer.unexpected(if is_not { "in" } else { "in or not in" }));
        }
        let found = match self.lexer.take_sign("[")? {
            true => self.list(name)?,
            false => {
                let value = self.value()?;
                self.meaning.has(name, &value)
            }
        };
        Ok(if is_not { self.meaning.not(found) } else { found })
    }

    /// `value, ...]` or `from..to]`
    fn list(&mut self, name: &str) -> Result<M::Part, PredicateError> {
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
        let mut found = self.meaning.has(name, &first);
        loop {
            if self.lexer.take_sign("]")? {
                return Ok(found);
            }
            if !self.lexer.take_sign(",")? {
                return Err(self.lexer.unexpected(", or ]"));
            }
            let value = self.value()?;
            let next = self.meaning.has(name, &value);
            found = self.meaning.or(found, next);
        }
    }

    /// What is behind `..`
    fn range(&mut self, name: &str, from: i64) -> Result<M::Part, PredicateError> {
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
            true => Ok(self.meaning.within(name, from, to)),
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
