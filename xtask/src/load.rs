//! `cargo xtask bench load`: how long models of 440 MB take to open, and the memory at the peak.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::engine::graph;
use crate::results::{Section, Table, each_part, goal, line};
use crate::{Outcome, paths, process};

/// Its tables.
pub const PARTS: [&str; 2] = ["time", "memory"];

const SECTION: Section = Section {
    title: "Load",
    task: "load",
    about: "Written by `cargo xtask bench load`: models of 440 MB in files that are in memory, opened until they can run, on one thread.",
    parts: &PARTS,
    by_processor: false,
};

/// The most that opening takes over reading, where nothing must be packed.
const MOST_TIME: f64 = 1.2;

/// The most memory over weights and arena.
const MOST_MEMORY: f64 = 1.15;

/// A model and whether its weights have to be packed.
struct Opened {
    title: &'static str,
    path: PathBuf,
    is_packed: bool,
}

/// Runs the task.
///
/// # Errors
/// Builds that fail, and models that cannot be made.
pub fn run(parts: &[&str], quick: bool) -> Outcome {
    let mut build = process::cargo();
    build.args(["build", "--release", "--quiet", "-p", "stead-engine", "--example", "load"]);
    process::run(&mut build, "cargo build of the example load")?;
    let program = paths::target().join("release/examples/load");
    let folder = paths::models().join("load");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    process::run(process::command(&program, ["make"]).arg(&folder), "making models")?;
    let table = |title, name| Opened { title, path: folder.join(name), is_packed: false };
    let models = [
        table("4 tables of 110 MB, one file", "tables4.onnx"),
        table("400 tables of 1.1 MB, one file", "tables400.onnx"),
        Opened { title: "BERT-base, external data", path: graph("bert_base")?, is_packed: true },
    ];
    let pairs = if quick { 5 } else { 15 };
    each_part(&SECTION, parts, quick, |part| {
        let rows = models.iter().map(|model| {
            let told = |args: &[&str]| told(&program, model.title, &model.path, args);
            match part {
                "time" => Ok(time_row(model, &told(&["time", &pairs.to_string()])?)),
                _ => Ok(memory_row(model, &told(&["peak"])?)),
            }
        });
        let rows = rows.collect::<Result<Vec<_>, String>>()?;
        Ok(if part == "time" { time(rows, pairs) } else { memory(rows) })
    })
}

/// What the program tells of a model, in a process of its own; the first argument is the task.
fn told(program: &Path, title: &str, model: &Path, args: &[&str]) -> Result<Value, String> {
    let mut command = process::command(program, args.iter().take(1));
    let output = process::capture(command.arg(model).args(args.iter().skip(1)), title)?;
    let told = output.lines().rev().find_map(|line| serde_json::from_str(line).ok());
    told.ok_or_else(|| format!("{title}: no numbers: {}", line(&output)))
}

fn time(rows: Vec<Vec<String>>, pairs: usize) -> Table {
    Table {
        title: "from a path to a session".to_owned(),
        note: format!(
            "Medians of {pairs} turns, and of their ratios. \"read\" is every byte into memory of its own (`std::fs::read`), which is what a model must hold; \"on huge pages\" is the same \
             into one buffer on huge pages, where the system has as little to do for fresh memory as it can; \"through a buffer\" is through one of 1 MiB, which holds nothing. The goal, \
             {MOST_TIME} of reading, is for models in which no weight is packed."
        ),
        header: vec![
            "model",
            "read ms",
            "on huge pages ms",
            "through a buffer ms",
            "open ms",
            "open over read",
            "over huge pages",
            "over through a buffer",
            "goal",
        ],
        rows,
    }
}

fn time_row(model: &Opened, told: &Value) -> Vec<String> {
    let number = |name: &str| told[name].as_f64().unwrap_or(f64::NAN);
    let ms = |name: &str| format!("{:.0}", number(name) * 1e3);
    let over = number("over_read");
    vec![
        model.title.to_owned(),
        ms("read"),
        ms("huge"),
        ms("streamed"),
        ms("open"),
        format!("{over:.2}"),
        format!("{:.2}", number("over_huge")),
        format!("{:.2}", number("over_streamed")),
        if model.is_packed { "-" } else { goal(over <= MOST_TIME) }.to_owned(),
    ]
}

fn memory(rows: Vec<Vec<String>>) -> Table {
    Table {
        title: "the process at its peak".to_owned(),
        note: format!(
            "`VmHWM` of a process that opens the model and runs it once (a text of 128 tokens), program included, over the bytes of weights and arena; the goal is {MOST_MEMORY}."
        ),
        header: vec![
            "model",
            "weights MB",
            "arena MB",
            "peak of opening MB",
            "peak MB",
            "over weights and arena",
            "goal",
        ],
        rows,
    }
}

fn memory_row(model: &Opened, told: &Value) -> Vec<String> {
    let number = |name: &str| told[name].as_f64().unwrap_or(f64::NAN);
    let mb = |name: &str| format!("{:.1}", number(name) / 1e6);
    let over = number("peak") / (number("weights") + number("arena"));
    vec![
        model.title.to_owned(),
        mb("weights"),
        mb("arena"),
        mb("opened"),
        mb("peak"),
        format!("{over:.3}"),
        goal(over <= MOST_MEMORY).to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn goals_are_for_the_whole_and_for_what_is_not_packed() {
        let model = |is_packed| Opened { title: "m", path: PathBuf::new(), is_packed };
        let told = |over: f64| json!({"read": 0.1, "streamed": 0.05, "open": 0.12, "over_read": over, "over_streamed": 2.4});
        let last = |row: Vec<String>| row.last().cloned();
        assert_eq!(last(time_row(&model(false), &told(1.2))).as_deref(), Some("met"));
        assert_eq!(last(time_row(&model(false), &told(1.21))).as_deref(), Some("missed"));
        assert_eq!(last(time_row(&model(true), &told(3.0))).as_deref(), Some("-"));
        // Numbers that are not there are no success.
        assert_eq!(last(time_row(&model(false), &json!({}))).as_deref(), Some("missed"));
        let memory = |peak: u64| json!({"weights": 400, "arena": 100, "opened": 450, "peak": peak});
        assert_eq!(last(memory_row(&model(true), &memory(575))).as_deref(), Some("met"));
        assert_eq!(last(memory_row(&model(true), &memory(580))).as_deref(), Some("missed"));
    }

    #[test]
    fn rows_are_as_long_as_their_headers() {
        let model = Opened { title: "m", path: PathBuf::new(), is_packed: false };
        assert_eq!(time_row(&model, &json!({})).len(), time(Vec::new(), 1).header.len());
        assert_eq!(memory_row(&model, &json!({})).len(), memory(Vec::new()).header.len());
    }
}
