//! The one table of values that Vespa's metrics APIs show (the names: Vespa, `metrics/src/main/java/ai/vespa/metrics/`).

use crate::metrics::unix_seconds;
use stead_node::{DocumentMetrics, KindMetrics, Lately, Meter, MetricsSnapshot, Summary};

/// What is said of the values of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names tell.
pub enum Suffix {
    Count,
    Rate,
    Sum,
    Average,
    Min,
    Max,
    Last,
    P95,
    P99,
}

use Suffix::{Average, Count, Last, Max, Min, P95, P99, Rate, Sum};

impl Suffix {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Count => "count",
            Rate => "rate",
            Sum => "sum",
            Average => "average",
            Min => "min",
            Max => "max",
            Last => "last",
            P95 => "95percentile",
            P99 => "99percentile",
        }
    }

    /// What it is of values within some seconds.
    pub fn of(self, values: &Summary, seconds: f64) -> f64 {
        match self {
            Count => values.count as f64,
            Rate => values.count as f64 / seconds,
            Sum => values.sum,
            Average => values.average(),
            Min if values.count == 0 => 0.0,
            Min => values.min,
            Max => values.max,
            Last => values.last,
            P95 => values.percentile(0.95),
            P99 => values.percentile(0.99),
        }
    }
}

/// Where values come from, and of what they are.
#[derive(Debug, Clone, Copy)]
pub enum Of {
    /// Of all requests.
    Meter(Meter),
    /// Of the node at the moment.
    Node(fn(&MetricsSnapshot, &DocumentMetrics) -> f64),
    /// Of the documents of a type at the moment.
    Kind(fn(&KindMetrics) -> f64),
}

/// A metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What is said of its values.
    pub suffixes: &'static [Suffix],
    /// What it measures, with the unit.
    #[allow(dead_code)] // The documentation is made of it, by a test.
    pub about: &'static str,
    /// Where its values come from.
    pub of: Of,
}

const COUNTED: &[Suffix] = &[Count, Rate];
const TIMED: &[Suffix] = &[Count, Sum, Average, Max, P95, P99];
const SPREAD: &[Suffix] = &[Count, Sum, Average, Max];
const NOW: &[Suffix] = &[Last, Max];

const fn row(
    name: &'static str,
    suffixes: &'static [Suffix],
    about: &'static str,
    of: Of,
) -> Metric {
    Metric { name, suffixes, about, of }
}

