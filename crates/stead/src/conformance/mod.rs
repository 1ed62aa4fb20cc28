//! Test cases in the layout of the ONNX backend suite: `model.onnx`, `test_data_set_N/{input,output}_K.pb`.

mod cases;
mod compare;
mod isolate;
mod run;

pub use cases::{Case, find};
pub use compare::Tolerance;
pub use isolate::isolated;
pub use run::run;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All outputs of all data sets agree.
    Passed,
    /// Something does not; the text says what.
    Failed(String),
    /// The folder has no data to compare with.
    Skipped(String),
}
