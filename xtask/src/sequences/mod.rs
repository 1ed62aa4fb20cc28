//! `cargo xtask bench sequences`: what sequences cost, and what a user would do otherwise, in tables of
//! `bench/RESULTS.md`.

mod batch;
mod examples;
mod load;
mod peers;
mod streams;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::results::{self, Section};
use crate::{Outcome, paths, process};
use streams::Streams;

/// What can be measured on its own, in the order of the tables.
pub const PARTS: [&str; 6] = ["streams", "peers", "batch", "cost", "growing", "durability"];

const SECTION: Section = Section {
    title: "Sequences",
    task: "sequences",
    about: "Written by `cargo xtask bench sequences`; a part named behind it (`... sequences cost`) replaces its own table only. \
            Goals are those for a quiet machine of two cores.",
    parts: &PARTS,
    by_processor: false,
};

/// What all parts share.
struct Context {
    /// A tenth of the time, for a first look.
    quick: bool,
    /// The release binary.
    stead: PathBuf,
    /// For configurations and logs.
    folder: PathBuf,
}

/// Builds the release binary, measures the named parts, or all, and replaces their tables. A part that cannot be
/// measured says so in its table and does not stop the others; it is false then.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let mut build = process::cargo();
    process::run(build.args(["build", "--release", "--package", "stead"]), "cargo build")?;
    let folder = paths::target().join("bench-sequences");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let context = Context { quick, stead: paths::stead("release"), folder };

    let mut streams = Streams::default();
    results::each_part(&SECTION, parts, quick, |part| match part {
        "streams" => streams::table(&context, &mut streams),
        "peers" => peers::table(&context, &mut streams),
        "batch" => batch::table(&context),
        "cost" => examples::cost(),
        "growing" => examples::growing(&context),
        _ => examples::durability(&context),
    })
}

impl Context {
    /// Writes the example's config.json, its path absolute and its limits out of the way. Without `has_states` the
    /// model is stateless: its states are inputs and outputs.
    fn config(&self, name: &str, has_states: bool) -> Result<PathBuf, String> {
        let example = paths::root().join("examples/voice-activity");
        let file = example.join("config.json");
        let text = fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let mut config: Value =
            serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", file.display()))?;
        let model = &mut config["model_config_list"][0]["config"];
        if has_states {
            model["max_sequence_number"] = json!(200_000);
        } else {
            *model = json!({"name": model["name"], "stead": {}});
        }
        model["base_path"] = json!(example.join("models/vad"));
        model["stead"]["max_queue_size"] = json!(100_000);
        let file = self.folder.join(name);
        fs::write(&file, config.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(file)
    }
}
