//! What is wrong with a query in JSON, and where.

use std::fmt;

/// A query that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectError {
    /// The members on the way to it, the innermost first.
    path: Vec<String>,
    text: String,
}

impl SelectError {
    pub(super) fn new(text: impl Into<String>) -> SelectError {
        SelectError { path: Vec::new(), text: text.into() }
    }

    /// The same within a member.
    pub(super) fn within(mut self, member: impl fmt::Display) -> SelectError {
        self.path.push(format!("{member:.40}"));
        self
    }

    /// The same within an element of a list.
    pub(super) fn at(mut self, element: usize) -> SelectError {
        self.path.push(format!("[{element}]"));
        self
    }
}

/// `and[1].contains: expected ...`
impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, member) in self.path.iter().rev().enumerate() {
            if number > 0 && !member.starts_with('[') {
                f.write_str(".")?;
            }
            f.write_str(member)?;
        }
        if !self.path.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for SelectError {}
