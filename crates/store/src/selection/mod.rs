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
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use crate::kind::DocumentType;
use crate::value::FieldValue;

pub use parser::SelectionError;

/// The longest selection in bytes.
const MAX_TEXT: usize = 64 << 10;

/// The deepest that selections nest.
const MAX_DEPTH: usize = 100;

/// A selection of documents.
#[derive(Debug, Clone)]
pub struct Selection {
    root: Node,
    text: String,
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
        Ok(Selection { root: parser::parse(text)?, text: text.to_owned() })
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a document is selected.
    #[must_use]
    pub fn selects(&self, document: &Selected<'_>) -> bool {
        evaluate::truth(&self.root, document) == Some(true)
    }
}
