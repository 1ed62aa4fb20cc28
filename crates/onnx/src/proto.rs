//! The generated message types of the format.
#![allow(missing_docs, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/onnx.rs"));
