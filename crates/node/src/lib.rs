//! A running stead without sockets: the model repository with its versions, the scheduler and batcher, and
//! the statistics. The public face is [`Embedded`].
//!
//! ```
//! use stead_node::{Embedded, InferRequest, NodeConfig, Parameters, Protocol, VersionRef};
//! use stead_tensor::{DType, Tensor};
//!
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("double.onnx");
//! # let model = stead_onnx::ModelBuilder::new(17).input("x", DType::F32, &["n", "1"])
//! #     .init("w", Tensor::from_slice(&[2.0f32], &[1, 1])?)
//! #     .node("MatMul", &["x", "w"], &["y"]).output("y", DType::F32);
//! # std::fs::write(&file, model.bytes())?;
//! let node = Embedded::start(NodeConfig::path(&file))?;
//! let request = InferRequest {
//!     model: "double".to_owned(),
//!     version: VersionRef::Latest,
//!     id: String::new(),
//!     inputs: vec![("x".to_owned(), Tensor::from_slice(&[3.0f32, 4.0], &[2, 1])?)],
//!     outputs: Vec::new(),
//!     parameters: Parameters::new(),
//!     deadline: None,
//!     protocol: Protocol::KserveGrpc,
//! };
//! # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
//! # runtime.block_on(async {
//! let answer = node.infer(request).await?;
//! assert_eq!(answer.outputs[0].1.as_slice::<f32>()?, [6.0, 8.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Protocol adapters translate their messages to [`InferRequest`], [`InferResponse`] and [`Error`] and back;
//! they decide nothing. Nothing here knows HTTP, gRPC or JSON.
#![forbid(unsafe_code)]

mod admission;
mod code;
mod components;
mod deploy;
mod documents;
mod embedded;
mod embedders;
mod embeddings;
mod error;
mod evaluate;
mod evaluation;
mod evaluations;
mod foreign;
mod histogram;
mod info;
mod instance;
mod literal;
mod memory;
mod meters;
mod metrics;
mod parameters;
mod pipeline;
mod recorder;
mod repository;
mod request;
mod scheduler;
mod searches;
mod sequences;
mod servable;
mod signature;
mod states;
mod statistics;
mod sync;
#[cfg(test)]
mod tests;
mod totals;
mod trace;

pub use code::{CODES, Code, CodeRow};
pub use components::native;
pub use components::{
    ComponentError, ComponentMetrics, Fed, FeedRoute, Feeding, Handler, HandlerAnswer,
    HandlerRequest, HeaderLines, PythonSettings,
};
pub use deploy::{
    Backup, Content, DeployOptions, Deployed, Deployments, DocumentMetrics, DocumentOptions,
    ExpiryStats, KindMetrics, LogLine, Prepared, SessionId, Upload, WhenBusy, copy_folder,
};
pub use documents::Document;
pub use embedded::{Embedded, NodeConfig};
pub use embedders::{EmbedderMetrics, Role, read_tokenizer};
pub use embeddings::{EmbedAnswer, EmbedInput, EmbedOutput, EmbedRequest};
pub use error::{Error, ErrorKind};
pub use evaluation::{
    Evaluated, Evaluation, EvaluationArgument, EvaluationFunction, EvaluationInput, EvaluationType,
    Evaluations,
};
pub use info::{
    DynamicBatching, IndexEntry, IndexState, ModelConfig, ModelMetadata, ReloadOutcome,
    SequenceBatching, StateBegins, StateInfo, TensorInfo, VersionPolicyInfo, VersionState,
    VersionStatus, WindowInfo,
};
pub use meters::{Lately, Meter, Meters, Summary};
pub use metrics::{
    CallKey, Histogram, Method, MetricsSnapshot, ModelMetrics, RequestTimes, SequenceMetrics,
    VersionMetrics,
};
pub use parameters::{Param, ParamName, Parameters};
pub use request::{InferRequest, InferResponse, Protocol, VersionRef, parse_version};
pub use statistics::{BatchStatistics, Duration as StatDuration, ModelStatistics};
pub use stead_app::application::Refeed;
pub use stead_pool::{Cores, Pinning, write_list};
pub use stead_search::models::KeptStats;
pub use stead_sequence::{
    Counters as SequenceCounters, SequenceError, SequenceId, Summary as SequenceSummary,
};
