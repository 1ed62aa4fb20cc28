//! The metrics page: OpenVINO Model Server's families by their exact names, and stead's own.

mod family;
mod text;

pub use family::{FAMILIES, Family};

use crate::fault::Fault;
use crate::http::{Reply, Shared};
use text::{Dialect, render};

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether there is a metric of this name, for checks of `--metrics_list`.
pub fn is_metric(name: &str) -> bool {
    FAMILIES.iter().any(|f| f.name == name)
}

/// Answers `GET /metrics`; `accept` is the client's header.
///
/// # Errors
/// Metrics that are switched off.
pub fn answer(shared: &Shared, accept: Option<&str>) -> Result<Reply, Fault> {
    let options = &shared.options.metrics;
    if !options.enabled {
        return Err(Fault::invalid("Invalid request URL - metrics are not enabled"));
    }
    let open = accept.is_some_and(|a| a.contains("application/openmetrics-text"));
    let dialect = if open { Dialect::OpenMetrics } else { Dialect::Prometheus };
    let shown = |f: &Family| match options.list.as_slice() {
        [] => f.default,
        list => list.iter().any(|name| name == f.name),
    };
    let text = render(&shared.node.metrics(), dialect, shown);
    Ok(Reply::text(text, if open { OPEN_METRICS } else { PROMETHEUS }))
}