/// All metrics.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    row("queries", COUNTED, "searches", Of::Meter(Meter::Queries)),
    row("query_latency", TIMED, "milliseconds of a search, without HTTP and the text of the result", Of::Meter(Meter::QueryLatency)),
    row("failed_queries", COUNTED, "searches with an error", Of::Meter(Meter::FailedQueries)),
    row("degraded_queries", COUNTED, "searches that did not come to all documents", Of::Meter(Meter::DegradedQueries)),
    row("empty_results", COUNTED, "searches without a match", Of::Meter(Meter::EmptyResults)),
    row("hits_per_query", SPREAD, "hits in a result", Of::Meter(Meter::HitsPerQuery)),
    row("totalhits_per_query", SPREAD, "matches of a search", Of::Meter(Meter::TotalHitsPerQuery)),
    row("feed.operations", COUNTED, "operations with documents that were done, however they came", Of::Meter(Meter::FeedOperations)),
    row("feed.latency", TIMED, "milliseconds until such an operation was durable and seen", Of::Meter(Meter::FeedLatency)),
    row("httpapi_latency", TIMED, "milliseconds of an operation of `/document/v1`", Of::Meter(Meter::ApiLatency)),
    row("httpapi_num_operations", COUNTED, "operations of `/document/v1`", Of::Meter(Meter::ApiOperations)),
    row("httpapi_num_puts", COUNTED, "puts among them", Of::Meter(Meter::ApiPuts)),
    row("httpapi_num_updates", COUNTED, "updates among them", Of::Meter(Meter::ApiUpdates)),
    row("httpapi_num_removes", COUNTED, "removes among them", Of::Meter(Meter::ApiRemoves)),
    row("httpapi_succeeded", COUNTED, "those that succeeded", Of::Meter(Meter::ApiSucceeded)),
    row("httpapi_not_found", COUNTED, "those whose document was not there", Of::Meter(Meter::ApiNotFound)),
    row("httpapi_condition_not_met", COUNTED, "those whose condition did not hold", Of::Meter(Meter::ApiConditionNotMet)),
    row("httpapi_parse_error", COUNTED, "those that could not be read", Of::Meter(Meter::ApiParseError)),
    row("httpapi_failed", COUNTED, "those that failed in another way, too many at once among them", Of::Meter(Meter::ApiFailed)),
    row("httpapi_failed_timeout", COUNTED, "those that took too long", Of::Meter(Meter::ApiTimeout)),
    row("httpapi_failed_insufficient_storage", COUNTED, "those that there was no room for", Of::Meter(Meter::ApiNoRoom)),
    row("httpapi_pending", NOW, "operations that are not yet done", Of::Node(|_, documents| documents.pending as f64)),
    row("http.status.1xx", COUNTED, "answers of the query port by their status", Of::Meter(Meter::Http1xx)),
    row("http.status.2xx", COUNTED, "the same", Of::Meter(Meter::Http2xx)),
    row("http.status.3xx", COUNTED, "the same", Of::Meter(Meter::Http3xx)),
    row("http.status.4xx", COUNTED, "the same", Of::Meter(Meter::Http4xx)),
    row("http.status.5xx", COUNTED, "the same", Of::Meter(Meter::Http5xx)),
    row("jdisc.http.latency", TIMED, "milliseconds from the head of a request to the begin of its answer", Of::Meter(Meter::HttpLatency)),
    row("jdisc.thread_pool.size", NOW, "threads that compute", Of::Node(|all, _| all.pool_threads as f64)),
    row("jdisc.thread_pool.work_queue.size", NOW, "tasks that wait for one", Of::Node(|all, _| all.pool_queued as f64)),
    row("content.proton.documentdb.documents.total", NOW, "documents", Of::Kind(|kind| kind.documents as f64)),
    row("content.proton.documentdb.documents.ready", NOW, "the same: all are ready", Of::Kind(|kind| kind.documents as f64)),
    row("content.proton.documentdb.documents.active", NOW, "the same: all are searched", Of::Kind(|kind| kind.documents as f64)),
    row("content.proton.documentdb.memory_usage.allocated_bytes", NOW, "bytes of documents in memory: attributes, indexes, ids, and bodies and `paged` attributes that are not on disk yet", Of::Kind(|kind| kind.bytes as f64)),
    row("content.proton.documentdb.disk_usage", NOW, "bytes of snapshots on disk, of all types together", Of::Node(|_, documents| documents.snapshots.disk_bytes as f64)),
    row("stead.feed.refused", COUNTED, "operations with documents that were refused, with 429, because too many were not yet done", Of::Meter(Meter::FeedRefused)),
    row("stead.expiry.removed", NOW, "documents that were removed because no selection selected them any more, since the process began", Of::Kind(|kind| kind.expiry.removed as f64)),
    row("stead.expiry.last_run", NOW, "when all documents were looked at for that for the last time, in seconds since 1970; 0 if they never were", Of::Kind(|kind| unix_seconds(kind.expiry.last_run) as f64)),
    row("stead.expiry.last_removed", NOW, "documents that were removed that time", Of::Kind(|kind| kind.expiry.last_removed as f64)),
    row("stead.kept_values.bytes", NOW, "bytes of what models have computed of documents alone and keep for later queries", Of::Node(|_, documents| documents.kept.bytes as f64)),
    row("stead.kept_values.limit_bytes", NOW, "bytes that may be kept", Of::Node(|_, documents| documents.kept.limit as f64)),
    row("stead.kept_values.hits", NOW, "documents of which a model found what it keeps, since the application was deployed", Of::Node(|_, documents| documents.kept.found as f64)),
    row("stead.kept_values.misses", NOW, "documents of which a model had to compute it, since the application was deployed", Of::Node(|_, documents| documents.kept.missed() as f64)),
    row("stead.snapshots.written", NOW, "snapshots that were written since the documents were opened", Of::Node(|_, documents| documents.snapshots.written as f64)),
    row("stead.snapshots.failed", NOW, "snapshots that could not be written", Of::Node(|_, documents| documents.snapshots.failed as f64)),
    row("stead.snapshots.written_bytes", NOW, "bytes that were written for them", Of::Node(|_, documents| documents.snapshots.written_bytes as f64)),
    row("stead.snapshots.lsn", NOW, "the last record of the log that the newest snapshot has", Of::Node(|_, documents| documents.snapshots.lsn as f64)),
    row("stead.paged.bytes", NOW, "bytes of columns of `paged` attributes that were read from disk and are in memory, of all types together", Of::Node(|_, documents| documents.pages.bytes as f64)),
    row("stead.paged.reads", NOW, "columns of blocks of documents that were read since the documents were opened", Of::Node(|_, documents| documents.pages.reads as f64)),
    row("stead.paged.hits", NOW, "the same that were in memory when they were wanted", Of::Node(|_, documents| documents.pages.hits as f64)),
    row("stead.paged.vectors", NOW, "vectors that were read alone, for a graph of neighbours or few hits", Of::Node(|_, documents| documents.pages.vectors as f64)),
];

/// The values of a metric with what they are of: nothing, or a type of documents by its name and cluster.
pub fn values<'m>(
    metric: &Metric,
    all: &MetricsSnapshot,
    documents: &'m DocumentMetrics,
    lately: &Lately,
) -> Vec<(Option<&'m KindMetrics>, Summary)> {
    match metric.of {
        Of::Meter(meter) => vec![(None, lately.of(meter))],
        Of::Node(value) => vec![(None, Summary::one(value(all, documents)))],
        Of::Kind(value) => {
            documents.kinds.iter().map(|kind| (Some(kind), Summary::one(value(kind)))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{METRICS, Of};

    /// The table as Markdown, for `docs/metrics.md`.
    fn markdown() -> String {
        let mut text = String::from("| metric | values | of | |\n|---|---|---|---|\n");
        for metric in METRICS {
            let suffixes: Vec<String> =
                metric.suffixes.iter().map(|s| format!("`{}`", s.name())).collect();
            let of = match metric.of {
                Of::Meter(_) | Of::Node(_) => "server",
                Of::Kind(_) => "type of documents",
            };
            let (name, suffixes) = (metric.name, suffixes.join(" "));
            text += &format!("| `{name}` | {suffixes} | {of} | {} |\n", metric.about);
        }
        text
    }

    /// `STEAD_UPDATE_DOCS=1 cargo test -p stead-server up_to_date` rewrites the table in the page.
    #[test]
    fn the_page_is_up_to_date() {
        crate::metrics::check_page("values", &markdown());
    }

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
    }
}
