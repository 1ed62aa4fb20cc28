//! `cargo xtask test`: every test there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::tally::Tally;
use crate::{Outcome, conformance, differential, models, paths, process, python, soak};

/// Help text.
pub const HELP: &str = "every test there is, the ones with real Python clients too

Usage: cargo xtask test [STEP...]

Steps, in this order, all of them if none is named:
  data          Python environments in target/py, models in target/models, target/onnx-node-tests
  rust          cargo test --workspace with the feature `onnxruntime` (silero and MiniLM accuracy included)
  clients       tests/python/clients with tritonclient, ovmsclient, tensorflow-serving-api, requests, pyvespa, schemathesis
  trees         tests/python/trees: predictions of xgboost and lightgbm models fitted there
  operators     tests/python/operators: com.microsoft and ai.onnx.ml beside ONNX Runtime, pipelines and files made there
  packages      python/stead_package, python/stead and their example: packages of Python code, and components
  wheel         the Python wheel and quantised models beside ONNX Runtime; the tests of the onnx package through its backend
  conformance   the ONNX node tests, with a floor on the count of tier A
  differential  1,000 random one-node models against ONNX Runtime
  demo          stead demo --once

Needs a Rust toolchain, a C compiler, Python >= 3.10 with venv and a package index that pip is
configured for. Ends with the line `N passed, N failed, N skipped`.";

