//! Functions along the middle of `(outer, axis, inner)`, in row-major order, other than reductions and softmax
//! of f32: positions of extremes, the largest few, running sums,
//! different parts.

mod arg;
mod cumulative;
mod exponential;
mod top;
mod unique;

pub use arg::{arg_extreme, hardmax};
pub use cumulative::{Cumulative, cumulative};
pub use exponential::softmax_f64;
pub use top::top_k;
pub use unique::{UniqueParts, unique};

/// `(outer, axis, inner)`: the extents before, of and after the axis.
pub type Dims = (usize, usize, usize);

#[cfg(test)]
mod tests;
