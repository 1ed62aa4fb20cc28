//! Typed settings that configuration files and command-line flags both fill.

use crate::{Literal, SequenceSettings};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use stead_tensor::Precision;

/// Where models come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// From nowhere: what is served is an application package.
    Nothing,
    /// A `config.json`.
    ConfigFile(PathBuf),
    /// A folder of models, a model folder with version folders, or a model file: names are those of the
    /// folders, or of the file without its ending. Also a file with the ending `.json` and a folder with a
    /// `config.json`, which are read as [`Source::ConfigFile`].
    Path(PathBuf),
    /// One model under a name of its own (`--model_name`, `--model_path`).
    Model {
        /// The name.
        name: String,
        /// A model folder with version folders, or a model file.
        base_path: PathBuf,
        /// Its settings.
        settings: Box<ModelSettings>,
    },
}

/// Which versions of a model are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The highest `n`.
    Latest(u32),
    /// Exactly these.
    Specific(Vec<u64>),
    /// Every one.
    All,
}

/// OVMS's `batch_size`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchSize {
    /// Every request chooses (`auto`, `-1`).
    Auto,
    /// The first dimension of every input is this.
    Fixed(usize),
    /// The first dimension lies in this range, ends included (`1:8`).
    Range(usize, usize),
}

/// OVMS's `shape` of one input: bounds for each dimension, `None` where every request chooses.
pub type InputShape = Vec<Option<(usize, usize)>>;

/// What evaluates a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BackendKind {
    /// stead's engine.
    #[default]
    Stead,
    /// ONNX Runtime.
    OnnxRuntime,
}

impl BackendKind {
    /// The names that people write.
    pub const NAMES: &[(&str, BackendKind)] =
        &[("stead", BackendKind::Stead), ("onnxruntime", BackendKind::OnnxRuntime)];

    /// The one of a name.
    pub fn from_name(name: &str) -> Option<BackendKind> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|&(_, kind)| kind)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |&(name, _)| name)
    }

    /// Whether it computes in a precision: others than the engine compute what the file says.
    ///
    /// # Errors
    /// A text that names both.
    pub fn takes(self, precision: Precision) -> Result<(), String> {
        match self == BackendKind::Stead || precision == Precision::F32 {
            true => Ok(()),
            false => Err(format!("precision {precision}: not with backend {}", self.name())),
        }
    }
}

/// A part of another runtime that computes nodes of a model, by the name that the runtime has for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its options as texts, by their names.
    pub options: Vec<(String, String)>,
}

/// The settings of a model. `None` and empty mean: not set here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelSettings {
    /// What evaluates it; stead's engine unless set.
    pub backend: Option<BackendKind>,
    /// What of the backend computes its nodes, the preferred first; empty for what it takes by itself.
    pub providers: Vec<Provider>,
    /// Which versions are served; the latest one unless set.
    pub version_policy: Option<VersionPolicy>,
    /// The first dimension.
    pub batch_size: Option<BatchSize>,
    /// Shapes by input; the empty name means the only input.
    pub shapes: BTreeMap<String, InputShape>,
    /// OVMS's `shape: auto`: every request chooses, of a stateful model every sequence.
    pub auto_shape: Option<bool>,
    /// Executions at a time; 0 or `None` for one per thread of the pool.
    pub nireq: Option<u32>,
    /// OpenVINO's `NUM_STREAMS`: executions at a time, whatever `nireq` allows.
    pub streams: Option<u32>,
    /// The most threads that one request may use.
    pub threads: Option<u32>,
    /// How products by constant weights are computed; in f32 unless set.
    pub precision: Option<Precision>,
    /// The largest batch that the batcher makes; 0 or `None` for no dynamic batching.
    pub max_batch_size: Option<u32>,
    /// The longest that a request waits for others to join its batch.
    pub max_queue_delay: Option<Duration>,
    /// The most requests that wait; more are refused.
    pub max_queue_size: Option<u32>,
    /// Runs at load, before the model is served.
    pub warmup: Option<u32>,
    /// The deadline of requests that bring none.
    pub default_timeout: Option<Duration>,
    /// Values of inputs that a request leaves out.
    pub default_inputs: BTreeMap<String, Literal>,
    /// What holds for sequences.
    pub sequences: SequenceSettings,
}

impl ModelSettings {
    /// Why these settings cannot hold together, in the words of OpenVINO Model Server.
    pub fn contradiction(&self) -> Option<String> {
        if let Some(option) = self.sequences.needs_stateful() {
            return Some(format!(
                "Stateful model config parameter used for non stateful model - {option}"
            ));
        }
        let auto = self.batch_size == Some(BatchSize::Auto) || self.auto_shape == Some(true);
        (self.sequences.is_stateful() && self.sequences.ovms_compat == Some(true) && auto).then(
            || {
                "Dynamic shape and dynamic batch size are not supported for stateful models"
                    .to_owned()
            },
        )
    }

    /// These settings, and those of `base` where these say nothing.
    #[must_use]
    pub fn over(self, base: &ModelSettings) -> ModelSettings {
        let mut default_inputs = base.default_inputs.clone();
        default_inputs.extend(self.default_inputs);
        ModelSettings {
            backend: self.backend.or(base.backend),
            providers: if self.providers.is_empty() {
                base.providers.clone()
            } else {
                self.providers
            },
            version_policy: self.version_policy.or_else(|| base.version_policy.clone()),
            batch_size: self.batch_size.or(base.batch_size),
            shapes: if self.shapes.is_empty() { base.shapes.clone() } else { self.shapes },
            auto_shape: self.auto_shape.or(base.auto_shape),
            nireq: self.nireq.or(base.nireq),
            streams: self.streams.or(base.streams),
            threads: self.threads.or(base.threads),
            precision: self.precision.or(base.precision),
            max_batch_size: self.max_batch_size.or(base.max_batch_size),
            max_queue_delay: self.max_queue_delay.or(base.max_queue_delay),
            max_queue_size: self.max_queue_size.or(base.max_queue_size),
            warmup: self.warmup.or(base.warmup),
            default_timeout: self.default_timeout.or(base.default_timeout),
            default_inputs,
            sequences: self.sequences.over(&base.sequences),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_wins_over_the_base() {
        let base = ModelSettings { nireq: Some(1), warmup: Some(2), ..ModelSettings::default() };
        let over = ModelSettings { nireq: Some(3), threads: Some(4), ..ModelSettings::default() };
        let both = over.over(&base);
        assert_eq!((both.nireq, both.warmup, both.threads), (Some(3), Some(2), Some(4)));
    }
}
