//! What is wrong with a text in YQL, and where.

use std::fmt;

/// A text that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YqlError {
    /// Where in the text, from 1.
    pub line: usize,
    /// Characters from the beginning of the line, from 1.
    pub column: usize,
    /// What was found and what was expected.
    pub text: String,
}

impl fmt::Display for YqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.text)
    }
}

impl std::error::Error for YqlError {}

/// An error with the byte where it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) text: String,
}

impl Fault {
    /// With line and column in the text.
    pub(crate) fn within(self, whole: &str) -> YqlError {
        let (line, column) = place(whole, self.at);
        YqlError { line, column, text: self.text }
    }
}

/// Line and column of a byte, both from 1.
pub(super) fn place(whole: &str, at: usize) -> (usize, usize) {
    let before = String::from_utf8_lossy(&whole.as_bytes()[..at.min(whole.len())]);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (line, column)
}
