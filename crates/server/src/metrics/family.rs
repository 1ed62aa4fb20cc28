//! The one table of metric families.

use stead_node::{Histogram, MetricsSnapshot, VersionMetrics};

/// What a family measures and where its values are.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Counts of calls by api, interface and method; the number picks successes (0) or failures (1).
    Calls(usize),
    /// A histogram by interface.
    RequestTimes,
    /// A value of a model version that only grows.
    Counter(fn(&VersionMetrics) -> u64),
    /// A value of a model version.
    Gauge(fn(&VersionMetrics) -> u64),
    /// A distribution of a model version.
    Histogram(fn(&VersionMetrics) -> &Histogram),
    /// A value of the process.
    Process(fn(&MetricsSnapshot) -> u64),
}

/// A family of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// Its help text.
    pub help: &'static str,
    /// Whether it is shown when no list is given.
    pub default: bool,
    /// What it measures.
    pub kind: Kind,
}

const fn family(name: &'static str, default: bool, help: &'static str, kind: Kind) -> Family {
    Family { name, help, default, kind }
}

/// All families. Those with prefix `ovms_` have the names, labels and defaults of OpenVINO Model Server.
pub const FAMILIES: &[Family] = &[
    family(
        "ovms_requests_success",
        true,
        "Number of successful requests to a model.",
        Kind::Calls(0),
    ),
    family("ovms_requests_fail", true, "Number of failed requests to a model.", Kind::Calls(1)),
    family(
        "ovms_request_time_us",
        true,
        "Processing time of requests to a model.",
        Kind::RequestTimes,
    ),
    family("ovms_streams", true, "Number of execution streams.", Kind::Gauge(|v| v.streams)),
    family(
        "ovms_inference_time_us",
        true,
        "Inference execution time in the engine.",
        Kind::Histogram(|v| &v.inference_time_us),
    ),
    family(
        "ovms_wait_for_infer_req_time_us",
        true,
        "Request waiting time in the scheduling queue.",
        Kind::Histogram(|v| &v.wait_time_us),
    ),
    family(
        "ovms_current_requests",
        true,
        "Number of inference requests currently in process.",
        Kind::Gauge(|v| v.current_requests),
    ),
    family(
        "ovms_infer_req_queue_size",
        false,
        "Inference request queue size (nireq).",
        Kind::Gauge(|v| v.infer_req_queue_size),
    ),
    family(
        "ovms_infer_req_active",
        false,
        "Number of currently consumed inference requests from the processing queue.",
        Kind::Gauge(|v| v.infer_req_active),
    ),
    family(
        "stead_queue_depth",
        true,
        "Requests that wait in a model's queue.",
        Kind::Gauge(|v| v.queue_depth),
    ),
    family(
        "stead_queue_rejected",
        true,
        "Requests refused because a model's queue was full.",
        Kind::Counter(|v| v.queue_rejected),
    ),
    family(
        "stead_deadline_exceeded",
        true,
        "Requests whose deadline passed.",
        Kind::Counter(|v| v.deadline_exceeded),
    ),
    family(
        "stead_cancelled",
        true,
        "Requests that callers gave up.",
        Kind::Counter(|v| v.cancelled),
    ),
    family(
        "stead_batch_size",
        true,
        "Elements along the batch axis of each execution.",
        Kind::Histogram(|v| &v.batch_size),
    ),
    family("stead_plans", true, "Plans held by the engine.", Kind::Gauge(|v| v.plans)),
    family("stead_plan_hits", true, "Runs that found their plan.", Kind::Counter(|v| v.plan_hits)),
    family(
        "stead_plan_misses",
        true,
        "Runs that had to make a plan.",
        Kind::Counter(|v| v.plan_misses),
    ),
    family(
        "stead_plan_evictions",
        true,
        "Plans dropped to stay below the limit.",
        Kind::Counter(|v| v.plan_evictions),
    ),
    family(
        "stead_pool_threads",
        true,
        "Threads of the CPU pool.",
        Kind::Process(|s| s.pool_threads),
    ),
    family(
        "stead_pool_queued",
        true,
        "Tasks that wait for a thread of the CPU pool.",
        Kind::Process(|s| s.pool_queued),
    ),
];
