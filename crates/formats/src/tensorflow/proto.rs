//! The generated message types.
#![allow(missing_docs, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/tensorflow.rs"));
