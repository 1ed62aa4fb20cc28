//! Tensors as bytes and as text.

pub mod binary;
pub mod json;
mod literal;

pub use literal::{LiteralError, from_literal};
