//! The text of groupings to trees of operations
//! (the grammar: Vespa, `container-search/src/main/javacc/com/yahoo/search/grouping/request/parser/GroupingParser.jj`).
//!
//! ```
//! use stead_search::grouping::syntax::parse;
//!
//! let found = parse("all(group(artist) max(3) each(output(count(), sum(2+year) as(years))))").unwrap();
//! assert_eq!(
//!     found[0].to_string(),
//!     "all(group(artist) max(3) each(output(count(), sum(add(2, year)) as(years))))"
//! );
//! let error = parse("all(group(artist) each(each(each())))").unwrap_err();
//! assert_eq!(error.text, "Operation 'each()' cannot operate on single hit.");
//! ```

mod aggregate;
mod bucket;
mod expression;
mod filter;
mod function;
mod level;
mod lexer;
mod operation;
mod show;
mod tree;

pub use function::{Function, MathFunction, TimePart};
pub(super) use level::described;
pub(super) use show::double as shown_double;
pub use tree::{
    Aggregate, Bucket, Constant, DistanceUnit, Expr, Filter, MapKey, Max, Number, Operation,
    Output, Where,
};

use crate::yql::YqlError;
use operation::Parser;

/// The longest text of groupings that is read.
pub const MAX_TEXT: usize = 1 << 20;

/// The deepest that operations and expressions nest.
pub const MAX_DEPTH: usize = 64;

/// The most operations and expressions, with those that aliases stand for.
pub const MAX_NODES: usize = 1 << 14;

/// The operations of a text, one behind the other with `;` between them, with the levels that they work on.
///
/// # Errors
/// Where the text is no grouping, and what an operation or expression cannot be applied to.
pub fn parse(text: &str) -> Result<Vec<Operation>, YqlError> {
    Parser::read(text).map_err(|fault| fault.within(text))
}

#[cfg(test)]
mod tests;
