//! Whether an application is served, and which (Vespa, documentation, `reference/state-v1.html` and
//! `ApplicationStatusHandler`).

use crate::fault::Fault;
use crate::http::{Reply, Shared};
use http::StatusCode;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};
use stead_node::Code;

/// A call about the state of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusCall {
    /// `/ApplicationStatus`
    Application,
    /// `/state/v1`
    Index,
    /// `/state/v1/health`
    Health,
    /// `/state/v1/metrics`
    Metrics,
    /// `/state/v1/version`
    Version,
    /// `/state/v1/config`
    Config,
    /// `/status.html`
    Page,
}

impl StatusCall {
    /// The call of a path.
    pub fn of(path: &str) -> Option<StatusCall> {
        Some(match path {
            "/ApplicationStatus" => StatusCall::Application,
            "/state/v1" | "/state/v1/" => StatusCall::Index,
            "/state/v1/health" => StatusCall::Health,
            "/state/v1/metrics" => StatusCall::Metrics,
            "/state/v1/version" => StatusCall::Version,
            "/state/v1/config" => StatusCall::Config,
            "/status.html" => StatusCall::Page,
            _ => return None,
        })
    }
}

/// Answers on the query port, where it matters whether an application is served.
///
/// # Errors
/// [`Code::UnknownUrl`] where no applications are served.
pub fn answer(shared: &Shared, call: StatusCall) -> Result<Reply, Fault> {
    let Some(deployments) = shared.node.deployments() else {
        return Err(Fault::new(Code::UnknownUrl, "Invalid request URL"));
    };
    let active = deployments.active();
    let status = match call {
        StatusCall::Application | StatusCall::Page if active.is_none() => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        // What load balancers ask: they should send requests elsewhere.
        StatusCall::Page if shared.node.degraded().is_some() => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    };
    let meta = active.as_deref().map(|deployed| Meta {
        generation: deployed.session.0,
        millis: deployed.prepared,
        checksum: deployed.checksum,
    });
    Ok(Reply { status, ..reply(shared, call, meta)? })
}

/// Answers on the deploy port, which is there without an application too.
///
/// # Errors
/// None that happens.
pub fn answer_for_deployments(shared: &Shared, call: StatusCall) -> Result<Reply, Fault> {
    reply(shared, call, None)
}

/// Which application.
struct Meta {
    generation: u64,
    millis: u64,
    checksum: u64,
}

fn reply(shared: &Shared, call: StatusCall, meta: Option<Meta>) -> Result<Reply, Fault> {
    let version = &shared.options.version;
    let generation = meta.as_ref().map_or(0, |meta| meta.generation);
    let body = match call {
        StatusCall::Application => application(version, meta),
        StatusCall::Index => {
            let url = |name: &str| json!({"url": format!("/state/v1/{name}")});
            let resources: Value =
                ["config", "health", "metrics", "version"].map(url).into_iter().collect();
            json!({"resources": resources})
        }
        StatusCall::Health => health(status(shared, meta.is_some())),
        StatusCall::Metrics => {
            return super::metrics::state(shared, status(shared, meta.is_some()));
        }
        StatusCall::Version => json!({"version": version}),
        StatusCall::Config => json!({"config": {"generation": generation}}),
        StatusCall::Page => return Ok(Reply::text("OK\n".to_owned(), "text/plain")),
    };
    Reply::serialize(&body)
}

fn application(version: &str, meta: Option<Meta>) -> Value {
    let mut answer = json!({
        "application": {"vespa": {"version": version}, "meta": {}, "user": {"version": "unknown"}},
        "abstractComponents": [], "handlers": [], "clients": [], "servers": [],
        "httpRequestFilters": [], "httpResponseFilters": [], "processingChains": {},
    });
    if let Some(meta) = meta {
        answer["application"]["meta"] = json!({
            "name": "default", "user": "unknown", "path": "unknown",
            "generation": meta.generation, "timestamp": meta.millis,
            "checksum": format!("{:016x}", meta.checksum),
        });
    }
    answer
}

/// The status of health: whether an application is served, and whether the process should be replaced.
fn status(shared: &Shared, is_up: bool) -> Value {
    match shared.node.degraded() {
        Some(message) => json!({"code": "down", "message": message}),
        None => json!({"code": if is_up { "up" } else { "initializing" }}),
    }
}

fn health(status: Value) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    json!({"time": millis, "status": status})
}
