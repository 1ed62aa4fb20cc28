//! Clients of any server that answers a POST of JSON, in a closed loop.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use crate::Result;
use crate::load::{self, Call};
use crate::payload::post_json;

/// Posts a body to a path from some connections, and tells what a second brings and the first answer.
pub fn run(
    address: SocketAddr,
    path: &str,
    body: &str,
    connections: usize,
    seconds: f64,
) -> Result<()> {
    let call = Call::Http(post_json(path, body));
    let answer = String::from_utf8_lossy(&load::ask(address, &call)?).into_owned();
    let found = load::run(address, &call, connections, Duration::from_secs_f64(seconds))?;
    let (p50, p99) = (found.p50_us / 1e3, found.p99_us / 1e3);
    let numbers =
        json!({"per_second": found.per_second, "p50_ms": p50, "p99_ms": p99, "answer": answer});
    println!("{numbers}");
    Ok(())
}
