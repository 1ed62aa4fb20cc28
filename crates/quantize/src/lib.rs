//! Models with smaller weights: products of a graph rewritten to standard operators that work on integers.
//!
//! | function | writes |
//! |---|---|
//! | [`dynamic`] | `DynamicQuantizeLinear` and `MatMulInteger`, `DynamicQuantizeLSTM` of `com.microsoft`: inputs are quantised by what they are in each run |
//! | [`fixed`] | `QuantizeLinear` and `DequantizeLinear` around products and convolutions: inputs are quantised by ranges that [`calibrate`] has seen |
//! | [`weight_only`] | `MatMulNBits` of `com.microsoft`: weights of 4 or 8 bits with a scale for each block, inputs as they are; recurrent layers behind `DequantizeLinear` of their weights |
//!
//! Each takes the model as its file says it, changes the main graph and tells which nodes it has changed and which it has
//! left alone, with the reasons. [`compare`] tells how far the results are off.
//!
//! [`fold_weights`] makes constants of weights that a file casts or turns before it multiplies by them.
//!
//! The numbers of weights are those of ONNX Runtime's tools: symmetric, `scale = 2 max|w| / 254`, rounded to even.

#![forbid(unsafe_code)]

mod blocks;
mod calibrate;
mod compare;
mod dynamic;
mod error;
mod fixed;
mod fold;
mod graph;
mod layers;
mod ranges;
mod weight_only;
mod weights;

pub use blocks::Bits;
pub use calibrate::{Run, calibrate};
pub use compare::{Difference, compare};
pub use dynamic::dynamic;
pub use error::QuantizeError;
pub use fixed::fixed;
pub use fold::fold_weights;
pub use ranges::Ranges;
pub use weight_only::weight_only;

/// What became of the nodes of a graph that a function could have changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Nodes that were rewritten, as messages call them.
    pub quantized: Vec<String>,
    /// Nodes that were left alone, and why.
    pub left: Vec<(String, String)>,
}
