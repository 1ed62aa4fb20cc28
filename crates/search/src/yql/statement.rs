//! Statements: `select ... from ... where ... order by ... limit ... offset ... timeout ... | ...`.

use super::MAX_TEXT;
use super::error::{Fault, YqlError};
use super::expression::Parser;
use super::lexer::{Lexer, Token};
use super::tree::{Amount, Expr, Order, Statement};

/// Reads a statement.
///
/// # Errors
/// When the text is none; the place is told, and what was expected there.
pub fn parse(text: &str) -> Result<Statement, YqlError> {
    if text.len() > MAX_TEXT {
        let text = format!("a query of {} bytes; {MAX_TEXT} is the most", text.len());
        return Err(YqlError { line: 1, column: 1, text });
    }
    let parsed = Lexer::new(text).and_then(|lexer| Parser { lexer }.statement());
    parsed.map_err(|fault| fault.within(text))
}

impl Parser<'_> {
    fn statement(&mut self) -> Result<Statement, Fault> {
        self.lexer.expect_word("select")?;
        let fields = self.fields()?;
        let sources = match self.lexer.take_word("from")? {
            true => self.sources()?,
            false => Vec::new(),
        };
        self.lexer.expect_word("where")?;
        let filter = self.expression()?;
        let mut order = Vec::new();
        if self.lexer.is_word("order") {
            self.lexer.take()?;
            self.lexer.expect_word("by")?;
            order = self.order()?;
        }
        let limit = self.amount("limit")?;
        let offset = self.amount("offset")?;
        let timeout = self.amount("timeout")?;
        let mut groupings = Vec::new();
        while self.lexer.take_sign("|")? {
            groupings.push(self.grouping()?);
        }
        self.lexer.take_sign(";")?;
        if self.lexer.token != Token::End {
            return Err(self.lexer.unexpected(match groupings.len() {
                0 => "and, or, order by, limit, offset, timeout, | or the end",
                _ => "| or the end",
            }));
        }
        Ok(Statement { fields, sources, filter, order, limit, offset, timeout, groupings })
    }

    /// `*`, or names; a name behind another renames it, which changes nothing of a result.
    fn fields(&mut self) -> Result<Vec<String>, Fault> {
        if self.lexer.take_sign("*")? {
            return Ok(Vec::new());
        }
        let mut fields = Vec::new();
        loop {
            fields.push(self.dotted("* or the name of a field")?);
            if self.lexer.take_word("as")? {
                self.lexer.name("a name")?;
            }
            if !self.lexer.take_sign(",")? {
                return Ok(fields);
            }
        }
    }

    /// `sources *`, `sources a, b` or `a`. Parts of a source behind a dot mean all of it, as in Vespa.
    fn sources(&mut self) -> Result<Vec<String>, Fault> {
        let names_many = self.lexer.is_word("sources")
            && match self.lexer.following()? {
                Token::Word(word) => !word.eq_ignore_ascii_case("where"),
                Token::Sign(sign) => sign == "*",
                _ => false,
            };
        if names_many {
            self.lexer.take()?;
            if self.lexer.take_sign("*")? {
                return Ok(Vec::new());
            }
        }
        let mut sources = Vec::new();
        loop {
            let name = self.dotted("the name of a source")?;
            if self.lexer.take_sign(".")? {
                self.lexer.expect_sign("*")?;
            }
            sources.push(name.split('.').next().unwrap_or_default().to_owned());
            if !names_many || !self.lexer.take_sign(",")? {
                return Ok(sources);
            }
        }
    }

    fn order(&mut self) -> Result<Vec<Order>, Fault> {
        let mut order = Vec::new();
        loop {
            let at = self.lexer.at;
            let annotations = self.annotations()?;
            let expr = match self.lexer.token {
                Token::Text(_) => self.constant()?.expr,
                _ => Expr::Field(self.dotted("the name of an attribute")?),
            };
            let mut by = self.node(at, expr)?;
            by.annotations = annotations;
            let descending = self.lexer.take_word("desc")?;
            if !descending {
                self.lexer.take_word("asc")?;
            }
            order.push(Order { by, descending });
            if !self.lexer.take_sign(",")? {
                return Ok(order);
            }
        }
    }

    fn amount(&mut self, word: &str) -> Result<Option<Amount>, Fault> {
        if !self.lexer.take_word(word)? {
            return Ok(None);
        }
        let amount = match self.lexer.token {
            Token::Integer(number) if number >= 0 => Amount::Fixed(number),
            Token::Sign("@") => {
                self.lexer.take()?;
                return Ok(Some(Amount::Parameter(self.dotted("the name of a parameter")?)));
            }
            _ => return Err(self.lexer.unexpected("a whole number from 0, or a parameter")),
        };
        self.lexer.take()?;
        Ok(Some(amount))
    }
}

#[cfg(test)]
mod tests;
