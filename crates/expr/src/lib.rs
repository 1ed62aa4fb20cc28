//! Ranking expressions: functions of numbers and of tensors whose dimensions have names, in the language of Vespa.
//!
//! [`compile`] turns text into typed steps: names get their meaning from a [`Scope`], types are checked, what is
//! constant is computed, and what is computed twice is computed once. An expression that cannot work is refused with line and column.
//!
//! ```
//! use stead_expr::{Rate, TensorType, Value, compile, parse_type};
//!
//! // Names and their types, as a rank profile declares them.
//! let scope = |name: &str| -> Option<(TensorType, Rate)> {
//!     match name {
//!         "query(user)" => Some((parse_type("tensor<float>(x[2])").ok()?, Rate::Query)),
//!         "attribute(tags)" => Some((parse_type("tensor<float>(tag{},x[2])").ok()?, Rate::Document)),
//!         _ => None,
//!     }
//! };
//! let text = "reduce(sum(query(user) * attribute(tags), x), max, tag)";
//! let expression = compile(text, &scope)?;
//! assert_eq!(expression.names(), ["query(user)", "attribute(tags)"]);
//! assert_eq!(expression.kind().to_string(), "double");
//!
//! let value = |text: &str| compile(text, &scope).map(|e| e.run(&[]));
//! let user = value("tensor<float>(x[2]):[1,2]")?.unwrap();
//! let tags = value("tensor<float>(tag{},x[2]):{new:[1,1],old:[0,2]}")?.unwrap();
//! assert_eq!(expression.run(&[&user, &tags]).unwrap(), Value::double(4.0));
//!
//! let error = compile("query(user)\n + attribute(year)", &scope).unwrap_err();
//! assert_eq!(error.to_string(), "2:4: unknown name attribute(year)");
//! # Ok::<(), stead_expr::ExprError>(())
//! ```
//!
//! The way: `syntax` reads a tree, `ir` makes steps of it, `run` computes them over columns, one tensor for each document of a batch.
#![forbid(unsafe_code)]

mod batch;
pub mod codec;
mod compiled;
pub mod conformance;
mod error;
mod explain;
mod functions;
mod ir;
mod reader;
mod run;
mod share;
mod syntax;
mod types;
mod value;

pub use batch::{Bound, Documents, Scratch, Stored};
pub use compiled::{Compiled, RunError, compile};
pub use error::{ExprError, Reason};
pub use explain::{Explanation, Line};
pub use functions::{AGGREGATORS, Aggregator, BINARY, Fn1, Fn2, UNARY};
pub use ir::{Function, MAX_CALLS, Rate, Scope};
pub use run::{Attribute, MAX_CELLS, Numbers, TooLarge};
pub use share::{Shared, share};
pub use syntax::{MAX_DEPTH, MAX_LAMBDAS, MAX_TEXT, text_number};
pub use types::{
    CELL_TYPES, CellType, Dimension, Extent, MAX_BLOCK, MAX_DIMENSIONS, TensorType, TypeError,
    parse_type,
};
pub use value::{
    Bit, Cells, Element, Inexact, Label, Labels, MAX_LABEL, Number, Value, ValueError, approx_equal,
};
