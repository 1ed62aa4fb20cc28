//! Runs of `peers documents`: clients in a closed loop.

use std::fs;

use serde_json::{Value, json};

use super::Context;
use super::blog::{self, Blog};
use crate::server::Server;
use crate::{bench, process};

/// How answers are made.
pub enum Kind<'a> {
    /// The store ranks: what is asked for.
    InPlace(Value),
    /// Vectors in a form, and nothing is done with them.
    Vectors(&'a str),
    /// ONNX Runtime in the process that merges: the form of vectors, and whether posts are ranked one by one.
    Merging(&'a str, bool),
    /// The same behind HTTP.
    Served(&'a str, bool, &'a Server),
}

/// What came of it for a number of clients.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    pub clients: usize,
    pub qps: f64,
    pub mean_ms: f64,
    pub p95_ms: f64,
    /// Of the store alone, for a query.
    pub cpu_ms: f64,
    /// Of answers of the store.
    pub bytes: f64,
}

/// Measures with some numbers of clients, one after the other.
pub fn run(
    context: &Context,
    blog: &Blog,
    kind: &Kind<'_>,
    clients: &[usize],
    seconds: f64,
) -> Result<Vec<Load>, String> {
    let asked = match kind {
        Kind::InPlace(parameters) => parameters.clone(),
        Kind::Vectors(form) | Kind::Merging(form, _) | Kind::Served(form, ..) => {
            blog::candidates(form)
        }
    };
    let rank = |single: &bool| json!({"single": single, "candidates": blog::CANDIDATES, "hits": blog::HITS});
    let rank = match kind {
        Kind::InPlace(_) | Kind::Vectors(_) => Value::Null,
        Kind::Merging(_, single) => {
            let mut rank = rank(single);
            rank["model"] = json!(blog::network());
            rank
        }
        Kind::Served(_, single, server) => {
            let mut rank = rank(single);
            rank["server"] = json!(address(server));
            rank
        }
    };
    let (searches, users) = blog.searches(&asked);
    let spec = json!({
        "addresses": [address(&blog.server)], "pids": [blog.server.id()], "seconds": seconds, "clients": clients,
        "searches": searches, "users": users, "rank": rank,
    });
    let file = context.folder.join("clients.json");
    fs::write(&file, spec.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut command = bench::peers_command(&context.peers)?;
    let told = process::capture(command.arg("documents").arg(&file), "peers documents")?;
    let loads: Option<Vec<Load>> = told.lines().map(read).collect();
    loads
        .filter(|loads| loads.len() == clients.len())
        .ok_or_else(|| "peers documents gave no numbers".to_owned())
}

/// Host and port.
fn address(server: &Server) -> &str {
    server.rest.trim_start_matches("http://")
}

fn read(line: &str) -> Option<Load> {
    let line: Value = serde_json::from_str(line).ok()?;
    let number = |key: &str| line[key].as_f64();
    Some(Load {
        clients: number("clients")? as usize,
        qps: number("qps")?,
        mean_ms: number("mean_ms")?,
        p95_ms: number("p95_ms")?,
        cpu_ms: number("cpu_ms")?,
        bytes: number("bytes")?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Load, read};

    #[test]
    fn lines_are_read() {
        let line = r#"{"clients":64,"qps":100.5,"mean_ms":1,"p50_ms":1,"p95_ms":2.5,"cpu_ms":0.5,"bytes":10}"#;
        let (clients, qps, mean_ms, p95_ms, cpu_ms, bytes) = (64, 100.5, 1.0, 2.5, 0.5, 10.0);
        assert_eq!(read(line), Some(Load { clients, qps, mean_ms, p95_ms, cpu_ms, bytes }));
        assert_eq!(read("Error: broken"), None);
    }
}
