//! `cargo xtask bench search`: stead's indexes beside tantivy, hnswlib and usearch, and searches by all of them, in tables of
//! `bench/RESULTS.md`.

mod hybrid;
mod manuals;
mod text;
mod vectors;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::results::{self, Section, line};
use crate::{Outcome, paths, process};

/// What can be measured on its own, in the order of the tables.
pub const PARTS: [&str; 5] = ["text", "vectors", "many", "million", "hybrid"];

const SECTION: Section = Section {
    title: "Search",
    task: "search",
    about: "Written by `cargo xtask bench search`; a part named behind it (`... search text`) replaces its own table only. Ratios are the medians \
            over pairs of turns: above 1 stead is quicker.",
    parts: &PARTS,
    by_processor: false,
};

/// What all parts share.
struct Context {
    /// Less of everything, for a first look.
    quick: bool,
    /// The program of the peers.
    program: PathBuf,
    /// For corpora and vectors.
    folder: PathBuf,
}

/// Builds the program, measures the named parts, or all, and replaces their tables. A part that cannot be measured says so
/// in its table and does not stop the others; it is false then.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let folder = paths::target().join("bench-search");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut build = process::cargo();
    build.current_dir(paths::root().join("bench/peers/search"));
    build.args(["build", "--release", "--target-dir"]).arg(paths::target().join("peers"));
    process::run(&mut build, "cargo build of bench/peers/search")?;
    let program = paths::target().join("peers/release/search-peers");
    let context = Context { quick, program, folder };
    results::each_part(&SECTION, parts, quick, |part| match part {
        "text" => text::table(&context),
        "vectors" => vectors::table(&context),
        "many" => vectors::many(&context),
        "million" => vectors::million(&context),
        _ => hybrid::table(&context),
    })
}

impl Context {
    /// What the program tells.
    fn told(&self, args: &[&str]) -> Result<Value, String> {
        let output = process::capture(&mut process::command(&self.program, args), "search-peers")?;
        let told = output.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
        told.filter(Value::is_object).ok_or_else(|| format!("no numbers: {}", line(&output)))
    }
}
