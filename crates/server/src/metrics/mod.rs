//! The metrics page: OpenVINO Model Server's families by their exact names, and stead's own.

mod family;
mod process;
mod text;

pub use family::{FAMILIES, Family, unix_seconds};

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

/// Checks the table of a page that is generated, or writes it with `STEAD_UPDATE_DOCS`.
#[cfg(test)]
pub fn check_page(mark: &str, table: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (start, end) = (format!("<!-- {mark}: generated -->\n"), format!("<!-- {mark}: end -->"));
    let (head, rest) = page.split_once(&start).unwrap();
    let (_, tail) = rest.split_once(&end).unwrap();
    let wanted = format!("{head}{start}{table}{end}{tail}");
    if std::env::var_os("STEAD_UPDATE_DOCS").is_some() {
        std::fs::write(path, wanted).unwrap();
    } else {
        assert_eq!(page, wanted);
    }
}