/// A step: its name and what it does.
type Step = (&'static str, fn() -> Result<Tally, String>);

const STEPS: &[Step] = &[
    ("data", data),
    ("rust", rust),
    ("clients", clients),
    ("trees", trees),
    ("operators", operators),
    ("packages", packages),
    ("wheel", wheel),
    ("conformance", node_tests),
    ("differential", random_models),
    ("demo", demo),
];

/// Client families, each with its own environment: `tests/python/clients/<family>_*.py` run in it.
const FAMILIES: &[&str] = &["triton", "tfs", "vespa", "openapi"];

/// The environment of the libraries that fit tree models.
const TREES: &str = "trees";

/// The environment of the libraries that export pipelines.
const OPERATORS: &str = "operators";

/// The environment in which stead_package and stead are tested.
const PACKAGES: &str = "packages";

/// The environment in which the wheel is built, installed and tested.
const WHEEL: &str = "wheel";

/// Runs the task.
pub fn run(args: &[String]) -> Outcome {
    if let Some(unknown) = args.iter().find(|a| !STEPS.iter().any(|(name, _)| name == a)) {
        return Err(format!("no step `{unknown}`; cargo xtask test --help lists them"));
    }
    let mut total = Tally::default();
    let mut broken = Vec::new();
    let asked = |name: &str| args.is_empty() || args.iter().any(|a| a == name);
    // Installing waits for the network and for one core; what tests are made of is compiled meanwhile.
    let compiling = if asked("data") && asked("rust") { Some(compiling()?) } else { None };
    for (name, step) in STEPS.iter().filter(|(name, _)| asked(name)) {
        println!("== {name}");
        let began = Instant::now();
        match step() {
            Ok(tally) => total.add(tally),
            Err(message) => {
                println!("{name}: {message}");
                total.step(false);
            }
        }
        if total.failed > 0 {
            broken.push(*name);
        }
        println!("== {name}: {} s", began.elapsed().as_secs());
    }
    // The step `rust` waited for its locks and says what did not compile.
    let _ = compiling.map(|mut child| child.wait());
    if let Some(first) = broken.first() {
        println!("first failure in step `{first}`");
    }
    println!("{total}");
    Ok(total.failed == 0)
}

/// Compiles the tests of the step `rust` beside others.
fn compiling() -> Result<Child, String> {
    let mut command = process::cargo();
    command.arg("test").args(process::SELECTION).args(["--no-run", "--quiet"]);
    command.stderr(Stdio::null()).spawn().map_err(|e| format!("cargo test: {e}"))
}

fn data() -> Result<Tally, String> {
    for family in FAMILIES {
        python::environment(family)?;
    }
    python::environment("onnx")?;
    python::environment(TREES)?;
    python::environment(OPERATORS)?;
    python::environment(PACKAGES)?;
    python::environment(WHEEL)?;
    models::silero()?;
    models::minilm()?;
    models::embedders()?;
    models::satellite()?;
    models::mlp()?;
    models::clients()?;
    models::node_tests()?;
    Ok(Tally::default())
}

fn rust() -> Result<Tally, String> {
    let mut total = Tally::default();
    let all = [&["test"][..], &process::SELECTION, &["--no-fail-fast", "--", "--show-output"]];
    let all = all.concat();
    for arguments in [&all[..], soak::INTERLEAVINGS] {
        let mut command = process::cargo();
        command.args(arguments).env("STEAD_TEST_DATA", paths::target());
        let passed = process::stream(&mut command, "cargo test", |line| {
            if let Some(tally) = Tally::parse(line) {
                total.add(tally);
            }
            // A test that finds out while it runs that it cannot run passes for libtest.
            if line.starts_with("skipped: ") && total.passed > 0 {
                total.passed -= 1;
                total.skipped += 1;
            }
        })?;
        if !passed && total.failed == 0 {
            return Err("cargo test failed to build".to_owned());
        }
    }
    Ok(total)
}

fn clients() -> Result<Tally, String> {
    process::build()?;
    let mut total = Tally::default();
    for family in FAMILIES {
        let stead = paths::stead("debug");
        total.add(python_files("clients", family, &[("STEAD_BIN", stead)])?);
    }
    Ok(total)
}

fn trees() -> Result<Tally, String> {
    process::build()?;
    let predict = paths::target().join("debug/examples/predict");
    python_files("trees", TREES, &[("STEAD_TREES_PREDICT", predict)])
}

fn operators() -> Result<Tally, String> {
    process::build()?;
    let outputs = paths::target().join("debug/examples/outputs");
    let variables = [("STEAD_ENGINE_OUTPUTS", outputs), ("STEAD_TEST_MINILM", models::minilm()?)];
    python_files("operators", OPERATORS, &variables)
}

fn packages() -> Result<Tally, String> {
    let python = python::environment(PACKAGES)?;
    let mut total = Tally::default();
    for library in ["stead_package", "stead"] {
        println!("-- {library}");
        total.add(python_cases(&python, &paths::root().join("python").join(library), &[])?);
    }
    // Its models are computed by ONNX Runtime, as somebody does who tests components without a server.
    println!("-- examples/model-evaluation-python");
    let example = paths::root().join("examples/model-evaluation-python");
    total.add(python_cases(&python::environment("onnx")?, &example, &[])?);
    Ok(total)
}

fn wheel() -> Result<Tally, String> {
    let wheel = python::built(&python::environment(WHEEL)?)?;
    println!("-- {}", wheel.file_name().unwrap_or_default().to_string_lossy());
    let variables =
        [("STEAD_EXAMPLES", paths::root().join("examples")), ("STEAD_BIN", paths::stead("debug"))];
    python_files("wheel", WHEEL, &variables)
}

/// Runs the test files of a family in `tests/python/<folder>` in its environment.
fn python_files(
    folder: &str,
    family: &str,
    variables: &[(&str, PathBuf)],
) -> Result<Tally, String> {
    let python = python::environment(family)?;
    let mut total = Tally::default();
    for file in scripts(&paths::root().join("tests/python").join(folder), family)? {
        println!("-- {}", file.file_name().unwrap_or_default().to_string_lossy());
        total.add(python_cases(&python, &file, variables)?);
    }
    Ok(total)
}

/// Runs the test cases of a file or folder.
fn python_cases(
    python: &Path,
    path: &Path,
    variables: &[(&str, PathBuf)],
) -> Result<Tally, String> {
    let mut total = Tally::default();
    let mut command = Command::new(python);
    command.arg(paths::root().join("tests/python/run.py")).arg(path);
    command.env("STEAD_TEST_DATA", paths::target());
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let mut counted = false;
    let passed = process::stream(&mut command, "python", |line| {
        if let Some(tally) = Tally::parse(line) {
            counted = true;
            total.add(tally);
        }
    })?;
    if !counted && !passed {
        total.step(false);
    }
    Ok(total)
}

/// The test files of a family, in alphabetical order.
fn scripts(folder: &Path, family: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let belongs = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("{family}_")) && name.ends_with(".py")
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|e| e.path()).filter(belongs).collect();
    files.sort();
    Ok(files)
}

fn node_tests() -> Result<Tally, String> {
    process::build()?;
    let mut total = Tally::default();
    total.step(conformance::count("debug", false)?);
    total.step(conformance::earlier("debug", false)?);
    Ok(total)
}

fn random_models() -> Result<Tally, String> {
    process::build()?;
    if !models::minilm()?.join("reference.npz").exists() {
        println!("skipped: ONNX Runtime has no wheel for this Python");
        return Ok(Tally { skipped: 1, ..Tally::default() });
    }
    differential::round("debug", 1, differential::CASES)
}

fn demo() -> Result<Tally, String> {
    process::build()?;
    let mut total = Tally::default();
    total.step(process::stream(
        Command::new(paths::stead("debug")).args(["demo", "--once"]),
        "stead demo",
        |_| {},
    )?);
    Ok(total)
}
