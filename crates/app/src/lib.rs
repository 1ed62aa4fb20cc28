//! What to serve and how, read from files and flags into typed values: `config.json` of OpenVINO Model
//! Server, `stead.toml` beside a model, the options that both share, and the schemas of Vespa's application packages.
//!
//! ```
//! let text = r#"{"model_config_list": [{"config": {"name": "m", "base_path": "/models/m",
//!                "nireq": 4, "stead": {"max_batch_size": 8}}}]}"#;
//! let config = stead_app::ServerConfig::parse(text.as_bytes())?;
//! let settings = config.models[0].settings.as_ref().map_err(Clone::clone)?;
//! assert_eq!((settings.nireq, settings.max_batch_size), (Some(4), Some(8)));
//! # Ok::<(), stead_app::ConfigError>(())
//! ```
//!
//! Nothing is loaded or evaluated here. Every key is known or refused by its JSON pointer; a file that cannot
//! be used changes nothing.
#![forbid(unsafe_code)]

pub mod application;
pub mod components;
mod config_json;
mod error;
mod fields;
mod json;
mod literal;
mod mapping;
mod options;
mod order;
mod ovms;
pub mod package;
mod pipelines;
pub mod profiles;
pub mod schema;
mod sequences;
pub mod services;
mod settings;
mod stead_toml;
pub mod xml;

pub use config_json::{MetricsSettings, ModelEntry, ServerConfig};
pub use error::ConfigError;
pub use literal::{Literal, Scalar};
pub use mapping::NameMapping;
pub use options::{OPTIONS, OptionSpec, options_markdown};
pub use ovms::{MODEL_KEYS, apply_model_key};
pub use pipelines::{
    Demultiply, Origin, PipelineEntry, PipelineNode, PipelineSettings, REQUEST, Wire,
};
pub use sequences::{
    Durability, Growable, SequenceIds, SequenceSettings, StateInit, StateSetting, WindowSetting,
};
pub use settings::{
    BackendKind, BatchSize, InputShape, ModelSettings, Provider, Source, VersionPolicy,
};
pub use stead_toml::parse_stead_toml;
