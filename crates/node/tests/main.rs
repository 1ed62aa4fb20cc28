//! The tests of the node as one program, but for those that count what is allocated.
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod decoder_example;
mod embedded_documents;
mod embedders;
mod engine;
mod first_values;
mod fixed_batch;
mod fixed_shapes;
mod lifted;
mod openvino;
mod pipelines;
