//! Functions of two and three operands with broadcasting, and those of one that are not only of floats.
//!
//! Integers wrap, as in NumPy. A division of integers by zero gives 0, where NumPy leaves the result open and
//! other engines trap.

mod bits;
mod clip;
mod float;
mod infinite;
mod lane;
mod number;
mod pow;
mod select;
mod shaped;
mod zip;

pub use bits::{BitOp, Bits, LogicOp, invert, logic, not};
pub use clip::{ClipLane, clip};
pub use float::{FloatLane, FloatOp};
pub use infinite::{Tested, is_inf, is_nan};
pub use lane::{BinaryOp, CompareOp, Lane, SignOp};
pub use number::Number;
pub use pow::{pow_float, pow_float_to_int, pow_int};
pub use select::select;
pub use shaped::{Shaped, shaped_f32, shaped_f64};
pub use zip::Run;

/// Elements of a half-precision operand that are widened at a time: the three buffers stay in the first
/// level of cache.
pub(crate) const CHUNK: usize = 512;

#[cfg(test)]
mod tests;
