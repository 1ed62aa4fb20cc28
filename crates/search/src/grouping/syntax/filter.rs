//! Filters: `or` is weaker than `and`, and `and` than `not`.

use super::lexer::Token;
use super::operation::Parser;
use super::tree::Filter;
use crate::yql::Fault;

impl Parser<'_> {
    /// A test of documents.
    pub(super) fn filter(&mut self) -> Result<Filter, Fault> {
        self.enter()?;
        let mut list = vec![self.filter_and()?];
        while self.lexer.take_word("or")? {
            list.push(self.filter_and()?);
        }
        self.leave();
        Ok(joined(list, Filter::Or))
    }

    fn filter_and(&mut self) -> Result<Filter, Fault> {
        let mut list = vec![self.filter_not()?];
        while self.lexer.take_word("and")? {
            list.push(self.filter_not()?);
        }
        Ok(joined(list, Filter::And))
    }

    fn filter_not(&mut self) -> Result<Filter, Fault> {
        self.enter()?;
        self.count(1)?;
        let found = match self.lexer.take_word("not")? {
            true => Filter::Not(Box::new(self.filter_not()?)),
            false => self.filter_one()?,
        };
        self.leave();
        Ok(found)
    }

    fn filter_one(&mut self) -> Result<Filter, Fault> {
        if self.lexer.take_sign('(')? {
            let found = self.filter()?;
            self.lexer.expect(')')?;
            return Ok(found);
        }
        let Token::Word(word @ ("regex" | "range" | "istrue")) = self.lexer.token else {
            return Err(self.lexer.unexpected("regex, range, istrue, not or ("));
        };
        self.lexer.take()?;
        self.lexer.expect('(')?;
        let found = match word {
            "regex" => {
                let pattern = self.lexer.text("a regular expression")?;
                self.lexer.expect(',')?;
                Filter::Regex(pattern, self.expression()?)
            }
            "istrue" => Filter::IsTrue(self.expression()?),
            _ => {
                let low = self.signed()?;
                self.lexer.expect(',')?;
                let high = self.signed()?;
                self.lexer.expect(',')?;
                let value = self.expression()?;
                let mut within = (true, false);
                if self.lexer.take_sign(',')? {
                    within.0 = self.truth()?;
                    self.lexer.expect(',')?;
                    within.1 = self.truth()?;
                }
                Filter::Range { ends: (low, high), within, value }
            }
        };
        self.lexer.expect(')')?;
        Ok(found)
    }

    /// A number with a sign, which Vespa's grammar does not take here.
    pub(super) fn signed(&mut self) -> Result<f64, Fault> {
        let is_negative = self.lexer.take_sign('-')?;
        let number = self.number()?.double();
        Ok(if is_negative { -number } else { number })
    }

    fn truth(&mut self) -> Result<bool, Fault> {
        let is_true = self.lexer.take_word("true")?;
        match is_true || self.lexer.take_word("false")? {
            true => Ok(is_true),
            false => Err(self.lexer.unexpected("true or false")),
        }
    }
}

fn joined(mut list: Vec<Filter>, join: fn(Vec<Filter>) -> Filter) -> Filter {
    match (list.len(), list.pop()) {
        (1, Some(one)) => one,
        (_, last) => {
            list.extend(last);
            join(list)
        }
    }
}
