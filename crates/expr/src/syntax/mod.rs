//! From text to a tree: grammar, operators and the functions that are written in terms of others.

mod ast;
mod calls;
mod features;
mod literal;
mod operators;
mod parser;
mod places;
mod reader;

pub(crate) use ast::{Argument, Ast, Cell, Expr, Feature, Lambda, Place};
pub(crate) use parser::parse;
pub use parser::text_number;

/// The longest expression in bytes. Forests written out as expressions reach a few megabytes.
pub const MAX_TEXT: usize = 16 << 20;

/// How deep parentheses, calls and lambdas may nest. Published packages stay below 20, trees written as nested
/// `if`s below 100; each level takes three kilobytes of stack, and a worker has two megabytes.
pub const MAX_DEPTH: usize = 400;

/// How deep lambdas and generated tensors may nest, since each is a program that runs within another.
pub const MAX_LAMBDAS: usize = 16;
