//! ONNX model files, read into a checked [`Graph`].
//!
//! The crate turns the bytes of an `.onnx` file (IR 3 to 14, `ai.onnx` opsets 1 to 28) into plain data: nodes
//! in an order in which they can run, constants as [`Tensor`](stead_tensor::Tensor)s, attributes with typed
//! getters. It runs nothing and knows no operator.
//!
//! ```
//! use stead_onnx::{Limits, Model, ModelBuilder};
//! use stead_tensor::{DType, Tensor};
//!
//! // Normally `Model::read(path, &Limits::default())`; here the file is made on the spot.
//! let file = ModelBuilder::new(17)
//!     .input("x", DType::F32, &["batch", "2"])
//!     .init("w", Tensor::from_slice(&[1.0f32, 2.0], &[2, 1])?)
//!     .node("Sigmoid", &["h"], &["y"])
//!     .node("Gemm", &["x", "w"], &["h"]).attr("alpha", 0.5f32)
//!     .output("y", DType::F32)
//!     .bytes();
//! let model = Model::from_bytes(&file, None)?.inline_functions(&Limits::default())?;
//!
//! let ops: Vec<&str> = model.graph.nodes.iter().map(|n| n.op_type.as_str()).collect();
//! assert_eq!(ops, ["Gemm", "Sigmoid"], "sorted");
//! assert_eq!(model.graph.nodes[0].attributes.float_or("alpha", 1.0)?, 0.5);
//! let w = model.graph.initializer("w").ok_or("no weights")?;
//! assert!(w.is_shared(), "not copied out of the file's buffer");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a reader can rely on
//!
//! * Files are hostile until proven otherwise: sizes are checked before memory is asked for, decoding is
//!   bounded by [`Limits`], no recursion is deeper than the nesting of messages that the decoder allows (100),
//!   external data stays inside of the model's folder, and messages name no path of the machine.
//! * Every name that a graph uses is defined once and before its use. A body (the graph of an `If`) may define
//!   a name that a graph around it has too; the bodies of one node may use the same names.
//! * `ai.onnx` is spelled `""`, and each [`Node`] carries the version of its operator set, so that it keeps its
//!   meaning when it moves from a function into a graph.
//! * Weights are in memory once and aligned. [`Model::read`] gives each large one a buffer of its own, which is
//!   freed with its tensor; the others share one buffer, within which they are moved to aligned places over
//!   the bytes that nobody needs after decoding.
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
mod write;

pub use attributes::{AttributeKind, AttributeValue, Attributes};
pub use builder::{ModelBuilder, dims_of};
pub use error::OnnxError;
pub use graph::{Graph, Node};
pub use limits::Limits;
pub use model::{Function, Model, OpsetImport};
pub use read::{FindFile, external_files};
pub use types::{Dim, ValueInfo, ValueType};
pub use write::Weights;
