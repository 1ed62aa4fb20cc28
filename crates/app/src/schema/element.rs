//! The syntax tree of a schema: elements with names, values and elements within them.

use super::grammar::Spec;
use super::indexing::Script;
use super::types::FieldType;
use crate::package::{Located, Place};

/// A name or another text with its place.
pub type Name = Located<String>;

/// A ranking expression or a part of one as it is written. Comments are spaces, so that line and column in it lead to
/// line and column in the file.
pub type Expression = Located<String>;

/// An element of a schema.
#[derive(Debug, Clone)]
pub struct Element {
    /// What kind of element it is.
    pub spec: &'static Spec,
    /// Where its keyword is.
    pub place: Place,
    /// The name behind the keyword.
    pub name: Option<Name>,
    /// The names behind `inherits`.
    pub inherits: Vec<Name>,
    /// The parameters of a function.
    pub parameters: Vec<Name>,
    /// Whether a function is `inline`.
    pub is_inline: bool,
    /// The type behind `type`, or of an input or constant.
    pub kind: Option<Located<FieldType>>,
    /// Whether that is written `tag`: a weighted set of texts whose elements come and go with their weights.
    pub is_tag: bool,
    /// What stands behind the colon or raw between braces.
    pub value: Option<Value>,
    /// The elements between its braces.
    pub body: Vec<Element>,
}

/// The value of an element.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// `true`, `on`, `false` or `off`.
    Bool(bool),
    /// A word, a path or a text without its quotes.
    Text(Name),
    /// Names with commas between them.
    Names(Vec<Name>),
    /// A type.
    Type(Located<FieldType>),
    /// An expression, a tensor or a list of features.
    Raw(Expression),
    /// What happens to a document when it is written.
    Script(Script),
}

impl Element {
    /// An element without a name or value.
    pub(crate) fn new(spec: &'static Spec, place: Place) -> Element {
        let (inherits, parameters, body) = (Vec::new(), Vec::new(), Vec::new());
        let (name, kind, value) = (None, None, None);
        Element {
            spec,
            place,
            name,
            inherits,
            parameters,
            is_inline: false,
            kind,
            is_tag: false,
            value,
            body,
        }
    }

    /// Its keyword.
    #[must_use]
    pub fn keyword(&self) -> &'static str {
        self.spec.keyword
    }

    /// Its name; empty without one.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_ref().map_or("", |n| n.value.as_str())
    }

    /// Its value as a whole number.
    #[must_use]
    pub fn integer(&self) -> Option<i64> {
        match self.value {
            Some(Value::Integer(value)) => Some(value),
            _ => None,
        }
    }

    /// Its value as a number.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self.value {
            Some(Value::Number(value)) => Some(value),
            Some(Value::Integer(value)) => Some(value as f64),
            _ => None,
        }
    }

    /// Its value as a choice. An element without a value that can have one is chosen.
    #[must_use]
    pub fn bool(&self) -> bool {
        !matches!(self.value, Some(Value::Bool(false)))
    }

    /// Its value as a text; empty without one.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.value {
            Some(Value::Text(text) | Value::Raw(text)) => &text.value,
            _ => "",
        }
    }

    /// The names that are its value.
    #[must_use]
    pub fn names(&self) -> &[Name] {
        match &self.value {
            Some(Value::Names(names)) => names,
            _ => &[],
        }
    }

    /// Its value as an expression.
    #[must_use]
    pub fn raw(&self) -> Option<&Expression> {
        match &self.value {
            Some(Value::Raw(raw)) => Some(raw),
            _ => None,
        }
    }
}
