//! Tensors as bytes and as text.

pub mod binary;
