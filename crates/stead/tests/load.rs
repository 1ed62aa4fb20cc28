//! `stead bench --target` against a server, both the real binary.

#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use stead_onnx::ModelBuilder;
use stead_tensor::DType;

use crate::server::ports::free_port;

/// A model that adds up what it is sent, times a factor.
fn write_sum(folder: &Path, name: &str, factor: f32) -> PathBuf {
    let factor = stead_tensor::Tensor::from_slice(&[factor], &[1]).unwrap();
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["batch", "2"])
        .input("state", DType::F32, &["batch", "2"])
        .init("factor", factor)
        .node("Add", &["x", "state"], &["state_out"])
        .node("Mul", &["state_out", "factor"], &["y"])
        .output("y", DType::F32)
        .output("state_out", DType::F32)
        .bytes();
    let version = folder.join(name).join("1");
    std::fs::create_dir_all(&version).unwrap();
    std::fs::write(version.join("model.onnx"), model).unwrap();
    version.join("model.onnx")
}

struct Server {
    process: Child,
    rest: String,
    grpc: String,
    right: PathBuf,
    wrong: PathBuf,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start(options: &[&str]) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let right = write_sum(folder.path(), "sum", 1.0);
        let wrong = write_sum(folder.path(), "other", 1.5);
        let [rest, grpc] = [free_port(), free_port()];
        let mut process = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["serve", "--model_name", "sum", "--model_path"])
            .arg(folder.path().join("sum"))
            .args(["--rest_port", &rest, "--port", &grpc])
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let mut seen = String::new();
        while !(seen.contains("HTTP on") && seen.contains("gRPC on")) {
            assert!(log.read_line(&mut seen).unwrap() > 0, "the server has ended: {seen}");
        }
        // The rest of the log must be read, or the server would wait for a reader.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let [rest, grpc] = [rest, grpc].map(|port| format!("http://127.0.0.1:{port}"));
        Server { process, rest, grpc, right, wrong, _folder: folder }
    }

    fn bench(&self, protocol: &str, args: &[&str], expect: &Path) -> (Output, Value) {
        let target = if protocol == "http" { &self.rest } else { &self.grpc };
        let output = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["bench", "--target", target, "--model", "sum", "--protocol", protocol, "--json"])
            .args(args)
            .arg("--expect")
            .arg(expect)
            .output()
            .unwrap();
        let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output, report)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const PROTOCOLS: [&str; 3] = ["http", "grpc", "grpc-stream"];

#[test]
fn every_answer_is_compared_over_every_protocol() {
    let server = Server::start(&["--stateful"]);
    let load = ["--sequences", "20", "--steps", "10", "--interval", "20ms"];
    for protocol in PROTOCOLS {
        let (output, report) = server.bench(protocol, &load, &server.right);
        assert!(output.status.success(), "{protocol}: {output:?}");
        let counts = ["sequences", "steps", "errors", "mismatches"].map(|key| report[key].as_u64());
        assert_eq!(counts, [Some(20), Some(200), Some(0), Some(0)], "{protocol}: {report}");
        assert!(report["p50_ms"].as_f64() <= report["p99_ms"].as_f64(), "{protocol}: {report}");
        // The load takes as long as planned: 9 intervals, and the spread of the starts.
        assert!(report["seconds"].as_f64().unwrap() >= 0.199, "{protocol}: {report}");

        let (output, report) = server.bench(protocol, &load, &server.wrong);
        assert_eq!(output.status.code(), Some(1), "{protocol}");
        assert_eq!(report["mismatches"], 200, "{protocol}: {report}");
        let first = report["first_error"].as_str().unwrap();
        // Which sequence is answered first is for the machine to say.
        let told = first.starts_with("step ") && first.contains(": output `y`: value 0 is ");
        assert!(told && first.contains(" of sequence number "), "{first}");
    }
}

#[test]
fn refused_sequences_are_counted_and_limit_the_search() {
    let server = Server::start(&["--stateful", "--max_sequence_number", "6"]);
    for protocol in PROTOCOLS {
        let load = ["--sequences", "8", "--steps", "4", "--interval", "300ms"];
        let (output, report) = server.bench(protocol, &load, &server.right);
        assert_eq!(output.status.code(), Some(1), "{protocol}");
        let counts = ["steps", "errors", "mismatches"].map(|key| report[key].as_u64());
        assert_eq!(counts, [Some(24), Some(2), Some(0)], "{protocol}: {report}");
    }
    let search = ["--sequences", "2", "--steps", "3", "--interval", "400ms", "--find-largest"];
    let (output, report) = server.bench("grpc-stream", &search, &server.right);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(report["largest"], 6, "{report}");
    assert!(report["limited_by"].as_str().unwrap().contains("sequence"), "{report}");
}

