//! Developer tasks: `cargo xtask test | bench | conformance | soak`.
//!
//! What they make and fetch lies below `target/`: Python environments in `target/py/<family>`, models in
//! `target/models`, the ONNX node tests in `target/onnx-node-tests`. Every step is skipped when its result is
//! up to date, so a second run starts at once.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout)] // a command line tool speaks on stdout

mod bench;
#[path = "../../crates/stead/src/chart.rs"]
mod chart;
mod conformance;
mod context;
mod cpu;
mod differential;
mod documents;
mod engine;
mod interpreters;
mod kernels;
mod load;
mod mlserver;
mod models;
mod paths;
mod process;
mod python;
mod ranking;
mod results;
mod search;
mod sequences;
mod server;
mod soak;
mod stateless;
mod tally;
mod test;
mod tidy;
mod triton;
#[cfg(test)] // its tests run here, where nobody compiles peers for them
#[path = "../../bench/peers/turns.rs"]
mod turns;

use std::process::ExitCode;

/// What a task returns: the process succeeds if it is true.
type Outcome = Result<bool, String>;

/// One subcommand: its name, its help text and its entry point.
struct Task {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Outcome,
}

const TASKS: &[Task] = &[
    Task { name: "test", help: test::HELP, run: test::run },
    Task { name: "bench", help: bench::HELP, run: bench::run },
    Task { name: "conformance", help: conformance::HELP, run: conformance::run },
    Task { name: "soak", help: soak::HELP, run: soak::run },
];

/// Exit code of usage errors, as in the `stead` binary.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wants_help = args.iter().any(|a| a == "--help" || a == "-h");
    let Some(task) = args.first().and_then(|name| TASKS.iter().find(|t| t.name == name)) else {
        println!("Usage: cargo xtask <task> [options]\n");
        for task in TASKS {
            println!("  {:<12} {}", task.name, task.help.lines().next().unwrap_or_default());
        }
        println!("\n`cargo xtask <task> --help` tells more.");
        return if wants_help { ExitCode::SUCCESS } else { ExitCode::from(USAGE) };
    };
    if wants_help {
        println!("{}", task.help);
        return ExitCode::SUCCESS;
    }
    match (task.run)(&args[1..]) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
