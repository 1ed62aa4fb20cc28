//! What to serve and how, read from files and flags into typed values: `config.json` of OpenVINO Model
//! Server, `stead.toml` beside a model, and the options that both share.
//!
//! Nothing is loaded or evaluated here.
#![forbid(unsafe_code)]

mod settings;

pub use settings::{BatchSize, InputShape, ModelSettings, Source, VersionPolicy};
