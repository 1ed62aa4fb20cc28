//! Selections of documents: `music.year > 2000 and not (music.title = "a*" or id.user == 7)`
//! (the language: Vespa's documentation, `reference/writing/document-selector-language.html`).
//!
//! A comparison is true, false or neither: with a field of another type of documents, an order of what has none. Neither stays neither under
//! `not`; `and` is false where one side is, `or` true where one side is. Only what is true is selected.
//!
//! Not there are variables in places (`field[$x]`); they are refused by name.

mod bucket;
mod compare;
mod evaluate;
mod kept;
mod lexer;
mod locations;
mod parser;
mod references;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::kind::DocumentType;
use crate::value::FieldValue;

use evaluate::{Subject, truth};
pub use parser::SelectionError;

/// The longest selection in bytes.
const MAX_TEXT: usize = 64 << 10;

/// The deepest that selections nest.
const MAX_DEPTH: usize = 100;

/// A selection of documents. Clones share.
#[derive(Debug, Clone)]
pub struct Selection {
    root: Arc<Node>,
    text: Arc<str>,
}

/// Two selections are equal if their texts are.
impl PartialEq for Selection {
    fn eq(&self, other: &Selection) -> bool {
        self.text == other.text
    }
}

/// What a selection looks at.
#[derive(Debug, Clone, Copy)]
pub struct Selected<'d> {
    /// The type of the document.
    pub kind: &'d DocumentType,
    /// Its id.
    pub id: &'d str,
    /// Its fields by their numbers.
    pub fields: &'d [(usize, FieldValue)],
    /// Seconds since 1970: `now()`.
    pub now: i64,
}

/// A part of a selection.
#[derive(Debug, Clone)]
enum Node {
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    /// Text that fits a pattern.
    Matches(Box<Node>, Pattern),
    Calculate(char, Box<Node>, Box<Node>),
    Call(Function, Box<Node>),
    Now,
    Null,
    Integer(i64),
    Number(f64),
    Text(String),
    Bool(bool),
    /// The type of documents.
    Type(String),
    /// A part of the id.
    Id(IdPart),
    /// A field of a type of documents, and the way into it.
    Field(String, Vec<Way>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// What the right side of `=` and `=~` is, if it is a text that stands there.
#[derive(Debug, Clone)]
enum Pattern {
    Glob(String),
    Regex(Box<regex::Regex>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Abs,
    Hash,
    Lowercase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdPart {
    Whole,
    Namespace,
    Type,
    User,
    Group,
    Specific,
    Bucket,
}

/// A step from a field into its value.
#[derive(Debug, Clone, PartialEq)]
enum Way {
    Member(String),
    Key(String),
    Place(usize),
}

impl Selection {
    /// A selection from its text.
    ///
    /// # Errors
    /// When it is none, with the place in the text and what was expected there.
    pub fn parse(text: &str) -> Result<Selection, SelectionError> {
        Ok(Selection { root: Arc::new(parser::parse(text)?), text: text.into() })
    }

    /// What both select.
    #[must_use]
    pub fn and(&self, other: &Selection) -> Selection {
        let parts = [self, other].map(|of| Node::clone(&of.root)).to_vec();
        let text = format!("({}) and ({})", self.text, other.text).into();
        Selection { root: Arc::new(Node::And(parts)), text }
    }

    /// What this says no of. That of which it says neither yes nor no is selected by none of the two.
    #[must_use]
    pub fn negated(&self) -> Selection {
        let root = Arc::new(Node::Not(Box::new(Node::clone(&self.root))));
        Selection { root, text: format!("not ({})", self.text).into() }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a document is selected.
    #[must_use]
    pub fn selects(&self, document: &Selected<'_>) -> bool {
        let Selected { kind, id, fields, now } = *document;
        truth(&self.root, &Subject { kind, id, fields: Some(fields), now }) == Some(true)
    }

    /// Whether the id of a document alone, whatever its fields are, tells that it is not selected.
    pub(crate) fn rejects_id(&self, kind: &DocumentType, id: &str, now: i64) -> bool {
        truth(&self.root, &Subject { kind, id, fields: None, now }) == Some(false)
    }
}
