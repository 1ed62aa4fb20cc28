//! `/metrics/v2` and `/state/v1/metrics` (Vespa, documentation, `operations/metrics.html` and `reference/state-v1.html`; `GenericJsonModel`
//! and `StateHandler`).

mod table;

use crate::fault::Fault;
use crate::http::{Reply, Shared};
use serde_json::{Map, Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use stead_node::{Code, DocumentMetrics, KindMetrics, Lately, Meter, Meters, MetricsSnapshot};
use table::{METRICS, Suffix, values};

/// What is asked below `/metrics/v2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsCall {
    /// `/metrics/v2`
    Index,
    /// `/metrics/v2/values`
    Values,
}

impl MetricsCall {
    /// The call of a path.
    pub fn of(path: &str) -> Option<MetricsCall> {
        match path.strip_prefix("/metrics/v2")? {
            "" | "/" => Some(MetricsCall::Index),
            "/values" | "/values/" => Some(MetricsCall::Values),
            _ => None,
        }
    }
}

/// The services of Vespa whose metrics stand here: who answers, and who has the documents.
const CONTAINER: &str = "vespa.container";
const SEARCH_NODE: &str = "vespa.searchnode";

/// Answers a call below `/metrics/v2`.
///
/// # Errors
/// [`Code::UnknownUrl`] where no applications are served.
pub fn answer(shared: &Shared, call: MetricsCall) -> Result<Reply, Fault> {
    let (all, documents, lately) = measured(shared)?;
    if call == MetricsCall::Index {
        return Reply::serialize(&json!({"resources": [{"url": "/metrics/v2/values"}]}));
    }
    let time = seconds(lately.to) as u64;
    let mut services: Vec<Value> = Vec::new();
    for name in [CONTAINER, SEARCH_NODE] {
        let metrics = packets(name, &all, &documents, &lately);
        services.push(json!({
            "name": name,
            "timestamp": time,
            "status": {"code": "up", "description": "Data collected successfully"},
            "metrics": metrics,
        }));
    }
    Reply::serialize(&json!({
        "nodes": [{"hostname": "localhost", "role": "hosts/localhost", "services": services}],
    }))
}

/// Answers `/state/v1/metrics`, with the status of health.
///
/// # Errors
/// As [`answer`].
pub fn state(shared: &Shared, status: Value) -> Result<Reply, Fault> {
    const ALL: [Suffix; 7] = [
        Suffix::Average,
        Suffix::Sum,
        Suffix::Count,
        Suffix::Last,
        Suffix::Max,
        Suffix::Min,
        Suffix::Rate,
    ];
    let (all, documents, lately) = measured(shared)?;
    let period = lately.seconds();
    let mut list: Vec<Value> = Vec::new();
    for metric in METRICS {
        for (kind, summary) in values(metric, &all, &documents, &lately) {
            let is_counted =
                metric.suffixes.iter().all(|s| matches!(s, Suffix::Count | Suffix::Rate));
            let own = metric.suffixes.iter().filter(|s| matches!(s, Suffix::P95 | Suffix::P99));
            let shown: Vec<Suffix> = match is_counted {
                true => metric.suffixes.to_vec(),
                false => ALL.iter().chain(own).copied().collect(),
            };
            let pair =
                |suffix: Suffix| (suffix.name().to_owned(), number(suffix.of(&summary, period)));
            let found: Map<String, Value> = shown.into_iter().map(pair).collect();
            let mut one = json!({"name": metric.name, "values": found});
            if let Some(kind) = kind {
                one["dimensions"] = dimensions(SEARCH_NODE, Some(kind));
            }
            list.push(one);
        }
    }
    Reply::serialize(&json!({
        "time": (seconds(lately.to) * 1000.0) as u64,
        "status": status,
        "metrics": {"snapshot": {"from": seconds(lately.from), "to": seconds(lately.to)}, "values": list},
    }))
}

/// Counts an answer of the query port.
pub fn count_answer(meters: &Meters, status: u16, took: Duration) {
    let of = match status / 100 {
        1 => Meter::Http1xx,
        2 => Meter::Http2xx,
        3 => Meter::Http3xx,
        4 => Meter::Http4xx,
        _ => Meter::Http5xx,
    };
    meters.record(&[(of, 1.0), (Meter::HttpLatency, took.as_secs_f64() * 1000.0)]);
}

fn measured(shared: &Shared) -> Result<(MetricsSnapshot, DocumentMetrics, Lately), Fault> {
    let deployments = shared.node.deployments();
    let deployments =
        deployments.ok_or_else(|| Fault::new(Code::UnknownUrl, "Invalid request URL"))?;
    let lately = deployments.meters().lately();
    let mut all = shared.node.metrics();
    let documents = all.documents.take().unwrap_or_default();
    Ok((all, documents, lately))
}

/// The metrics of a service, those of the same dimensions together.
fn packets(
    service: &str,
    all: &MetricsSnapshot,
    documents: &DocumentMetrics,
    lately: &Lately,
) -> Vec<Value> {
    let mut packets: Vec<(Value, Map<String, Value>)> = Vec::new();
    for metric in METRICS.iter().filter(|metric| service_of(metric.name) == service) {
        for (kind, summary) in values(metric, all, documents, lately) {
            let of = dimensions(service, kind);
            let at = packets.iter().position(|(known, _)| *known == of).unwrap_or_else(|| {
                packets.push((of, Map::new()));
                packets.len() - 1
            });
            for suffix in metric.suffixes {
                let value = number(suffix.of(&summary, lately.seconds()));
                packets[at].1.insert(format!("{}.{}", metric.name, suffix.name()), value);
            }
        }
    }
    let packet =
        |(dimensions, values)| json!({"values": Value::Object(values), "dimensions": dimensions});
    packets.into_iter().map(packet).collect()
}

fn service_of(name: &str) -> &'static str {
    match name.starts_with("content.") || name.starts_with("stead.") {
        true => SEARCH_NODE,
        false => CONTAINER,
    }
}

fn dimensions(service: &str, kind: Option<&KindMetrics>) -> Value {
    let mut found = json!({"serviceId": service.trim_start_matches("vespa.")});
    if let Some(kind) = kind {
        found["documenttype"] = json!(kind.name);
        found["clusterId"] = json!(format!("content/{}", kind.cluster));
    }
    found
}

/// A number, whole where it is.
fn number(value: f64) -> Value {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => json!(value as i64),
        false => json!(value),
    }
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
