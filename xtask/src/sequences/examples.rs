//! Measurements in process: the examples of `crates/node` that end with a line of JSON.

use std::fs;

use serde_json::Value;

use super::Context;
use crate::process;
use crate::results::{Table, goal};

/// Goals: microseconds a step costs above `Session::run`; growing steps over fixed ones; bytes of an idle sequence;
/// steps per second of `every_step` over `memory`.
const LAYER_US: f64 = 2.0;
const GROWING: f64 = 1.2;
const IDLE_BYTES: f64 = 2200.0;
const DURABLE: f64 = 0.7;

/// What the sequence layer costs.
pub fn cost() -> Result<Table, String> {
    let answer = example("sequence_cost", &[])?;
    let [run, step, layer] =
        numbers(&answer, ["session_run_us", "sequence_step_us", "difference_us"])?;
    Ok(Table {
        title: "the sequence layer".to_owned(),
        note:
            "silero, one sequence in process, `--example sequence_cost` of stead-node: a step of \
               a sequence beside `Session::run` with the same inputs, medians, turn by turn."
                .to_owned(),
        header: vec!["Session::run us", "sequence step us", "difference us", "goal us"],
        rows: vec![vec![
            format!("{run:.1}"),
            format!("{step:.1}"),
            format!("{layer:.2}"),
            format!("{LAYER_US} {}", goal(layer <= LAYER_US)),
        ]],
    })
}

/// What it costs that a state grows.
pub fn growing(context: &Context) -> Result<Table, String> {
    let steps = if context.quick { "200" } else { "1000" };
    let answer = example("growing_steps", &[steps])?;
    let [growing, fixed, ratio] = numbers(&answer, ["growing_ms", "fixed_ms", "ratio"])?;
    Ok(Table {
        title: "decode steps with a growing cache".to_owned(),
        note: format!(
            "{steps} steps of a decoder whose cache grows by one row a step, beside as many at the mean length, \
             `--example growing_steps` of stead-node."
        ),
        header: vec!["growing ms", "fixed shape ms", "ratio", "goal"],
        rows: vec![vec![
            format!("{growing:.0}"),
            format!("{fixed:.0}"),
            format!("{ratio:.2}"),
            format!("{GROWING} {}", goal(ratio <= GROWING)),
        ]],
    })
}

/// What idle sequences and durable steps cost.
pub fn durability(context: &Context) -> Result<Table, String> {
    let folder = context.folder.join("states");
    let _ = fs::remove_dir_all(&folder); // absent the first time
    let sequences = if context.quick { "10000" } else { "100000" };
    let answer = example("durable_steps", &[&folder.to_string_lossy(), sequences]);
    let _ = fs::remove_dir_all(&folder); // only disk space
    let answer = answer?;
    let [idle, memory, durable, ratio, sync] = numbers(
        &answer,
        ["idle_bytes", "memory_steps_per_s", "every_step_steps_per_s", "ratio", "fdatasync_us"],
    )?;
    let row = |what: String, value: String, wanted: String| vec![what, value, wanted];
    Ok(Table {
        title: "memory and durability".to_owned(),
        note: "`--example durable_steps` of stead-node: resident memory of idle silero sequences, and steps per second of 256 sequences \
               at a time with both values of `state_durability` in turn, by group commit on this disk."
            .to_owned(),
        header: vec!["what", "measured", "goal"],
        rows: vec![
            row(
                format!("bytes of each of {sequences} idle sequences"),
                format!("{idle:.0}"),
                format!("{IDLE_BYTES} {}", goal(idle <= IDLE_BYTES)),
            ),
            row("steps/s, `memory`".into(), format!("{memory:.0}"), "-".into()),
            row("steps/s, `every_step`".into(), format!("{durable:.0}"), "-".into()),
            row(
                "`every_step` over `memory`".into(),
                format!("{ratio:.2}"),
                format!("{DURABLE} {}", goal(ratio >= DURABLE)),
            ),
            row("`fdatasync`, median us".into(), format!("{sync:.0}"), "-".into()),
        ],
    })
}

/// The JSON that an example ends with.
fn example(name: &str, args: &[&str]) -> Result<Value, String> {
    let mut cargo = process::cargo();
    cargo.args(["run", "--release", "--quiet", "--package", "stead-node", "--example", name]);
    let output = process::capture(cargo.arg("--").args(args), name)?;
    let last = output.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    last.filter(Value::is_object).ok_or_else(|| format!("example {name} gave no numbers"))
}

fn numbers<const N: usize>(answer: &Value, keys: [&str; N]) -> Result<[f64; N], String> {
    if let Some(missing) = keys.iter().find(|key| !answer[**key].is_number()) {
        return Err(format!("no `{missing}` among the numbers of the example"));
    }
    Ok(keys.map(|key| answer[key].as_f64().unwrap_or(f64::NAN)))
}
