//! The protocols of stead: KServe V2 and TensorFlow Serving over REST and gRPC, and the metrics page.
//!
//! Adapters only: they read requests, hand [`stead_node::InferRequest`]s to the node and write its answers.
//! What a model is, which version answers and when it runs is the node's to decide.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use stead_node::{Embedded, NodeConfig};
//! use stead_server::{ServerOptions, serve};
//!
//! let node = Embedded::start(NodeConfig::path("models"))?;
//! let options = ServerOptions { http: vec!["127.0.0.1:0".parse()?], ..Default::default() };
//! let server = serve(options, node).await?;
//! println!("http://{}/v2", server.http_addresses()[0]);
//! server.drain(std::time::Duration::from_secs(10)).await;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod admin;
mod builder;
mod console;
pub mod embeddings;
mod fault;
mod grpc;
mod handlers;
mod http;
pub mod json;
pub mod kserve;
mod linger;
mod metrics;
mod openapi;
mod options;
mod panics;
mod patience;
pub mod proto;
mod security;
mod serve;
mod tensors;
pub mod tfserving;
mod tls;
mod vespa;

pub use admin::IdText;
pub use builder::{Server, ServerBuilder, StartError};
pub use fault::Fault;
pub use http::{ENDPOINTS, Endpoint, GRPC_METHODS, Port, Tag, Takes};
pub use metrics::is_metric;
pub use options::{CorsOptions, DEFAULT_MAX_BODY_BYTES, MetricsOptions, ServerOptions};
pub use security::{AuthError, AuthOptions, Credentials, LimitOptions, Role};
pub use serve::{ServeError, ServerHandle, resolve, serve};
pub use tls::{TlsError, TlsOptions};
pub use vespa::evaluation::{Parameters as EvaluationParameters, Target as EvaluationTarget};
pub use vespa::logs::{LogEvent, RecentLog};
