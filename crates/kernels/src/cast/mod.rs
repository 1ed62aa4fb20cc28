//! Conversions between element types.
//!
//! Integers drop their upper bits. Floats are cut off towards zero; out of range of the result they follow what
//! x86-64 compilers make of NumPy's and ONNX Runtime's casts for small types (the lower bits of an `i32`), and
//! are limited for 32 and 64 bits. NaN gives 0.

mod plain;
mod small;

pub use plain::{Cast, cast, from_truth, to_truth};
pub use small::{E8Rounding, Saturation, Small, from_small, to_small};

#[cfg(test)]
mod tests;
