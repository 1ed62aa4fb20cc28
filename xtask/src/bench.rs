//! `cargo xtask bench`: side-by-side measurements, written to `bench/RESULTS.md`.

use std::process::Command;

use crate::{Outcome, models, paths, process, python, sequences};

/// Help text.
pub const HELP: &str = "side-by-side tables against ONNX Runtime, rten, tract and bare servers

Usage: cargo xtask bench [--quick] [engine|server|sequences]

Builds bench/peers (a workspace of its own) and the release binary, measures all sides in one
process and one run, interleaved, and writes medians and ratios with the machine and the commit to
bench/RESULTS.md. ONNX Runtime is the library of the onnxruntime wheel in target/py/onnx.

  engine    only the in-process tables (MiniLM, MLP, silero)
  server    only the HTTP and gRPC tables, start time, idle memory and binary size
  sequences only the most real-time sequences by protocol, and only if it is named: it needs no peers
  --quick   a tenth of the time, for a first look";

/// Runs the task.
pub fn run(args: &[String]) -> Outcome {
    if args.iter().any(|a| a == "sequences") {
        return sequences::run(args.iter().any(|a| a == "--quick"));
    }
    let peers = paths::root().join("bench/peers");
    if !peers.exists() {
        return Err("bench/peers is missing".to_owned());
    }
    let python = python::environment("onnx")?;
    let (silero, minilm, mlp) = (models::silero()?, models::minilm()?, models::mlp()?);
    process::run(
        process::cargo().args(["build", "--release", "--package", "stead"]),
        "cargo build",
    )?;
    let mut build = process::cargo();
    build
        .current_dir(&peers)
        .args(["build", "--release"])
        .arg("--target-dir")
        .arg(paths::target().join("peers"));
    process::run(&mut build, "cargo build of bench/peers")?;
    let mut command = Command::new(paths::target().join("peers/release/peers"));
    command
        .args(args)
        .arg("--results")
        .arg(paths::root().join("bench/RESULTS.md"))
        .env("ORT_DYLIB_PATH", onnxruntime_library(&python)?)
        .env("STEAD_BIN", paths::stead("release"))
        .env("STEAD_SILERO", silero)
        .env("STEAD_MINILM", minilm)
        .env("STEAD_MLP", mlp);
    process::run(&mut command, "bench/peers")?;
    Ok(true)
}

/// The shared library inside the onnxruntime wheel.
fn onnxruntime_library(python: &std::path::Path) -> Result<String, String> {
    let script = "import glob, os, onnxruntime; \
                  print(sorted(glob.glob(os.path.join(os.path.dirname(onnxruntime.__file__), 'capi', 'libonnxruntime.so*')))[0])";
    let path = process::capture(
        Command::new(python).args(["-c", script]),
        "finding the onnxruntime library",
    )?;
    Ok(path.trim().to_owned())
}
