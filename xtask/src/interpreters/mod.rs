//! `cargo xtask bench python`: what private interpreters give and cost, in tables of `bench/RESULTS.md`.

mod calls;
mod http;
mod memory;
mod models;
mod pauses;
mod scaling;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::results::{self, Section};
use crate::{Outcome, paths, process, python};

/// What can be measured on its own, in the order of the tables.
pub const PARTS: [&str; 6] = ["scaling", "calls", "pauses", "http", "memory", "models"];

const SECTION: Section = Section {
    title: "Python",
    task: "python",
    about: "Written by `cargo xtask bench python`; a part named behind it (`... python calls`) replaces its own table only. Goals are \
            those for a quiet machine with two cores.",
    parts: &PARTS,
    by_processor: false,
};

/// What all parts share.
struct Context {
    /// Fewer rounds, for a first look.
    quick: bool,
    /// A Python with numpy.
    python: PathBuf,
    /// For packages.
    folder: PathBuf,
}

/// Measures the named parts, or all, and replaces their tables. A part that cannot be measured says so in its table and
/// does not stop the others; it is false then.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let folder = paths::target().join("bench-python");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let context = Context { quick, python: python::environment("onnx")?, folder };
    results::each_part(&SECTION, parts, quick, |part| match part {
        "scaling" => scaling::table(&context),
        "calls" => calls::table(&context),
        "pauses" => pauses::table(&context),
        "http" => http::table(&context),
        "memory" => memory::table(&context),
        _ => models::table(&context),
    })
}

/// The numbers that a part of the example of stead-python prints, by its arguments.
pub(crate) fn speed(
    python: &Path,
    part: &str,
    rounds: usize,
    more: &[&OsStr],
) -> Result<Value, String> {
    let mut cargo = process::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", "stead-python"]);
    cargo.args(["--example", "interpreter_speed", "--", part]).arg(python);
    cargo.arg(rounds.to_string()).args(more);
    let told = process::capture(&mut cargo, "interpreter_speed")?;
    serde_json::from_str(&told).map_err(|_| "interpreter_speed gave no numbers".to_owned())
}

/// One of them.
pub(crate) fn number(found: &Value, key: &str) -> Result<f64, String> {
    found[key].as_f64().ok_or_else(|| format!("no `{key}` among the numbers"))
}

/// Runs a script of `bench/peers/interpreters`, which writes packages.
fn made(context: &Context, script: &str, arguments: &[&OsStr]) -> Result<(), String> {
    let file = paths::root().join("bench/peers/interpreters").join(script);
    let mut make = process::command(&context.python, [&file]);
    make.args(arguments).env("PYTHONPATH", paths::root().join("python/stead_package/src"));
    process::run(&mut make, script)
}
