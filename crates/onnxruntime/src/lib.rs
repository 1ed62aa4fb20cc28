//! ONNX Runtime as a [`Backend`](stead_engine::Backend): its library is opened when stead runs, nothing is linked.
//!
//! ```no_run
//! use stead_engine::{Backend, BackendOptions, ModelSource};
//! use stead_onnxruntime::{OnnxRuntime, Options};
//!
//! let runtime = OnnxRuntime::open(&Options { library: "libonnxruntime.so.1.31.1".into(), threads: None })?;
//! let options = BackendOptions { runs: 2, optimize: true, providers: &[] };
//! let model = runtime.load(ModelSource::File("model.onnx".as_ref()), options)?;
//! println!("{:?}", model.inputs());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A model has a pool of sessions, each with one thread, which is the one that runs it: so nothing of ONNX Runtime waits
//! actively, and runs at a time are as many as the caller allows. With [`Options::threads`] all sessions share one pool
//! of so many threads instead.
#![forbid(unsafe_code)]

mod library;
mod model;
mod providers;
mod types;
mod values;
mod watch;

pub use library::{LibraryError, OnnxRuntime, Options};

/// What people call this back end.
pub const NAME: &str = "onnxruntime";