#[test]
fn a_client_carries_the_state_that_a_server_does_not_keep() {
    let server = Server::start(&[]);
    let load = ["--sequences", "10", "--steps", "6", "--interval", "20ms"];
    for protocol in ["http", "grpc"] {
        let carry = [&load[..], &["--carry", "state=state_out"]].concat();
        let (output, report) = server.bench(protocol, &carry, &server.right);
        assert!(output.status.success(), "{protocol}: {output:?}");
        let counts = ["sequences", "steps", "errors", "mismatches"].map(|key| report[key].as_u64());
        assert_eq!(counts, [Some(10), Some(60), Some(0), Some(0)], "{protocol}: {report}");

        // The states are those that the server answers: its own factor, not that of the other model.
        let (output, report) = server.bench(protocol, &carry, &server.wrong);
        assert_eq!(output.status.code(), Some(1), "{protocol}");
        assert_eq!(report["mismatches"], 60, "{protocol}: {report}");

        // The first step sends what --input gives.
        let from_one = [&carry[..], &["--input", "state=[[1, 1]]"]].concat();
        let (output, report) = server.bench(protocol, &from_one, &server.right);
        assert_eq!((output.status.code(), &report["mismatches"]), (Some(0), &json!(0)), "{report}");
    }
    let cases = [
        ("grpc-stream", "state=state_out", "need each answer"),
        ("http", "h=state_out", "no input `h`"),
        ("http", "state=hN", "no output `hN`"),
        ("http", "state", "INPUT=OUTPUT"),
    ];
    for (protocol, pair, expected) in cases {
        let args = [&load[..], &["--carry", pair]].concat();
        let (output, _) = server.bench(protocol, &args, &server.right);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(64), "{protocol} {pair}: {text}");
        assert!(text.contains(expected), "{protocol} {pair}: {text}");
    }
}

#[test]
fn a_closed_loop_sends_when_it_is_answered() {
    let server = Server::start(&[]);
    for protocol in ["http", "grpc"] {
        let load = ["--concurrency", "3", "--steps", "40"];
        let (output, report) = server.bench(protocol, &load, &server.right);
        assert!(output.status.success(), "{protocol}: {output:?}");
        let counts = ["concurrency", "steps", "errors", "mismatches"].map(|k| report[k].as_u64());
        assert_eq!(counts, [Some(3), Some(120), Some(0), Some(0)], "{protocol}: {report}");
        assert!(report["late"].is_null() && report["steps_per_s"].as_f64() > Some(0.0), "{report}");

        let (output, report) = server.bench(protocol, &load, &server.wrong);
        assert_eq!((output.status.code(), &report["mismatches"]), (Some(1), &json!(120)));
    }
    let (output, _) = server.bench("grpc-stream", &["--concurrency", "1"], &server.right);
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn wrong_usage_is_told() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&[], 64, "MODEL"),
        (&["m.onnx", "--target", "http://127.0.0.1:1", "--model", "m"], 64, "cannot be used with"),
        (&["--target", "http://127.0.0.1:1"], 64, "--model"),
        (&["m.onnx", "--sequences", "5"], 64, "--target"),
        (&["--target", "http://127.0.0.1:1", "--model", "m"], 64, "--sequences"),
        (
            &[
                "--target",
                "http://127.0.0.1:1",
                "--model",
                "m",
                "--concurrency",
                "1",
                "--sequences",
                "1",
            ],
            64,
            "cannot be used with",
        ),
        (
            &["--target", "http://127.0.0.1:1", "--model", "m", "--sequences", "1"],
            1,
            "is the server running",
        ),
        (
            &["--target", "127.0.0.1:1", "--model", "m", "--sequences", "1", "--protocol", "grpc"],
            1,
            "no gRPC answer",
        ),
    ];
    for (args, code, expected) in cases {
        let output =
            Command::new(env!("CARGO_BIN_EXE_stead")).arg("bench").args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}
