//! `stead python` as a user meets it.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers of tests, and skipped tests say so

use std::process::{Command, Output};

use serde_json::Value;

fn stead(arguments: &[&str], path: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
    command.arg("python").args(arguments).env_remove("VIRTUAL_ENV");
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().unwrap()
}

#[test]
fn the_doctor_tells_what_is_found_and_tries_it() {
    let output = stead(&["doctor", "--python", "python3", "--json"], None);
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: there is no python3");
        return;
    }
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let python = &report["pythons"][0];
    assert!(output.status.success(), "{report}");
    assert_eq!(python["worker_error"], Value::Null, "{report}");
    // One that has a library is tried in another process of this program, and that has succeeded.
    let expected = if python["library"].is_null() { "worker process" } else { "in process" };
    assert_eq!(python["mode"], expected, "{report}");
    assert_eq!(python["reason"].is_null(), expected == "in process", "{report}");

    let text = stead(&["doctor", "--python", "python3"], None).stdout;
    let text = String::from_utf8(text).unwrap();
    for part in [python["version"].as_str().unwrap(), expected, "worker   starts"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_machine_without_python_says_so() {
    let output = stead(&["doctor"], Some("/nowhere"));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("no Python 3.9 or later is on PATH"), "{text}");

    let output = stead(&["doctor", "--python", "/nowhere/python"], None);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let expected =
        "error: /nowhere/python is neither a program, a virtual environment nor a name on PATH\n";
    assert_eq!(text, expected);
}
