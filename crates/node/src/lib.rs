//! A running stead without sockets: the model repository with its versions, the scheduler and batcher, and
//! the statistics. The public face is [`Embedded`].
//!
//! Protocol adapters translate their messages to [`InferRequest`], [`InferResponse`] and [`Error`] and back;
//! they decide nothing. Nothing here knows HTTP, gRPC or JSON.
#![forbid(unsafe_code)]

mod embedded;
mod error;
mod evaluate;
mod info;
mod instance;
mod literal;
mod memory;
mod metrics;
mod recorder;
mod repository;
mod request;
mod scheduler;
mod signature;
mod statistics;
#[cfg(test)]
mod tests;

pub use embedded::{Embedded, NodeConfig};
pub use error::{CODES, Code, CodeRow, Error, ErrorKind};
pub use info::{
    DynamicBatching, IndexEntry, IndexState, ModelConfig, ModelMetadata, ReloadOutcome, TensorInfo,
    VersionPolicyInfo, VersionState, VersionStatus,
};
pub use metrics::{
    CallKey, Histogram, Method, MetricsSnapshot, ModelMetrics, RequestTimes, VersionMetrics,
};
pub use request::{
    InferRequest, InferResponse, Param, Parameters, Protocol, VersionRef, parse_version,
};
pub use statistics::{BatchStatistics, Duration as StatDuration, ModelStatistics};
