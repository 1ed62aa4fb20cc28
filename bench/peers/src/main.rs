//! Side-by-side measurements for `cargo xtask bench`, which builds this and sets the variables it reads.
//!
//! ```text
//! peers server [--quick] --results FILE
//! peers engine CASE.json                                   (engines in turn on one model, a line of JSON)
//! peers memory stead|onnxruntime CASE.json                 (peak memory of one engine, bytes)
//! peers documents SPEC.json                             (clients of a search, a line of JSON for each number of them)
//! peers feed fjall|sqlite FOLDER DOCUMENTS WAITING         (documents made durable, a line of JSON)
//! peers visible ADDRESS CLIENTS SECONDS FIRST              (puts, each searched for when it is acknowledged, a line of JSON)
//! peers post ADDRESS PATH BODY CONNECTIONS SECONDS         (clients of any server, a line of JSON)
//! peers embed MODEL IDS.json THREADS                        (texts embedded by ONNX Runtime as standard input asks, seconds)
//! peers front MODEL SESSIONS THREADS PORT                  (ONNX Runtime behind HTTP; 0 threads: its default)
//! peers batch [--quick]                                    (silero at batch 32, a line of JSON)
//! peers echo|http|grpc PORT REQUEST_BYTES ANSWER_BYTES     (the bare servers, as child processes)
//! ```

mod bare;
mod documents;
#[cfg(feature = "engines")]
mod engine;
mod feed;
mod http;
mod load;
mod payload;
mod report;
#[cfg(feature = "engines")]
mod rust_peers;
mod server;
mod stateless;
#[cfg_attr(not(feature = "engines"), allow(dead_code))] // engines take turns
#[path = "../turns.rs"]
mod turns;
mod visible;

/// In the place of what is left out.
#[cfg(not(feature = "engines"))]
mod engine {
    use std::path::Path;

    use crate::Result;

    pub fn batch(_: usize) -> Result<String> {
        Err("built without the feature `engines`".into())
    }

    pub fn run(_: &Path) -> Result<String> {
        batch(0)
    }

    pub fn memory(_: &str, _: &Path) -> Result<String> {
        batch(0)
    }
}

use std::time::Duration;

/// Errors are only ever printed.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [kind @ ("echo" | "http" | "grpc"), port, request, answer] => {
            return bare::serve(kind, port.parse()?, request.parse()?, answer.parse()?);
        }
        ["engine", case] => {
            println!("{}", engine::run(case.as_ref())?);
            return Ok(());
        }
        ["memory", engine, case] => {
            println!("{}", engine::memory(engine, case.as_ref())?);
            return Ok(());
        }
        ["documents", spec] => return documents::run(spec.as_ref()),
        ["feed", engine, folder, count, waiting] => {
            return feed::run(engine, folder.as_ref(), count.parse()?, waiting.parse()?);
        }
        ["post", address, path, body, connections, seconds] => {
            let (connections, seconds) = (connections.parse()?, seconds.parse()?);
            return http::run(address.parse()?, path, body, connections, seconds);
        }
        ["embed", model, ids, threads] => {
            return stateless::embed::run(model.as_ref(), ids.as_ref(), threads.parse()?);
        }
        ["front", model, sessions, threads, port] => {
            let (sessions, threads) = (sessions.parse()?, threads.parse()?);
            return stateless::front::serve(model.as_ref(), port.parse()?, sessions, threads);
        }
        ["visible", address, clients, seconds, first] => {
            let (clients, seconds) = (clients.parse()?, seconds.parse()?);
            return visible::run(address.parse()?, clients, seconds, first.parse()?);
        }
        _ => {}
    }
    let has = |name: &str| args.iter().any(|a| a == name);
    let seconds = if has("--quick") { 0.5 } else { 5.0 };
    let budget = Duration::from_secs_f64(seconds);
    if has("batch") {
        println!("{}", engine::batch(if has("--quick") { 5 } else { 30 })?);
        return Ok(());
    }
    let mut report = report::Report::new();
    server::run(&mut report, budget)?;
    print!("{}", report.text());
    if let Some(at) = args.iter().position(|a| a == "--results") {
        let path = args.get(at + 1).ok_or("--results needs a file")?;
        report.merge_into(path)?;
    }
    Ok(())
}

/// A variable that `cargo xtask bench` sets.
pub fn variable(name: &str) -> Result<String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: run cargo xtask bench").into())
}
