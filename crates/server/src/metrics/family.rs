//! The one table of metric families.

use super::process;
use std::time::{SystemTime, UNIX_EPOCH};

use stead_node::{
    ComponentMetrics, DocumentMetrics, EmbedderMetrics, Histogram, KindMetrics, Meter,
    MetricsSnapshot, SequenceCounters, SequenceMetrics, VersionMetrics,
};

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
    /// A value of a stateful model version that only grows.
    SequenceCounter(fn(&SequenceCounters) -> u64),
    /// A value of a stateful model version.
    SequenceGauge(fn(&SequenceMetrics) -> u64),
    /// A distribution of a stateful model version.
    SequenceHistogram(fn(&VersionMetrics) -> &Histogram),
    /// How often something came to the documents that are served.
    Count(Meter),
    /// The sum and number of times, which the meter has in milliseconds, in microseconds.
    Times(Meter),
    /// A value of the store of documents that only grows.
    StoreCounter(fn(&DocumentMetrics) -> u64),
    /// A value of the store of documents.
    StoreGauge(fn(&DocumentMetrics) -> u64),
    /// A value of a type of documents that only grows.
    DocumentsCounter(fn(&KindMetrics) -> u64),
    /// A value of a type of documents.
    Documents(fn(&KindMetrics) -> u64),
    /// A value of a component in Python that only grows.
    ComponentCounter(fn(&ComponentMetrics) -> u64),
    /// A distribution of a component in Python.
    ComponentHistogram(fn(&ComponentMetrics) -> &Histogram),
    /// A value of an embedder that only grows.
    EmbedderCounter(fn(&EmbedderMetrics) -> u64),
    /// A distribution of an embedder.
    EmbedderHistogram(fn(&EmbedderMetrics) -> &Histogram),
    /// A value of the process.
    Process(fn(&MetricsSnapshot) -> u64),
    /// What the process has counted.
    ProcessCounter(fn(&MetricsSnapshot) -> u64),
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

