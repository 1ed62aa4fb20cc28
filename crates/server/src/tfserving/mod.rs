//! TensorFlow Serving's API as OpenVINO Model Server serves it, over REST and gRPC.

mod datatype;
pub(crate) mod grpc;
mod predict;
mod proto_tensor;
pub(crate) mod rest;
mod signature;
mod special;

pub use predict::{Format, PredictBody, encode_predict, parse_predict};
pub use proto_tensor::{tensor_from_proto, tensor_to_proto};
