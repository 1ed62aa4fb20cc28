//! What a client may know about models: metadata, configuration, versions and their states.

use stead_tensor::DType;

/// An input or output of a model, as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The name clients use (the alias of `mapping_config.json`, when there is one).
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// The dimensions; -1 where requests choose.
    pub shape: Vec<i64>,
    /// Whether a request may leave this input out.
    pub optional: bool,
}

/// What a model version takes and gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelMetadata {
    /// The model's name.
    pub name: String,
    /// The version described.
    pub version: u64,
    /// All versions that are served now, ascending.
    pub versions: Vec<u64>,
    /// The kind of model: `onnx_onnxv1`, by KServe's rule `<project>_<format>`.
    pub platform: String,
    /// The inputs in the model's order.
    pub inputs: Vec<TensorInfo>,
    /// The outputs in the model's order.
    pub outputs: Vec<TensorInfo>,
    /// The special inputs of a stateful model, which describe a sequence and never reach the model. Servers do
    /// not list them.
    pub special_inputs: Vec<TensorInfo>,
}

impl ModelMetadata {
    /// Whether a request for the one is read and answered like one for the other.
    pub fn has_signature_of(&self, other: &ModelMetadata) -> bool {
        self.inputs == other.inputs
            && self.outputs == other.outputs
            && self.special_inputs == other.special_inputs
    }
}

/// Which versions of a model are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionPolicyInfo {
    /// The highest `n`.
    Latest(u32),
    /// Exactly these.
    Specific(Vec<u64>),
    /// Every one.
    All,
}

/// The dynamic batching of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DynamicBatching {
    /// The longest that a request waits for others, in microseconds.
    pub max_queue_delay_microseconds: u64,
    /// The bound of the queue; 0 for none.
    pub max_queue_size: u64,
}

/// The sequences of a stateful model, in the terms of Triton's strategy `oldest`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceBatching {
    /// Sequences that may live at a time.
    pub max_candidate_sequences: u64,
    /// How long a step waits for steps of other sequences, in microseconds.
    pub max_queue_delay_microseconds: u64,
    /// How long a sequence may be idle, in microseconds; 0 for no limit.
    pub max_sequence_idle_microseconds: u64,
}

/// A model version's configuration in the terms of Triton's `ModelConfig`. Adapters fill fields that stead
/// has no meaning for with Triton's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    /// The model's name.
    pub name: String,
    /// As in [`ModelMetadata::platform`].
    pub platform: String,
    /// `stead`.
    pub backend: String,
    /// Which versions are served.
    pub version_policy: VersionPolicyInfo,
    /// The largest batch; 0 when axis 0 is no batch axis. When above 0, the dims of inputs and outputs leave
    /// out the batch axis, as in Triton.
    pub max_batch_size: u64,
    /// Inputs in the model's order.
    pub inputs: Vec<TensorInfo>,
    /// Outputs in the model's order.
    pub outputs: Vec<TensorInfo>,
    /// Executions at a time (OVMS's `nireq`).
    pub instances: u64,
    /// How requests are steps of sequences, when the model is stateful.
    pub sequence_batching: Option<SequenceBatching>,
    /// Dynamic batching, when it is on.
    pub dynamic_batching: Option<DynamicBatching>,
    /// The name of the model's file, without its folder.
    pub default_model_filename: String,
    /// The states of a stateful model.
    pub states: Vec<StateInfo>,
    /// Its inputs with windows.
    pub windows: Vec<WindowInfo>,
    /// What else there is to tell people, by name.
    pub parameters: Vec<(String, String)>,
}

/// One state of a model: memory that a step leaves for the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateInfo {
    /// The model's input that takes it.
    pub input: String,
    /// The model's output that gives the next one.
    pub output: String,
    /// Its element type.
    pub dtype: DType,
    /// Its shape, -1 where a dimension is free; none for one of any rank.
    pub shape: Option<Vec<i64>>,
    /// The axis along which the states of several sequences are joined.
    pub batch_axis: Option<usize>,
    /// The axis that grows, and the most elements along it if there is a limit.
    pub growable: Option<(usize, Option<usize>)>,
    /// What it is before the first step.
    pub begins: StateBegins,
}

/// What a state is before the first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateBegins {
    /// Zeros.
    Zeros,
    /// A value of the configuration, or a constant of the model.
    Value,
    /// What the request of the START brings.
    FirstValue,
    /// As the model itself begins when it gets none: a layer whose memory was lifted out of it.
    Model,
}

/// An input that takes the last values of the step before in front of the new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowInfo {
    /// The input.
    pub input: String,
    /// The values kept.
    pub length: usize,
    /// The axis along which they are joined.
    pub axis: usize,
}

/// The life of a model version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VersionState {
    /// Known, not loading yet.
    Start,
    /// Loading; with an error: loading failed.
    Loading,
    /// Served.
    Available,
    /// No longer served; requests that run on it finish.
    Unloading,
    /// Gone.
    End,
}

impl VersionState {
    /// TensorFlow Serving's name.
    pub const fn name(self) -> &'static str {
        match self {
            VersionState::Start => "START",
            VersionState::Loading => "LOADING",
            VersionState::Available => "AVAILABLE",
            VersionState::Unloading => "UNLOADING",
            VersionState::End => "END",
        }
    }

    /// TensorFlow Serving's number in `ModelVersionStatus.State`.
    pub const fn number(self) -> i32 {
        match self {
            VersionState::Start => 10,
            VersionState::Loading => 20,
            VersionState::Available => 30,
            VersionState::Unloading => 40,
            VersionState::End => 50,
        }
    }
}

/// A model version and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionStatus {
    /// The version.
    pub version: u64,
    /// Its state.
    pub state: VersionState,
    /// 0 (`OK`) or 2 (`UNKNOWN`): the gRPC number of the load error, as OpenVINO Model Server reports it.
    pub error_code: i32,
    /// `OK`, or `UNKNOWN` and what went wrong.
    pub error_message: String,
}

impl VersionStatus {
    /// The name of [`error_code`](Self::error_code).
    pub const fn error_name(&self) -> &'static str {
        if self.error_code == 0 { "OK" } else { "UNKNOWN" }
    }
}

/// The state of a model version in Triton's repository index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Served.
    Ready,
    /// Being loaded.
    Loading,
    /// Finishing its last requests.
    Unloading,
    /// Not served.
    Unavailable,
}

impl IndexState {
    /// Triton's name.
    pub const fn name(self) -> &'static str {
        match self {
            IndexState::Ready => "READY",
            IndexState::Loading => "LOADING",
            IndexState::Unloading => "UNLOADING",
            IndexState::Unavailable => "UNAVAILABLE",
        }
    }
}

/// One entry of the repository index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The model.
    pub name: String,
    /// The version; `None` for a model that was never loaded.
    pub version: Option<u64>,
    /// Its state; `None` for a model that was never loaded (Triton leaves the field empty).
    pub state: Option<IndexState>,
    /// Why it is not ready; empty otherwise.
    pub reason: String,
}

/// What a reload by request did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReloadOutcome {
    /// Whether anything changed (OVMS: 201 if so, 200 if not).
    pub changed: bool,
    /// Loads that failed: model, version (0 when it has none) and why.
    pub failures: Vec<(String, u64, String)>,
    /// All models and the states of their versions after it.
    pub models: Vec<(String, Vec<VersionStatus>)>,
}
