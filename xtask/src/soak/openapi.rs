//! `cargo xtask soak openapi`: requests made of the OpenAPI documents of a server, for minutes.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Outcome, paths, process, python};

/// The documents that the test goes through: those of models, documents and deployments.
const DOCUMENTS: u64 = 3;

/// Makes requests for so many seconds in all.
pub fn run(seconds: u64, seed: Option<u64>) -> Outcome {
    let python = python::environment("openapi")?;
    process::build()?;
    // Seeds follow the clock, so that every soak sees new ones.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = seed.unwrap_or(since_1970.as_secs() % 1_000_000_000);
    println!("requests of the OpenAPI documents: STEAD_SEED={seed}");
    let tests = paths::root().join("tests/python");
    let mut test = Command::new(python);
    test.arg(tests.join("run.py"))
        .arg(tests.join("clients/openapi_schemathesis.py"))
        .env("STEAD_BIN", paths::stead("debug"))
        .env("STEAD_TEST_DATA", paths::target())
        .env("STEAD_OPENAPI_SECONDS", (seconds / DOCUMENTS).max(1).to_string())
        .env("STEAD_SEED", seed.to_string());
    process::stream(&mut test, "schemathesis", |_| {})
}
