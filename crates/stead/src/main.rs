//! The `stead` command: runs ONNX models and serves them.
//!
//! Nothing here is worth testing alone but the command line itself: the engine, the node and the protocols
//! are crates of their own.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)] // a command line tool speaks on stdout

mod chart;
mod cli;
mod commands;
mod conformance;
mod demo;
mod failure;
mod http_client;
mod inputs;
mod kept_connection;
mod load;
mod measure;
mod onnxruntime;
mod packed;
mod replay;
mod serve;
mod values;

use std::process::ExitCode;

/// Requests make and drop many short-lived buffers on many threads, for which mimalloc is about a third
/// quicker than the allocator of glibc and keeps less memory.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    failure::end_without_readers();
    cli::main(std::env::args_os().collect())
}
