//! Values that are written in a query: numbers, texts, lists, maps, parameters.

use super::error::Fault;
use super::expression::Parser;
use super::lexer::Token;
use super::tree::{Expr, Node};

/// Pairs of keys and values.
pub(super) type Pairs = Vec<(String, Node)>;

impl Parser<'_> {
    /// Annotations if they are next: `{key: value}`, or as in old queries `[{key: value}]`.
    pub(super) fn annotations(&mut self) -> Result<Pairs, Fault> {
        let is_old = self.lexer.is_sign("[") && self.lexer.following()? == Token::Sign("{");
        if is_old {
            self.lexer.take()?;
        }
        if !self.lexer.is_sign("{") {
            return Ok(Vec::new());
        }
        let pairs = self.map()?;
        if is_old {
            self.lexer.expect_sign("]")?;
        }
        Ok(pairs)
    }

    /// `{key: value, ...}`
    pub(super) fn map(&mut self) -> Result<Pairs, Fault> {
        self.lexer.enter()?;
        self.lexer.expect_sign("{")?;
        let mut pairs = Vec::new();
        while !self.lexer.take_sign("}")? {
            if !pairs.is_empty() {
                self.comma("}")?;
            }
            let key = match &self.lexer.token {
                Token::Text(_) => match self.lexer.take()? {
                    Token::Text(text) => text,
                    _ => String::new(),
                },
                _ => self.dotted("a key")?,
            };
            self.lexer.expect_sign(":")?;
            pairs.push((key, self.constant()?));
        }
        self.lexer.leave();
        Ok(pairs)
    }

    /// `[value, ...]`
    pub(super) fn array(&mut self) -> Result<Vec<Node>, Fault> {
        self.lexer.enter()?;
        self.lexer.expect_sign("[")?;
        let mut list = Vec::new();
        while !self.lexer.take_sign("]")? {
            if !list.is_empty() {
                self.comma("]")?;
            }
            list.push(self.constant()?);
        }
        self.lexer.leave();
        Ok(list)
    }

    /// A value without operators.
    pub(super) fn constant(&mut self) -> Result<Node, Fault> {
        let at = self.lexer.at;
        let expr = if self.lexer.is_sign("{") {
            Expr::Map(self.map()?)
        } else if self.lexer.is_sign("[") {
            Expr::Array(self.array()?)
        } else {
            match self.scalar()? {
                Some(expr) => expr,
                None => return Err(self.lexer.unexpected("a value")),
            }
        };
        self.node(at, expr)
    }

    /// A number, text, truth value or parameter, if one is next.
    pub(super) fn scalar(&mut self) -> Result<Option<Expr>, Fault> {
        let is_bool = self.lexer.is_word("true") || self.lexer.is_word("false");
        Ok(Some(match self.lexer.token {
            Token::Integer(_) | Token::Number(_) | Token::Text(_) => match self.lexer.take()? {
                Token::Integer(number) => Expr::Integer(number),
                Token::Number(number) => Expr::Number(number),
                Token::Text(text) => Expr::Text(text),
                _ => return Ok(None),
            },
            Token::Word(word) if is_bool => {
                self.lexer.take()?;
                Expr::Bool(word.eq_ignore_ascii_case("true"))
            }
            Token::Sign("@") => {
                self.lexer.take()?;
                Expr::Parameter(self.dotted("the name of a parameter")?)
            }
            _ => return Ok(None),
        }))
    }

    /// A comma between the parts of a list.
    pub(super) fn comma(&mut self, end: &str) -> Result<(), Fault> {
        match self.lexer.take_sign(",")? {
            true => Ok(()),
            false => Err(self.lexer.unexpected(&format!(", or {end}"))),
        }
    }

    /// `name.name`
    pub(super) fn dotted(&mut self, what: &str) -> Result<String, Fault> {
        let mut name = self.lexer.name(what)?.to_owned();
        while self.lexer.is_sign(".") && matches!(self.lexer.following()?, Token::Word(_)) {
            self.lexer.take()?;
            name.push('.');
            name.push_str(self.lexer.name(what)?);
        }
        Ok(name)
    }
}
