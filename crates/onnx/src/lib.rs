//! ONNX model files, read into a checked [`Graph`].
#![forbid(unsafe_code)]

mod attributes;
mod builder;
mod encode;
mod error;
mod graph;
mod inline;
mod limits;
mod model;
pub mod pb;
mod proto;
mod read;
mod types;
mod validate;

pub use attributes::{AttributeKind, AttributeValue, Attributes};
pub use builder::{ModelBuilder, dims_of};
pub use error::OnnxError;
pub use graph::{Graph, Node};
pub use limits::Limits;
pub use model::{Function, Model, OpsetImport};
pub use types::{Dim, ValueInfo, ValueType};
