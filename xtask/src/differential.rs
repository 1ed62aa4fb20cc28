//! Random one-node models against ONNX Runtime, or the evaluator of onnx where that is nearer to the standard.

use std::fs;
use std::process::Command;

use crate::tally::Tally;
use crate::{paths, process, python};

/// Models of a round.
pub const CASES: u64 = 1000;

/// Makes `cases` models from `seed` on, runs them with the binary of `profile` and counts. Models that fail stay in
/// `target/differential/<seed>`, the others are removed.
pub fn round(profile: &str, seed: u64, cases: u64) -> Result<Tally, String> {
    let folder = paths::target().join("differential").join(seed.to_string());
    let _ = fs::remove_dir_all(&folder); // absent the first time
    let script = paths::root().join("tests/python/tools/differential.py");
    let mut make = Command::new(python::environment("onnx")?);
    make.arg(script).arg(&folder).args([seed.to_string(), cases.to_string()]);
    process::run(&mut make, "differential.py")?;
    let mut check = Command::new(paths::stead(profile));
    // Sums in another order differ in the last bits, which matters beside a result near zero.
    check.arg("conformance").arg(&folder).args(["--atol", "1e-5", "--list-failures"]);
    let mut tally = Tally::default();
    process::stream(&mut check, "stead conformance", |line| {
        tally = Tally::parse(line).unwrap_or(tally);
    })?;
    if tally.failed == 0 {
        let _ = fs::remove_dir_all(&folder); // only disk space
    }
    Ok(tally)
}
