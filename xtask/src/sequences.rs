//! `cargo xtask bench sequences`: how many real-time sequences a server on this machine keeps up with.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::{Outcome, paths, process};

/// Where a search begins, and the steps of each trial: 10 s, or 3 s for a first look.
const FIRST: &str = "250";
const STEPS: [&str; 2] = ["312", "94"];

/// Title of the section in the results.
const TITLE: &str = "Sequences";

/// Each protocol with the port that it is spoken on.
const PROTOCOLS: [(&str, bool); 3] = [("http", false), ("grpc", true), ("grpc-stream", true)];

/// Builds the release binary, measures and writes the section.
pub fn run(quick: bool) -> Outcome {
    let mut build = process::cargo();
    process::run(build.args(["build", "--release", "--package", "stead"]), "cargo build")?;
    let stead = paths::stead("release");
    let folder = paths::target().join("bench-sequences");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let config = folder.join("config.json");
    fs::write(&config, settings()?).map_err(|e| format!("{}: {e}", config.display()))?;

    let steps = STEPS[usize::from(quick)];
    let mut rows = Vec::new();
    for (protocol, is_grpc) in PROTOCOLS {
        let server = Server::start(&stead, &config)?;
        let port = if is_grpc { &server.grpc } else { &server.rest };
        let mut load = Command::new(&stead);
        load.args(["bench", "--target", &format!("http://127.0.0.1:{port}"), "--model", "vad"])
            .args(["--protocol", protocol, "--sequences", FIRST, "--interval", "32ms", "--json"])
            .args(["--find-largest", "--steps", steps, "--expect"])
            .arg(&config);
        let answer = process::capture(&mut load, "stead bench")?;
        let answer: Value =
            serde_json::from_str(&answer).map_err(|e| format!("stead bench: {e}"))?;
        rows.push(row(protocol, &answer));
        println!("{}", rows[rows.len() - 1]);
    }
    write(&rows, steps)?;
    Ok(true)
}

/// The example's config.json, its path absolute and its limits out of the way.
fn settings() -> Result<String, String> {
    let example = paths::root().join("examples/voice-activity");
    let file = example.join("config.json");
    let text = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut config: Value =
        serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    let model = &mut config["model_config_list"][0]["config"];
    model["base_path"] = json!(example.join("models/vad"));
    model["max_sequence_number"] = json!(200_000);
    model["stead"]["max_queue_size"] = json!(100_000);
    Ok(config.to_string())
}

/// One line of the table: the numbers of the largest load that was fine.
fn row(protocol: &str, answer: &Value) -> String {
    let largest = &answer["largest"];
    let trials = answer["trials"].as_array().map(Vec::as_slice).unwrap_or_default();
    let best = trials.iter().rev().find(|t| t["sequences"] == *largest);
    let number = |key: &str| match best.and_then(|t| t[key].as_f64()) {
        Some(value) => format!("{value:.2}"),
        None => "-".to_owned(),
    };
    let per_second = best.and_then(|t| t["steps_per_s"].as_f64()).unwrap_or(0.0);
    let numbers = ["p50_ms", "p99_ms", "p99_9_ms", "max_ms"].map(number).join(" | ");
    format!("| {protocol} | {largest} | {per_second:.0} | {numbers} |")
}

/// Replaces the section in `bench/RESULTS.md`, where it stands between its neighbours in alphabetical order.
fn write(rows: &[String], steps: &str) -> Result<(), String> {
    let file = paths::root().join("bench/RESULTS.md");
    let bad = |e: std::io::Error| format!("{}: {e}", file.display());
    let old = fs::read_to_string(&file).map_err(bad)?;
    let mut parts = old.split("\n## ");
    let head = parts.next().unwrap_or_default().trim_end().to_owned();
    let mut sections: Vec<String> = parts
        .filter(|p| !p.starts_with(&format!("{TITLE}\n")))
        .map(|p| p.trim_end().to_owned())
        .collect();
    sections.push(section(rows, steps));
    sections.sort_unstable();
    let text: String = sections.iter().map(|s| format!("\n## {s}\n")).collect();
    fs::write(&file, format!("{head}\n{text}")).map_err(bad)
}

fn section(rows: &[String], steps: &str) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let git = |args: &[&str]| {
        let output = Command::new("git").current_dir(paths::root()).args(args).output();
        output.map_or_else(
            |_| String::new(),
            |o| String::from_utf8_lossy(&o.stdout).trim().to_owned(),
        )
    };
    let (commit, date) =
        (git(&["rev-parse", "--short", "HEAD"]), git(&["log", "-1", "--format=%cs"]));
    format!(
        "{TITLE}\n\n{cores} cores shared with the generator, load {load}, commit {commit} of {date}\n\n\
         The most sequences of `examples/voice-activity` (silero at 16 kHz, a step each 32 ms) with a p99 of at most \
         32 ms, by `stead bench --target ... --find-largest`: open loop, latency from the time at which a step was \
         due, every answer equal to the model's in process, {steps} steps of each sequence. Goal: 1,000 over gRPC streaming.\n\n\
         | protocol | sequences | steps/s | p50 ms | p99 ms | p99.9 ms | max ms |\n|---|---|---|---|---|---|---|\n{}",
        rows.join("\n")
    )
}

/// A server that ends with this value.
struct Server {
    process: Child,
    rest: String,
    grpc: String,
}

impl Server {
    fn start(stead: &Path, config: &Path) -> Result<Server, String> {
        let free = || TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr());
        let (rest, grpc) = (free(), free());
        let port = |a: std::io::Result<std::net::SocketAddr>| {
            a.map(|a| a.port().to_string()).map_err(|e| format!("no free port: {e}"))
        };
        let (rest, grpc) = (port(rest)?, port(grpc)?);
        let mut command = Command::new(stead);
        command.arg("serve").arg("--config_path").arg(config);
        command.args(["--rest_port", &rest, "--port", &grpc]).stderr(Stdio::piped());
        let mut process = command.spawn().map_err(|e| format!("stead serve: {e}"))?;
        let stderr = process.stderr.take();
        let server = Server { process, rest, grpc };
        let mut log = BufReader::new(stderr.ok_or("stead serve has no log")?);
        let mut seen = String::new();
        while !(seen.contains("HTTP on") && seen.contains("gRPC on")) {
            let read = log.read_line(&mut seen).map_err(|e| format!("stead serve: {e}"))?;
            if read == 0 {
                return Err(format!("stead serve ended: {seen}"));
            }
        }
        // The rest of the log must be read, or the server would wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
