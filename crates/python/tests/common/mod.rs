//! Tests that load libpython: each runs in processes of its own, one for every Python of this machine, for places of
//! interpreters inside a process are never given back.
#![allow(dead_code, clippy::print_stdout)] // each test binary uses a part, and skipped tests say so

use std::path::{Path, PathBuf};
use std::process::Command;

use stead_python::{
    Call, Choice, Deadline, InProcess, Installation, Interpreter, InterpreterManager,
    ManagerOptions, Mode, ModuleSource, StartOptions, Value, Worker, WorkerLimits,
};

/// Set in the process that is to run the test itself: the Python.
const PYTHON: &str = "STEAD_PYTHON_TEST";

/// The Pythons that tests run on: those of `STEAD_TEST_PYTHONS` (separated by colons), of the environments of
/// `cargo xtask test data`, `python3`, Debian's, and those of pyenv.
pub fn pythons() -> Vec<Installation> {
    let named = std::env::var_os("STEAD_TEST_PYTHONS").unwrap_or_default();
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let versions = std::fs::read_dir(home.join(".pyenv/versions")).into_iter().flatten();
    let new_enough = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("3.9.") || name.starts_with("3.1")
    };
    std::env::split_paths(&named)
        .chain(environments())
        .chain(["python3".into(), "/usr/bin/python3".into()])
        .chain(versions.filter_map(|entry| Some(entry.ok()?.path())).filter(new_enough))
        .filter_map(|path| Installation::of(&path).ok())
        .collect()
}

/// Environments with numpy.
fn environments() -> Vec<PathBuf> {
    let data = std::env::var_os("STEAD_TEST_DATA").map(PathBuf::from);
    data.into_iter().map(|data| data.join("py/trees")).filter(|path| path.exists()).collect()
}

/// Runs `test` for every Python that can run inside a process, each time in a process of its own, with `variables`.
/// `name` is the path of the test function.
pub fn on_every_python(name: &str, variables: &[(&str, &str)], test: impl Fn(&Installation)) {
    on(name, variables, pythons(), |python| python.library.is_ok(), test);
}

/// As [`on_every_python`], for Pythons with numpy.
pub fn on_every_numpy(name: &str, test: impl Fn(&Installation)) {
    on(name, &[], pythons(), |python| python.library.is_ok() && has_numpy(python), test);
}

/// As [`on_every_numpy`], for the environment of the tests that has `ml_dtypes`, if it is there.
pub fn with_ml_dtypes(name: &str, test: impl Fn(&Installation)) {
    let data = std::env::var_os("STEAD_TEST_DATA").map(PathBuf::from);
    let found = data.and_then(|data| Installation::of(&data.join("py/onnx")).ok());
    on(name, &[], found.into_iter().collect(), |_| true, test);
}

/// As [`on_every_python`], for Pythons without numpy.
pub fn without_numpy(name: &str, test: impl Fn(&Installation)) {
    on(name, &[], pythons(), |python| python.library.is_ok() && !has_numpy(python), test);
}

/// As [`on_every_python`], also for those that only worker processes can have.
pub fn on_every_worker(name: &str, test: impl Fn(&Installation)) {
    on(name, &[], pythons(), |_| true, test);
}

/// As [`on_every_python`], for one that the test has chosen.
pub fn on_python(
    name: &str,
    variables: &[(&str, &str)],
    python: Installation,
    test: impl Fn(&Installation),
) {
    on(name, variables, vec![python], |_| true, test);
}

pub fn has_numpy(python: &Installation) -> bool {
    let output = Command::new(&python.executable).args(["-I", "-c", "import numpy"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// As [`on_every_python`], for what does not depend on the version: the first Python only.
pub fn on_one_python(name: &str, variables: &[(&str, &str)], test: impl Fn(&Installation)) {
    let first = pythons().into_iter().filter(|python| python.library.is_ok()).take(1).collect();
    on(name, variables, first, |_| true, test);
}

/// As [`on_every_worker`], for what does not depend on the version: the first Python only.
pub fn on_one_worker(name: &str, test: impl Fn(&Installation)) {
    on(name, &[], pythons().into_iter().take(1).collect(), |_| true, test);
}

fn on(
    name: &str,
    variables: &[(&str, &str)],
    pythons: Vec<Installation>,
    usable: impl Fn(&Installation) -> bool,
    test: impl Fn(&Installation),
) {
    if let Some(python) = std::env::var_os(PYTHON) {
        return test(&Installation::of(Path::new(&python)).unwrap());
    }
    let mut usable: Vec<&Installation> = pythons.iter().filter(|python| usable(python)).collect();
    // Of those of one version the first that can run in process, and Debian's, whose library is elsewhere; the sort
    // keeps the order.
    let is_of_system = |python: &Installation| {
        python.library.as_ref().is_ok_and(|library| library.starts_with("/usr/lib"))
    };
    usable.sort_by_key(|p| (p.version.minor, p.library.is_err(), is_of_system(p)));
    usable.dedup_by_key(|p| (p.version.minor, is_of_system(p)));
    if usable.is_empty() {
        println!("skipped: no Python of this machine can run {name}");
    }
    for python in usable {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(PYTHON, &python.executable)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{} {}: {}\n{text}{}",
            python.executable.display(),
            python.version,
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// One inside this process.
pub fn inside(python: &Installation) -> InProcess {
    InProcess::start(python, &StartOptions::default()).unwrap()
}

/// One of each kind that this Python can have.
pub fn both(python: &Installation) -> Vec<Box<dyn Interpreter>> {
    let worker = Worker::start(python, &StartOptions::default(), WorkerLimits::default()).unwrap();
    let mut all: Vec<Box<dyn Interpreter>> = vec![Box::new(worker)];
    if python.library.is_ok() {
        all.push(Box::new(inside(python)));
    }
    all
}

/// Runs Python code that has the whole library, as somebody does who makes a package; gives the folder.
pub fn exported(python: &Installation, code: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stead-packages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/stead_package/src");
    let output = Command::new(&python.executable)
        .args(["-c", code])
        .env("PYTHONPATH", library)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

/// Loads a module named `m`.
pub fn load(interpreter: &mut dyn Interpreter, source: &str) {
    let module = ModuleSource { name: "m".into(), source: source.into() };
    interpreter.load(&module, Deadline::NEVER).unwrap();
}

/// Calls a function of `m`.
pub fn call(interpreter: &mut dyn Interpreter, name: &str, arguments: Vec<Value>) -> Value {
    interpreter.call(Call::new("m", name, arguments), Deadline::NEVER).unwrap()
}

/// Managers of so many interpreters in each way in which a Python can be run.
pub fn managers(
    python: &Installation,
    interpreters: usize,
) -> impl Iterator<Item = (Mode, InterpreterManager)> + '_ {
    let modes = [Mode::InProcess, Mode::Worker].into_iter();
    modes.filter(|&mode| mode == Mode::Worker || python.library.is_ok()).map(move |mode| {
        let options = ManagerOptions { interpreters, ..ManagerOptions::default() };
        let choice = Choice { mode, reason: None };
        (mode, InterpreterManager::new(python.clone(), choice, options))
    })
}
