//! `cargo xtask bench ranking`: what rank profiles cost beside numpy, XGBoost, LightGBM and ONNX Runtime, in tables of
//! `bench/RESULTS.md`.

mod expressions;
mod forests;
mod network;
mod sizes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::results::{self, Section};
use crate::{Outcome, paths, process};

/// What can be measured on its own, in the order of the tables.
pub const PARTS: [&str; 4] = ["expressions", "forests", "network", "sizes"];

const SECTION: Section = Section {
    title: "Ranking",
    task: "ranking",
    about: "Written by `cargo xtask bench ranking`; a part named behind it (`... ranking network`) replaces its own table only. One \
            thread on all sides. Goals are those for a quiet core with AVX-512.",
    parts: &PARTS,
    by_processor: false,
};

/// What all parts share.
struct Context {
    /// Fewer rounds, for a first look.
    quick: bool,
    /// For models, packages and vectors.
    folder: PathBuf,
}

/// Builds the programs, measures the named parts, or all, and replaces their tables. A part that cannot be measured says so
/// in its table and does not stop the others; it is false then.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let folder = paths::target().join("bench-ranking");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let context = Context { quick, folder };
    results::each_part(&SECTION, parts, quick, |part| match part {
        "expressions" => expressions::table(&context),
        "forests" => forests::table(&context),
        "network" => network::table(&context),
        _ => sizes::table(&context),
    })
}

/// Makes what a peer in `bench/peers` measures with, and gives the script.
fn made(python: &Path, script: &str, folder: &Path) -> Result<PathBuf, String> {
    let script = paths::root().join("bench/peers").join(script);
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    process::run(Command::new(python).arg(&script).arg("make").arg(folder), "making models")?;
    Ok(script)
}

/// What an example of a crate prints.
fn example(package: &str, name: &str, args: &[String]) -> Result<String, String> {
    let mut cargo = process::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", package, "--example", name]);
    process::capture(cargo.arg("--").args(args), name)
}

/// The JSON that an example ends with.
fn answer(name: &str, output: &str) -> Result<Value, String> {
    let last = output.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    last.filter(Value::is_object).ok_or_else(|| format!("example {name} gave no numbers"))
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
