//! ONNX model files, read into a checked [`Graph`].
#![forbid(unsafe_code)]

mod attributes;
mod error;
mod graph;
mod limits;
mod model;
mod types;

pub use attributes::{AttributeKind, AttributeValue, Attributes};
pub use error::OnnxError;
pub use graph::{Graph, Node};
pub use limits::Limits;
pub use model::{Function, Model, OpsetImport};
pub use types::{Dim, ValueInfo, ValueType};
