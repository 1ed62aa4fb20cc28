//! The functions of numbers, and those that gather many numbers into one: one table each, from which the parser,
//! the printer and the documentation take the names.

mod aggregate;
mod scalar;

pub use aggregate::{AGGREGATORS, Aggregator};
pub(crate) use aggregate::{Gather, median};
pub use scalar::{BINARY, Fn1, Fn2, UNARY};
pub(crate) use scalar::{Visit1, Visit2};