/// A date in seconds since 1970; 0 for none.
pub fn unix_seconds(date: Option<SystemTime>) -> u64 {
    let since = date.map(|date| date.duration_since(UNIX_EPOCH).unwrap_or_default());
    since.unwrap_or_default().as_secs()
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
        "stead_sequence_active",
        true,
        "Sequences that live.",
        Kind::SequenceGauge(|s| s.active),
    ),
    family(
        "stead_sequence_started",
        true,
        "Sequences that began, copies and imports among them.",
        Kind::SequenceCounter(|c| c.started),
    ),
    family(
        "stead_sequence_ended",
        true,
        "Sequences that clients ended.",
        Kind::SequenceCounter(|c| c.ended),
    ),
    family(
        "stead_sequence_expired",
        true,
        "Sequences that were idle for too long.",
        Kind::SequenceCounter(|c| c.expired),
    ),
    family(
        "stead_sequence_removed",
        true,
        "Sequences that an administrator ended.",
        Kind::SequenceCounter(|c| c.removed),
    ),
    family(
        "stead_sequence_spilled",
        true,
        "Sequences whose state lies on disk.",
        Kind::SequenceGauge(|s| s.spilled),
    ),
    family(
        "stead_sequence_state_bytes",
        true,
        "Bytes of states and of answers kept for repeated steps.",
        Kind::SequenceGauge(|s| s.bytes),
    ),
    family(
        "stead_sequence_waiting",
        true,
        "Requests that wait for their turn in a sequence.",
        Kind::SequenceGauge(|s| s.waiting),
    ),
    family("stead_sequence_steps", true, "Steps done.", Kind::SequenceCounter(|c| c.steps)),
    family(
        "stead_sequence_failed",
        true,
        "Steps that failed or were cancelled while they ran; their sequences are as before.",
        Kind::SequenceCounter(|c| c.failed),
    ),
    family(
        "stead_sequence_refused",
        true,
        "Requests that a sequence refused.",
        Kind::SequenceCounter(|c| c.refused),
    ),
    family(
        "stead_sequence_replayed",
        true,
        "Repeated steps that got the answer given before.",
        Kind::SequenceCounter(|c| c.replayed),
    ),
    family(
        "stead_sequence_step_time_us",
        true,
        "Time from the arrival of a step to its answer.",
        Kind::SequenceHistogram(|v| &v.step_time_us),
    ),
    family(
        "stead_sequence_queue_time_us",
        true,
        "Time from the arrival of a step to its run: its turn in the sequence and the queue of the model.",
        Kind::SequenceHistogram(|v| &v.wait_time_us),
    ),
    family(
        "stead_sequence_batch_size",
        true,
        "Steps joined in each execution.",
        Kind::SequenceHistogram(|v| &v.joined),
    ),
    family("stead_documents", true, "Documents of a type.", Kind::Documents(|d| d.documents)),
    family(
        "stead_document_bytes",
        true,
        "Bytes of documents in memory.",
        Kind::Documents(|d| d.bytes),
    ),
    family(
        "stead_document_operations",
        true,
        "Operations with documents that were done.",
        Kind::Count(Meter::FeedOperations),
    ),
    family(
        "stead_document_operations_refused",
        true,
        "Operations with documents that were refused, with 429, because too many were not yet done.",
        Kind::Count(Meter::FeedRefused),
    ),
    family(
        "stead_document_operation_time_us",
        true,
        "Time until an operation is durable and the next search sees it.",
        Kind::Times(Meter::FeedLatency),
    ),
    family(
        "stead_document_operations_pending",
        true,
        "Operations with documents that are not yet done.",
        Kind::StoreGauge(|d| d.pending),
    ),
    family("stead_queries", true, "Searches.", Kind::Count(Meter::Queries)),
    family(
        "stead_queries_failed",
        true,
        "Searches with an error.",
        Kind::Count(Meter::FailedQueries),
    ),
    family(
        "stead_queries_degraded",
        true,
        "Searches that did not come to all documents.",
        Kind::Count(Meter::DegradedQueries),
    ),
    family(
        "stead_query_time_us",
        true,
        "Time of a search, without HTTP and the text of the result.",
        Kind::Times(Meter::QueryLatency),
    ),
    family(
        "stead_snapshots_written",
        true,
        "Snapshots of documents that were written.",
        Kind::StoreCounter(|d| d.snapshots.written),
    ),
    family(
        "stead_snapshots_failed",
        true,
        "Snapshots of documents that could not be written.",
        Kind::StoreCounter(|d| d.snapshots.failed),
    ),
    family(
        "stead_snapshot_written_bytes",
        true,
        "Bytes that were written for snapshots.",
        Kind::StoreCounter(|d| d.snapshots.written_bytes),
    ),
    family(
        "stead_snapshot_disk_bytes",
        true,
        "Bytes of snapshots on disk.",
        Kind::StoreGauge(|d| d.snapshots.disk_bytes),
    ),
    family(
        "stead_paged_bytes",
        true,
        "Bytes of columns of paged attributes that were read from disk and are in memory.",
        Kind::StoreGauge(|d| d.pages.bytes as u64),
    ),
    family(
        "stead_paged_reads",
        true,
        "Columns of paged attributes, of a block of documents each, that were read from disk.",
        Kind::StoreCounter(|d| d.pages.reads),
    ),
    family(
        "stead_paged_hits",
        true,
        "The same that were in memory when they were wanted.",
        Kind::StoreCounter(|d| d.pages.hits),
    ),
    family(
        "stead_paged_vectors",
        true,
        "Vectors of paged attributes that were read from disk alone, for a graph of neighbours or few hits.",
        Kind::StoreCounter(|d| d.pages.vectors),
    ),
    family(
        "stead_documents_expired",
        true,
        "Documents of a type that were removed because no selection selected them any more.",
        Kind::DocumentsCounter(|d| d.expiry.removed),
    ),
    family(
        "stead_expiry_last_run_timestamp_seconds",
        true,
        "When all documents of a type were looked at for the last time, in seconds since 1970; 0 if they never were.",
        Kind::Documents(|d| unix_seconds(d.expiry.last_run)),
    ),
    family(
        "stead_expiry_last_run_documents",
        true,
        "Documents of a type that were removed that time.",
        Kind::Documents(|d| d.expiry.last_removed),
    ),
    family(
        "stead_kept_value_bytes",
        true,
        "Bytes of what models have computed of documents alone and keep for later queries.",
        Kind::StoreGauge(|d| d.kept.bytes as u64),
    ),
    family(
        "stead_kept_value_limit_bytes",
        true,
        "Bytes that may be kept.",
        Kind::StoreGauge(|d| d.kept.limit as u64),
    ),
    family(
        "stead_kept_value_hits",
        true,
        "Documents of which a model found what it keeps, since the application was deployed.",
        Kind::StoreCounter(|d| d.kept.found),
    ),
    family(
        "stead_kept_value_misses",
        true,
        "Documents of which a model had to compute it, since the application was deployed.",
        Kind::StoreCounter(|d| d.kept.missed()),
    ),
    family(
        "stead_component_calls_succeeded",
        true,
        "Calls of a component that ended well.",
        Kind::ComponentCounter(|c| c.succeeded),
    ),
    family(
        "stead_component_calls_failed",
        true,
        "Calls of a component whose code raised, or gave something wrong.",
        Kind::ComponentCounter(|c| c.failed),
    ),
    family(
        "stead_component_calls_timed_out",
        true,
        "Calls of a component that missed their deadline.",
        Kind::ComponentCounter(|c| c.timed_out),
    ),
    family(
        "stead_component_calls_refused",
        true,
        "Calls of a component that were refused because too many waited.",
        Kind::ComponentCounter(|c| c.refused),
    ),
    family(
        "stead_component_queue_time_us",
        true,
        "How long calls of a component waited for an interpreter.",
        Kind::ComponentHistogram(|c| &c.queue_time_us),
    ),
    family(
        "stead_component_run_time_us",
        true,
        "How long calls of a component ran.",
        Kind::ComponentHistogram(|c| &c.run_time_us),
    ),
    family(
        "stead_embedder_texts",
        true,
        "Texts that an embedder was asked for, those that it had kept too.",
        Kind::EmbedderCounter(|e| e.texts),
    ),
    family(
        "stead_embedder_texts_failed",
        true,
        "Texts that an embedder did not embed, or not in time.",
        Kind::EmbedderCounter(|e| e.failed),
    ),
    family(
        "stead_embedder_cache_hits",
        true,
        "Texts of queries whose embedding was kept from an earlier one.",
        Kind::EmbedderCounter(|e| e.cache_hits),
    ),
    family(
        "stead_embedder_runs",
        true,
        "Runs of the model of an embedder, or calls of its code, of one or several texts.",
        Kind::EmbedderCounter(|e| e.runs),
    ),
    family(
        "stead_embedder_tokens",
        true,
        "Tokens of the texts that an embedder embedded; code does not tell how many these were.",
        Kind::EmbedderCounter(|e| e.tokens),
    ),
    family(
        "stead_embedder_queue_time_us",
        true,
        "How long texts waited for an embedder.",
        Kind::EmbedderHistogram(|e| &e.queue_time_us),
    ),
    family(
        "stead_embedder_run_time_us",
        true,
        "How long an embedder took for texts that it embedded together.",
        Kind::EmbedderHistogram(|e| &e.run_time_us),
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
    family(
        "stead_pool_nested",
        true,
        "Tasks of the CPU pool that ran in a pause of less urgent ones.",
        Kind::ProcessCounter(|s| s.pool_nested),
    ),
    family(
        "process_resident_memory_bytes",
        true,
        "Bytes of memory that the process holds; 0 where the system does not tell.",
        Kind::Process(|_| process::resident()),
    ),
    family(
        "stead_requests_refused",
        true,
        "Requests that were refused when they came, as their deadline could not be met or too many searches waited.",
        Kind::ProcessCounter(|s| s.refused),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as Markdown, for `docs/metrics.md`.
    fn markdown() -> String {
        let mut text = String::from("| metric | type | of | |\n|---|---|---|---|\n");
        for f in FAMILIES {
            let (kind, of) = match f.kind {
                Kind::Calls(_) => ("counter", "model, version, call"),
                Kind::RequestTimes => ("histogram", "model, version, interface"),
                Kind::Counter(_) => ("counter", "model, version"),
                Kind::Gauge(_) => ("gauge", "model, version"),
                Kind::Histogram(_) => ("histogram", "model, version"),
                Kind::SequenceCounter(_) => ("counter", "stateful model, version"),
                Kind::SequenceGauge(_) => ("gauge", "stateful model, version"),
                Kind::SequenceHistogram(_) => ("histogram", "stateful model, version"),
                Kind::Count(_) | Kind::StoreCounter(_) => ("counter", "documents"),
                Kind::Times(_) => ("histogram", "documents"),
                Kind::StoreGauge(_) => ("gauge", "documents"),
                Kind::DocumentsCounter(_) => ("counter", "type of documents"),
                Kind::Documents(_) => ("gauge", "type of documents"),
                Kind::ComponentCounter(_) => ("counter", "component"),
                Kind::ComponentHistogram(_) => ("histogram", "component"),
                Kind::EmbedderCounter(_) => ("counter", "embedder"),
                Kind::EmbedderHistogram(_) => ("histogram", "embedder"),
                Kind::Process(_) => ("gauge", "server"),
                Kind::ProcessCounter(_) => ("counter", "server"),
            };
            let listed = if f.default { "" } else { " Only when it is listed." };
            text += &format!("| `{}` | {kind} | {of} | {}{listed} |\n", f.name, f.help);
        }
        text
    }

    /// The table in the page is generated: `STEAD_UPDATE_DOCS=1 cargo test -p stead-server up_to_date` rewrites it.
    #[test]
    fn the_page_is_up_to_date() {
        crate::metrics::check_page("metrics", &markdown());
    }
}
