//! KServe V2 (Open Inference Protocol) with Triton's extensions, over REST and gRPC.

mod classify;
mod config;
pub(crate) mod datatype;
pub(crate) mod grpc;
mod infer;
pub(crate) mod message;
mod order;
mod parameters;
mod request;
mod response;
pub(crate) mod rest;
mod states;
mod statistics;
mod stream;
mod trace;
pub(crate) mod unary;

pub use message::{encode_message, parse_message};
pub use request::{ParsedInfer, WantedOutput, parse_infer};
pub use response::{EncodedInfer, encode_infer};
