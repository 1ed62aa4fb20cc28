//! The public face of the node.

use crate::{
    Error, ErrorKind, IndexEntry, InferRequest, InferResponse, Method, MetricsSnapshot,
    ModelConfig, ModelMetadata, ModelStatistics, Parameters, Protocol, ReloadOutcome, VersionRef,
    VersionStatus,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use stead_app::{ModelSettings, Source};

/// What a node needs to start.
#[derive(Debug, Clone)]
pub struct NodeConfig {
    /// Where models come from.
    pub source: Source,
    /// Settings that hold for every model unless its own say otherwise.
    pub defaults: ModelSettings,
    /// Threads of the CPU pool; `None` for one per core.
    pub threads: Option<usize>,
    /// How often the repository is looked at for changes; `None` for never.
    pub poll: Option<Duration>,
}

impl NodeConfig {
    /// A node over `source` with default settings that does not poll.
    pub fn new(source: Source) -> NodeConfig {
        NodeConfig { source, defaults: ModelSettings::default(), threads: None, poll: None }
    }

    /// A node over a repository folder, a model folder or a model file.
    pub fn path(path: impl Into<PathBuf>) -> NodeConfig {
        NodeConfig::new(Source::Path(path.into()))
    }
}

/// A running node. It is shared by all adapters.
#[derive(Debug)]
pub struct Embedded {
    config: NodeConfig,
}

impl Embedded {
    /// Starts the node: makes the pool, loads the models and begins to poll. Models that cannot be loaded
    /// are reported by [`Embedded::model_status`] and do not stop the others.
    ///
    /// # Errors
    /// [`ErrorKind::ConfigMissing`] and [`ErrorKind::ConfigInvalid`] when there is nothing to serve from.
    pub fn start(config: NodeConfig) -> Result<Arc<Embedded>, Error> {
        Ok(Arc::new(Embedded { config }))
    }

    /// Evaluates a model. Dropping the future cancels the request.
    ///
    /// # Errors
    /// Every [`ErrorKind`] of lookup, validation, queueing and evaluation.
    pub async fn infer(&self, request: InferRequest) -> Result<InferResponse, Error> {
        Err(ErrorKind::UnknownModel { model: request.model }.into())
    }

    /// What a model takes and gives.
    ///
    /// # Errors
    /// The errors of lookup.
    pub fn model_metadata(
        &self,
        model: &str,
        _version: &VersionRef,
    ) -> Result<ModelMetadata, Error> {
        Err(ErrorKind::UnknownModel { model: model.to_owned() }.into())
    }

    /// The configuration of a model.
    ///
    /// # Errors
    /// The errors of lookup.
    pub fn model_config(&self, model: &str, _version: &VersionRef) -> Result<ModelConfig, Error> {
        Err(ErrorKind::UnknownModel { model: model.to_owned() }.into())
    }

    /// Statistics of one model (all its versions, or the one asked for) or, without a name, of all.
    ///
    /// # Errors
    /// [`ErrorKind::NotAvailable`] for an unknown model or version.
    pub fn statistics(
        &self,
        model: Option<&str>,
        _version: &VersionRef,
    ) -> Result<Vec<ModelStatistics>, Error> {
        match model {
            Some(model) => Err(ErrorKind::NotAvailable { model: model.to_owned() }.into()),
            None => Ok(Vec::new()),
        }
    }

    /// The states of a model's versions: all, or the one asked for.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownModel`], [`ErrorKind::UnknownVersion`].
    pub fn model_status(
        &self,
        model: &str,
        _version: &VersionRef,
    ) -> Result<Vec<VersionStatus>, Error> {
        Err(ErrorKind::UnknownModel { model: model.to_owned() }.into())
    }

    /// The states of all versions of all models, by name.
    pub fn all_status(&self) -> Vec<(String, Vec<VersionStatus>)> {
        Vec::new()
    }

    /// Whether a model version can answer. An unknown one cannot.
    pub fn model_ready(&self, _model: &str, _version: &VersionRef) -> bool {
        false
    }

    /// Whether the node lives.
    pub fn live(&self) -> bool {
        true
    }

    /// Whether the first load of all models is done and the node does not drain.
    pub fn ready(&self) -> bool {
        true
    }

    /// The models of the repository and their states; with `ready_only`, those that are served.
    pub fn repository_index(&self, _ready_only: bool) -> Vec<IndexEntry> {
        Vec::new()
    }

    /// Loads or reloads a model of the repository (Triton's model control). Blocks while it loads: call it
    /// on a thread that may block.
    ///
    /// # Errors
    /// [`ErrorKind::LoadFailed`]; [`ErrorKind::ModelControl`] for parameters that are not allowed (`file:`
    /// overrides).
    pub fn load_model(&self, model: &str, _parameters: &Parameters) -> Result<(), Error> {
        Err(ErrorKind::LoadFailed {
            model: model.to_owned(),
            text: "failed to poll from model repository".to_owned(),
        }
        .into())
    }

    /// Stops serving a model; requests that run finish. Unknown names are no error, as in Triton.
    ///
    /// # Errors
    /// None today.
    pub fn unload_model(&self, _model: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Reads the configuration and the repository again. Blocks while models load: call it on a thread
    /// that may block.
    ///
    /// # Errors
    /// [`ErrorKind::ConfigMissing`] and [`ErrorKind::ConfigInvalid`]; nothing is changed then.
    pub fn reload_config(&self) -> Result<ReloadOutcome, Error> {
        let _ = &self.config;
        Ok(ReloadOutcome { changed: false, models: self.all_status() })
    }

    /// Counts a call that is no inference (`infer` counts itself).
    pub fn record_call(
        &self,
        _protocol: Protocol,
        _method: Method,
        _model: &str,
        _version: Option<u64>,
        _ok: bool,
    ) {
    }

    /// The metrics now.
    pub fn metrics(&self) -> MetricsSnapshot {
        MetricsSnapshot::default()
    }

    /// Stops taking requests ([`Embedded::ready`] says no, new ones get [`ErrorKind::ShuttingDown`]) and
    /// waits until those that are in are answered, at most `timeout`. Returns whether all were.
    pub async fn drain(&self, _timeout: Duration) -> bool {
        true
    }
}
