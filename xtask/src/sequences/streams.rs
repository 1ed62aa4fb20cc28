//! How many real-time sequences stead keeps up with, by protocol.

use std::collections::BTreeMap;
use std::path::Path;

use super::load::{self, Largest};
use super::{Context, process};
use crate::results::{Table, goal};
use crate::server::Server;

/// Where a search begins.
const FIRST: &str = "250";

/// Over gRPC streaming.
const GOAL: u64 = 1000;

const PROTOCOLS: [&str; 3] = ["http", "grpc", "grpc-stream"];

/// What has been found in this run, by protocol.
#[derive(Debug, Default)]
pub struct Streams(BTreeMap<String, Largest>);

impl Streams {
    /// The largest load over a protocol, measured unless it is known.
    pub fn over(&mut self, context: &Context, protocol: &str) -> Result<Largest, String> {
        if let Some(known) = self.0.get(protocol) {
            return Ok(known.clone());
        }
        let config = context.config("stateful.json", true)?;
        let server = start(context, &config)?;
        let expect = ["--expect", &*config.to_string_lossy()];
        let largest = load::largest(context, &server, protocol, FIRST, &expect)?;
        println!("stead {protocol}: {}", largest.sequences);
        self.0.insert(protocol.to_owned(), largest.clone());
        Ok(largest)
    }
}

/// `stead serve` with a configuration.
pub fn start(context: &Context, config: &Path) -> Result<Server, String> {
    let mut command = process::command(&context.stead, ["serve", "--config_path"]);
    command.arg(config);
    let ports = |command: &mut std::process::Command, rest: &str, grpc: &str| {
        command.args(["--rest_port", rest, "--port", grpc]);
    };
    Server::start(command, ports, &context.folder.join("stead.log"), &["HTTP on", "gRPC on"])
}

/// The table.
pub fn table(context: &Context, streams: &mut Streams) -> Result<Table, String> {
    let mut rows = Vec::new();
    for protocol in PROTOCOLS {
        let largest = streams.over(context, protocol)?;
        let wanted = match protocol {
            "grpc-stream" => format!("{GOAL} {}", goal(largest.sequences >= GOAL)),
            _ => "-".to_owned(),
        };
        let mut row = vec![protocol.to_owned(), largest.sequences.to_string(), wanted];
        row.extend(largest.numbers);
        rows.push(row);
    }
    Ok(Table {
        title: "real-time streams".to_owned(),
        note: format!(
            "The most sequences of `examples/voice-activity` (silero at 16 kHz, a step each 32 ms) with a p99 of at \
             most 32 ms, by `stead bench --target ... --find-largest` on the same machine: open loop, latency from the time at which \
             a step was due, every answer equal to the model's in process, {} steps of each sequence.",
            load::steps(context)
        ),
        header: vec![
            "protocol",
            "sequences",
            "goal",
            "steps/s",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "max ms",
        ],
        rows,
    })
}
