//! Operators of `com.microsoft`, which ONNX Runtime's optimiser, its quantisation tools and its exporters write.
//!
//! Nearly all are functions: they become the operators of the standard that they were fused from, and the engine's own
//! passes fuse these as they fuse a graph that no optimiser has seen.

mod activation;
mod attention;
mod key_bias;
mod llm;
mod norm;
mod product;
mod quantized;

use super::OpDef;

/// The domain.
const MICROSOFT: &str = "com.microsoft";

/// Tables of operators that compute with floats.
const FLOAT: [&[OpDef]; 5] =
    [activation::OPS, attention::OPS, key_bias::OPS, norm::OPS, product::OPS];

/// The tables of this family.
pub fn tables() -> impl Iterator<Item = &'static [OpDef]> {
    FLOAT.into_iter().chain(quantized::TABLES).chain(llm::TABLES)
}
