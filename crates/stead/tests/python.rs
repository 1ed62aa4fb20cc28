//! `stead python` as a user meets it.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers of tests, and skipped tests say so

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::server;

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

/// Where a libpython is in sight the server starts itself anew, once, as the same process, unless it has the room or is told
/// not to. The environment tells.
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#[test]
fn the_server_makes_room_for_interpreters_when_it_starts() {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in [("bin", "python3"), ("lib", "libpython3.11.so.1.0")] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(name).join(file), "").unwrap();
    }
    let models = folder.path().join("models");
    std::fs::create_dir(&models).unwrap();
    let cases: [(&str, &[(&str, &str)], Option<&str>); 4] = [
        ("none", &[], Some("glibc.rtld.nns=16")),
        (
            "others",
            &[("GLIBC_TUNABLES", "glibc.malloc.arena_max=2")],
            Some("glibc.rtld.nns=16:glibc.malloc.arena_max=2"),
        ),
        ("enough", &[("GLIBC_TUNABLES", "glibc.rtld.nns=12")], Some("glibc.rtld.nns=12")),
        ("told not to", &[("STEAD_PYTHON_NAMESPACES", "0")], None),
    ];
    for (label, variables, expected) in cases {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stead"))
            .args(["serve", "--port", "0", "--rest_port"])
            .args([&server::free_port(), models.to_str().unwrap()])
            .env("PATH", folder.path().join("bin"))
            .env_remove("GLIBC_TUNABLES")
            .env_remove("STEAD_PYTHON_NAMESPACES")
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let is_there = lines.any(|line| line.unwrap().contains("HTTP on "));
        let environment = std::fs::read(format!("/proc/{}/environ", child.id())).unwrap();
        let arguments = std::fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
        let _ = child.kill();
        let _ = child.wait();
        assert!(is_there, "{label}: it serves");
        // The C library ends each tunable that it has read with a zero, as variables end.
        let environment = String::from_utf8(environment).unwrap().replace('\0', ":");
        match expected {
            Some(tunables) => {
                let variable = format!(":GLIBC_TUNABLES={tunables}:");
                assert!(environment.contains(&variable), "{label}: {environment}");
            }
            None => assert!(!environment.contains("GLIBC_TUNABLES"), "{label}: {environment}"),
        }
        let started = format!("{}\0serve\0", env!("CARGO_BIN_EXE_stead"));
        assert!(arguments.starts_with(started.as_bytes()), "{label}");
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
