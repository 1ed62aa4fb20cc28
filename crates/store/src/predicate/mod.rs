//! Predicates: conditions that documents set for queries
//! (Vespa, documentation, `schemas/predicate-fields.html`; the grammar
//! `predicate-search-core/src/main/antlr3/com/yahoo/document/predicate/parser/Predicate.g`).
//!
//! A predicate is kept as its text, and evaluated while it is read: for 64 queries at once, each a bit, without a tree and without
//! allocations but for escaped texts. An index of predicates finds by their features those that may be true for a query,
//! and has [programs](Evaluator), which are evaluated faster.
//!
//! ```
//! use stead_store::predicate::{Known, check, evaluate};
//!
//! /// A woman of 25 years.
//! struct Person;
//!
//! impl Known for Person {
//!     fn has(&self, name: &str, value: &str) -> u64 {
//!         u64::from((name, value) == ("gender", "Female"))
//!     }
//!
//!     fn within(&self, name: &str, from: i64, to: i64) -> u64 {
//!         u64::from(name == "age" && (from..=to).contains(&25))
//!     }
//! }
//!
//! assert_eq!(evaluate("gender in [Male, Female] and age in [20..30]", &Person).unwrap() & 1, 1);
//! assert_eq!(evaluate("gender in [Female] and not (age in [..40] or hobby in [Music])", &Person).unwrap() & 1, 0);
//!
//! let error = check("gender in [Female").unwrap_err();
//! assert_eq!(error.to_string(), "17: expected , or ], found the end");
//! ```

pub(crate) mod features;
mod hashed;
mod lexer;
mod parser;
mod program;

use std::fmt;

pub use hashed::Hashed;
use parser::{Meaning, Parser};
pub use program::Evaluator;

/// The deepest that parentheses nest. Vespa has no limit but its stack.
pub const MAX_DEPTH: usize = 64;

/// What is known of the attributes that predicates speak of, of 64 queries at once.
pub trait Known {
    /// The queries in which an attribute has a value.
    fn has(&self, name: &str, value: &str) -> u64;

    /// The queries in which a number of an attribute is from the first to the second, both among them.
    fn within(&self, name: &str, from: i64, to: i64) -> u64;
}

/// A text that is no predicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PredicateError {
    /// The byte of the text where that shows.
    pub at: usize,
    /// What was expected and what was found.
    pub text: String,
}

impl fmt::Display for PredicateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.text)
    }
}

impl std::error::Error for PredicateError {}

/// Whether a text is a predicate.
///
/// # Errors
/// When it is none.
pub fn check(text: &str) -> Result<(), PredicateError> {
    /// Nothing.
    struct Nobody;

    impl Known for Nobody {
        fn has(&self, _: &str, _: &str) -> u64 {
            0
        }

        fn within(&self, _: &str, _: i64, _: i64) -> u64 {
            0
        }
    }

    evaluate(text, &Nobody).map(|_| ())
}

/// The queries for which a predicate is true, each a bit. An attribute that a query knows nothing of has no value and is in no range, so
/// that what is negated is true of it.
///
/// # Errors
/// When the text is no predicate.
pub fn evaluate(text: &str, known: &impl Known) -> Result<u64, PredicateError> {
    Parser::read(text, &mut Evaluation { known })
}

/// A predicate means the queries for which it is true.
struct Evaluation<'k, K> {
    known: &'k K,
}

impl<K: Known> Meaning for Evaluation<'_, K> {
    type Part = u64;

    fn constant(&mut self, is: bool) -> u64 {
        if is { u64::MAX } else { 0 }
    }

    fn has(&mut self, name: &str, value: &str) -> u64 {
        self.known.has(name, value)
    }

    fn within(&mut self, name: &str, from: i64, to: i64) -> u64 {
        self.known.within(name, from, to)
    }

    fn and(&mut self, first: u64, second: u64) -> u64 {
        first & second
    }

    fn or(&mut self, first: u64, second: u64) -> u64 {
        first | second
    }

    fn not(&mut self, part: u64) -> u64 {
        !part
    }
}

#[cfg(test)]
mod tests;
