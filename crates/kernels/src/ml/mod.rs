//! What models of `ai.onnx.ml` have besides products: [ensembles](ensemble) of trees with any comparison,
//! [values of kernels](svm) of support vector machines, and what [happens to scores](post) at the end.

pub mod ensemble;
pub mod post;
pub mod svm;
#[cfg(test)]
mod tests;
