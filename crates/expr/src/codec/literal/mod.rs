//! Tensors as the literals of expressions, written and read.

mod read;
mod sizes;
mod write;

pub use read::{LiteralError, from_literal};
