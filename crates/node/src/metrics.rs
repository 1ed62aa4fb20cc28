//! Values of the metrics, as plain data; the server renders them.

use crate::{ComponentMetrics, DocumentMetrics, EmbedderMetrics, Protocol, SequenceCounters};

/// A call as OpenVINO Model Server labels it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// TensorFlow Serving's inference.
    Predict,
    /// TensorFlow Serving's metadata.
    GetModelMetadata,
    /// TensorFlow Serving's status; its counters have no version label.
    GetModelStatus,
    /// KServe's inference.
    ModelInfer,
    /// KServe's metadata.
    ModelMetadata,
    /// KServe's readiness; its counters have no version label.
    ModelReady,
}

impl Method {
    /// All methods, in the order of their declaration.
    pub const ALL: [Method; 6] = [
        Method::Predict,
        Method::GetModelMetadata,
        Method::GetModelStatus,
        Method::ModelInfer,
        Method::ModelMetadata,
        Method::ModelReady,
    ];

    /// Whether it is a call of KServe.
    pub const fn is_kserve(self) -> bool {
        matches!(self, Method::ModelInfer | Method::ModelMetadata | Method::ModelReady)
    }

    /// The metrics label `method`.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Predict => "Predict",
            Method::GetModelMetadata => "GetModelMetadata",
            Method::GetModelStatus => "GetModelStatus",
            Method::ModelInfer => "ModelInfer",
            Method::ModelMetadata => "ModelMetadata",
            Method::ModelReady => "ModelReady",
        }
    }

    /// Whether the counters of this method carry a version label.
    pub const fn has_version(self) -> bool {
        !matches!(self, Method::GetModelStatus | Method::ModelReady)
    }
}

/// The labels of a request counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey {
    /// Labels `api` and `interface`.
    pub protocol: Protocol,
    /// Label `method`.
    pub method: Method,
}

/// A histogram: `counts[i]` values were at most `bounds[i]` and above the bound before it; the last count,
/// one more than there are bounds, holds the rest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Histogram {
    /// Upper bounds, ascending.
    pub bounds: Vec<f64>,
    /// Counts, not cumulative.
    pub counts: Vec<u64>,
    /// The sum of all values.
    pub sum: f64,
}

/// `ovms_request_time_us` of one interface.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTimes {
    /// Label `interface`.
    pub interface: &'static str,
    /// Arrival to answer, in microseconds.
    pub time_us: Histogram,
}

/// The metrics of one model version.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VersionMetrics {
    /// Label `version`.
    pub version: u64,
    /// `ovms_requests_success`, `ovms_requests_fail` by method.
    pub calls: Vec<(CallKey, u64, u64)>,
    /// `ovms_request_time_us`.
    pub request_time_us: Vec<RequestTimes>,
    /// `ovms_inference_time_us`: time in the engine.
    pub inference_time_us: Histogram,
    /// `ovms_wait_for_infer_req_time_us`: time in the queue.
    pub wait_time_us: Histogram,
    /// `ovms_streams`: executions that the pool may run at a time.
    pub streams: u64,
    /// `ovms_current_requests`: requests accepted and not answered.
    pub current_requests: u64,
    /// `ovms_infer_req_queue_size`: executions allowed at a time.
    pub infer_req_queue_size: u64,
    /// `ovms_infer_req_active`: executions now.
    pub infer_req_active: u64,
    /// Requests waiting in the queue now.
    pub queue_depth: u64,
    /// Requests refused because the queue was full.
    pub queue_rejected: u64,
    /// Requests whose deadline passed.
    pub deadline_exceeded: u64,
    /// Requests that callers gave up.
    pub cancelled: u64,
    /// Elements along the batch axis of each execution.
    pub batch_size: Histogram,
    /// Plans held by the engine.
    pub plans: u64,
    /// Runs that found their plan.
    pub plan_hits: u64,
    /// Runs that had to make one.
    pub plan_misses: u64,
    /// Plans dropped to stay below the limit.
    pub plan_evictions: u64,
    /// The sequences of a stateful model.
    pub sequences: Option<SequenceMetrics>,
    /// Arrival of a step to its answer, in microseconds; steps that failed are not in it.
    pub step_time_us: Histogram,
    /// Requests joined in each execution.
    pub joined: Histogram,
}

/// The sequences of one stateful model version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SequenceMetrics {
    /// Those that live.
    pub active: u64,
    /// Bytes of their states and of the answers kept.
    pub bytes: u64,
    /// Those whose state lies on disk.
    pub spilled: u64,
    /// Requests that wait for their turn.
    pub waiting: u64,
    /// What has happened to them.
    pub counters: SequenceCounters,
}

/// The metrics of one model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelMetrics {
    /// Label `name`.
    pub name: String,
    /// Calls without a version label: successes and failures.
    pub calls: Vec<(CallKey, u64, u64)>,
    /// Its versions, ascending.
    pub versions: Vec<VersionMetrics>,
}

/// All metrics of the node at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetricsSnapshot {
    /// The models by name.
    pub models: Vec<ModelMetrics>,
    /// Threads of the CPU pool.
    pub pool_threads: u64,
    /// Tasks that wait for a thread of the pool.
    pub pool_queued: u64,
    /// Tasks of the pool that ran in the place of less urgent ones, which gave way.
    pub pool_nested: u64,
    /// Requests that were not let in, as they would have missed their deadline or too many waited.
    pub refused: u64,
    /// Documents and searches, where applications are served.
    pub documents: Option<DocumentMetrics>,
    /// Components in Python.
    pub components: Vec<ComponentMetrics>,
    /// Embedders.
    pub embedders: Vec<EmbedderMetrics>,
}
