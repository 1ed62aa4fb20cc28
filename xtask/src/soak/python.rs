//! `cargo xtask soak python`: reloads, calls that end in every way, and torch.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::interpreters::{number, speed};
use crate::{Outcome, paths, process, python};

/// Turns of a model's measurement, of 0.8 s for each way to run it.
const ROUNDS: usize = 3;

/// Runs all three.
pub fn run(seconds: u64, reloads: u64, seed: Option<u64>) -> Outcome {
    let data = python::environment("trees")?;
    let mut passed = test("reloads", &data, &[("STEAD_RELOADS", reloads.to_string())])?;
    // Seeds follow the clock, so that every soak sees new ones.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = seed.unwrap_or(since_1970.as_secs() % 1_000_000_000);
    println!("random ends: STEAD_SEED={seed}");
    let variables = [("STEAD_SEED", seed.to_string()), ("STEAD_SECONDS", seconds.to_string())];
    passed &= test("random_ends", &data, &variables)?;
    passed &= torch()?;
    Ok(passed)
}

/// A test of stead-python with what it prints. The environments of tests are those that `data` is one of.
fn test(name: &str, data: &Path, variables: &[(&str, String)]) -> Outcome {
    let mut test = process::cargo();
    test.args(["test", "--quiet", "--package", "stead-python", "--test", name])
        .args(["--", "--nocapture"])
        .envs(variables.iter().map(|(name, value)| (name, value)));
    // `py/<family>/bin/python`
    if let Some(target) = data.ancestors().nth(4) {
        test.env("STEAD_TEST_DATA", target);
    }
    process::stream(&mut test, name, |_| {})
}

/// Six models of torch: what packaging them takes, whether they are then what they were, in every kind of interpreter, how often two
/// interpreters run them beside two threads of one (over one thread, medians), and whether TorchScript can have them.
fn torch() -> Outcome {
    let python = python::peer_of("interpreters/torch", "3.10")?;
    process::build()?;
    let folder = paths::target().join("soak-python");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let library = paths::root().join("python/stead_package");
    let script = paths::root().join("bench/peers/interpreters/torch/make_torch.py");
    let mut make = process::command(&python, [&script]);
    let make = make.arg(&folder).env("PYTHONPATH", library.join("src"));
    let made = process::capture(make, "make_torch.py")?;
    let mut table = String::new();
    let mut passed = true;
    for line in made.lines() {
        let told: Value =
            serde_json::from_str(line).map_err(|_| format!("make_torch.py wrote {line}"))?;
        let name = told["model"].as_str().unwrap_or_default();
        let packaged = told["packaged"] == true;
        let package = folder.join(format!("{name}.pkg"));
        let replayed = replayed(&package, &python)?;
        let mocks: Vec<&str> =
            told["mocks"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mocks = if mocks.is_empty() { "none".to_owned() } else { mocks.join(", ") };
        let same = |is_same: bool| if is_same { "same" } else { "DIFFERS" };
        let script = told["script"].as_str().unwrap_or_default();
        let module = "torch_models.speed".as_ref();
        let found = speed(&python, "model", ROUNDS, &[package.as_os_str(), module])?;
        let one = number(&found, "one")?;
        let over = |key: &str| Ok::<f64, String>(number(&found, key)? / one);
        let of_script =
            told["script_speed"].as_f64().map_or(String::new(), |times| format!(", {times:.2}x"));
        table += &format!(
            "| {name} | {mocks} | {} | {} | {} | {one:.1} | {:.2}x | {:.2}x | {script}{of_script} |\n",
            told["edits"],
            same(packaged),
            same(replayed),
            over("threads_2")?,
            over("two")?,
        );
        passed &= packaged && replayed && script != "differs";
    }
    println!(
        "\n| model | mocks | edits | packaged | in interpreters | runs/s of one thread | 2 threads in one interpreter | 2 interpreters | \
         TorchScript, 2 threads |\n|---|---|---|---|---|---|---|---|---|\n{table}"
    );
    // Tensors of torch in packages and in objects that move between interpreters.
    let mut tests =
        process::command(&python, ["-m", "unittest", "discover", "-t", ".", "-s", "tests"]);
    let tests = tests.current_dir(&library).env("PYTHONPATH", "src");
    passed &= process::stream(tests, "tests of stead_package with torch", |_| {})?;
    let mut moved = process::cargo();
    moved
        .args(["test", "--quiet", "--package", "stead-python", "--test", "torch"])
        .env("STEAD_TORCH_PYTHON", &python);
    passed &= process::stream(&mut moved, "the test of torch", |_| {})?;
    Ok(passed)
}

/// Whether the recorded example gives the same inside a process and in workers, two at a time.
fn replayed(package: &Path, python: &Path) -> Outcome {
    let mut test = Command::new(paths::stead("debug"));
    test.args(["package", "test"]).arg(package).arg("--python").arg(python);
    process::stream(&mut test, "stead package test", |_| {})
}
