//! YQL: the text of a query to a tree (Vespa, documentation, `reference/querying/yql.html`; the grammar
//! `container-search/src/main/antlr4/com/yahoo/search/yql/yqlplus.g4`).
//!
//! The tree has what is written, with places. What the names of fields and functions mean is for those who know the schema.
//!
//! ```
//! use stead_search::yql::{Expr, parse};
//!
//! let statement = parse("select * from music where year > 1990 and artist contains 'Blur' limit 5").unwrap();
//! assert_eq!(statement.sources, ["music"]);
//! assert!(matches!(&statement.filter.expr, Expr::And(list) if list.len() == 2));
//!
//! let error = parse("select * from music where year >").unwrap_err();
//! assert_eq!(error.to_string(), "1:33: expected a value, found the end");
//! ```

mod error;
mod expression;
mod grouping;
mod lexer;
mod literal;
mod neighbors;
mod statement;
mod tree;

pub(crate) use error::Fault;
pub use error::YqlError;
pub(crate) use lexer::{behind_blank, number_end, quoted};
pub use neighbors::Neighbor;
pub use statement::parse;
pub use tree::{Amount, Comparison, Expr, Grouping, Node, Order, Statement};

/// The longest text that is read. Weighted sets of some ten thousand tokens are sent inside of queries.
pub const MAX_TEXT: usize = 4 << 20;

/// The deepest that parentheses, calls and literals nest. Vespa has no limit but its stack.
pub const MAX_DEPTH: usize = 64;

/// The most nodes of a tree: what a text of the greatest length needs that is a list of short numbers.
pub const MAX_NODES: usize = 1 << 20;
