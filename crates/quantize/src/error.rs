//! Why a model cannot be quantised.

use stead_engine::{LoadError, RunError};
use stead_tensor::TensorError;

/// Why a model cannot be quantised.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QuantizeError {
    /// The operators that are written came with a later operator set.
    #[error("the model is of opset {actual} of ai.onnx; {operators} need {needed} or later")]
    Opset {
        /// The version that the model imports; 0 for none.
        actual: i64,
        /// The first version that has the operators.
        needed: i64,
        /// The operators.
        operators: &'static str,
    },
    /// There is nothing in the graph to quantise.
    #[error("no node can be quantised{0}")]
    Nothing(String),
    /// The model and its quantised form cannot be compared: they have other outputs.
    #[error("the models have other outputs")]
    Outputs,
    /// The model that shows the values of the graph cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A tensor cannot be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}
