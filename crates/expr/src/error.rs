//! What is wrong with an expression, and where.

use std::fmt;

use crate::types::TypeError;
use crate::value::Inexact;

/// An expression that cannot be read or cannot work.
#[derive(Debug, Clone, PartialEq)]
pub struct ExprError {
    /// Where in the text, from 1.
    pub line: usize,
    /// Characters from the beginning of the line, from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: Reason,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Reason {
    /// Something else should stand here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
    /// Longer than can be read.
    #[error("an expression of {0} bytes; {max} is the most", max = crate::syntax::MAX_TEXT)]
    TooLong(usize),
    /// Nested deeper than can be read.
    #[error("more than {} levels of nesting", crate::syntax::MAX_DEPTH)]
    TooDeep,
    /// More lambdas within lambdas than can run.
    #[error("more than {} lambdas within each other", crate::syntax::MAX_LAMBDAS)]
    TooManyLambdas,
    /// A function that calls itself, by way of others or at once.
    #[error("function {0} calls itself")]
    Cycle(String),
    /// Functions that call functions deeper than can be read.
    #[error("more than {} functions within each other", crate::ir::MAX_CALLS)]
    TooManyCalls,
    /// Something wrong in a function that is called here.
    #[error("in function {name} at {error}")]
    Function {
        /// The function.
        name: String,
        /// What is wrong, with line and column in its body.
        error: Box<ExprError>,
    },
    /// A name without a meaning.
    #[error("unknown {0}")]
    Unknown(String),
    /// The wrong number of arguments, or a wrong one.
    #[error("{function} takes {expected}, got {found}")]
    Arguments {
        /// The function.
        function: String,
        /// What it takes.
        expected: &'static str,
        /// What it was given.
        found: String,
    },
    /// Types that do not fit.
    #[error("{function}: {error}")]
    Type {
        /// The function.
        function: String,
        /// Why not.
        error: TypeError,
    },
    /// A constant that the type of its cells does not have.
    #[error(transparent)]
    Inexact(Inexact),
    /// Too much work or memory in one instruction.
    #[error("{0}")]
    Limit(String),
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.reason)
    }
}

impl std::error::Error for ExprError {}

/// An error with the byte where it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) at: u32,
    pub(crate) reason: Reason,
}

impl Fault {
    /// With line and column in the text.
    pub(crate) fn within(self, text: &str) -> ExprError {
        let at = (self.at as usize).min(text.len());
        let before = String::from_utf8_lossy(text.as_bytes().get(..at).unwrap_or_default());
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        ExprError { line, column, reason: self.reason }
    }
}
