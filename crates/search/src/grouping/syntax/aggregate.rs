//! Values of groups.

use super::lexer::Token;
use super::operation::Parser;
use super::tree::{Aggregate, Expr};
use crate::yql::Fault;

/// The most quantiles of one value.
const MAX_QUANTILES: usize = 100;

/// The value of groups of a name with so many arguments.
pub(super) fn of(name: &str, arguments: usize) -> Option<Aggregate> {
    match (name, arguments) {
        ("count", 0) => Some(Aggregate::Count),
        ("sum", 1) => Some(Aggregate::Sum),
        ("avg", 1) => Some(Aggregate::Avg),
        ("min", 1) => Some(Aggregate::Min),
        ("max", 1) => Some(Aggregate::Max),
        ("xor", 1) => Some(Aggregate::Xor),
        ("stddev", 1) => Some(Aggregate::Stddev),
        _ => None,
    }
}

/// Its name.
pub(super) fn name(aggregate: &Aggregate) -> &'static str {
    match aggregate {
        Aggregate::Count => "count",
        Aggregate::Sum => "sum",
        Aggregate::Avg => "avg",
        Aggregate::Min => "min",
        Aggregate::Max => "max",
        Aggregate::Xor => "xor",
        Aggregate::Stddev => "stddev",
        Aggregate::Quantiles(_) => "quantiles",
        Aggregate::Summary(_) => "summary",
    }
}

impl Parser<'_> {
    /// The arguments of `summary` and `quantiles`.
    pub(super) fn aggregate(&mut self, name: &str) -> Result<Expr, Fault> {
        self.lexer.expect('(')?;
        let found = match name {
            "summary" => {
                let has_none = self.lexer.token == Token::Sign(')');
                let summary =
                    if has_none { None } else { Some(self.lexer.text("a document-summary")?) };
                Expr::Aggregate(Aggregate::Summary(summary), Vec::new())
            }
            _ => {
                self.lexer.expect('[')?;
                let at = self.lexer.at;
                let mut quantiles = self.list(|parser| Ok(parser.number()?.double()))?;
                let text = if quantiles.iter().any(|q| !(0.0..=1.0).contains(q)) {
                    Some("a quantile is a number from 0 to 1".to_owned())
                } else if quantiles.len() > MAX_QUANTILES {
                    Some(format!("more than {MAX_QUANTILES} quantiles"))
                } else {
                    None
                };
                if let Some(text) = text {
                    return Err(Fault { at, text });
                }
                quantiles.sort_by(f64::total_cmp);
                quantiles.dedup();
                self.lexer.expect(']')?;
                self.lexer.expect(',')?;
                let value = self.expression()?;
                Expr::Aggregate(Aggregate::Quantiles(quantiles), vec![value])
            }
        };
        self.lexer.expect(')')?;
        Ok(found)
    }
}
