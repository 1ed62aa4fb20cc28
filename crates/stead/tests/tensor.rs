//! `stead tensor` as a user meets it.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn stead(args: &[&str], lines: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
    let mut process = command
        .arg("tensor")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A process that does not read its lines may be gone before they are written.
    let _ = process.stdin.take().unwrap().write_all(lines.as_bytes());
    process.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn values_and_errors() {
    for (args, code, out, err) in [
        (vec!["2^10"], 0, "1024\n", ""),
        (vec!["tensor<float>(x[3])(x+0.1)"], 0, "tensor<float>(x[3]):[0.1,1.1,2.1]\n", ""),
        (
            vec!["--let", "a=2", "--let", "b = tensor(x{}):{p:a}", "b+a"],
            0,
            "tensor(x{}):{p:4}\n",
            "",
        ),
        (
            vec!["--json", "tensor(x{}):{a:1}"],
            0,
            "{\"type\":\"tensor(x{})\",\"value\":{\"cells\":{\"a\":1.0},\"type\":\"tensor(x{})\"}}\n",
            "",
        ),
        (
            vec!["--json", "--form", "hex-value", "tensor<int8>(x[2]):[1,-1]"],
            0,
            "{\"type\":\"tensor<int8>(x[2])\",\"value\":\"01FF\"}\n",
            "",
        ),
        (vec!["1 +\n b"], 1, "", "error: 2:2: unknown name b\n"),
        (vec!["--let", "a", "a"], 64, "", "error: --let \"a\": expected NAME=EXPRESSION\n"),
    ] {
        let output = stead(&args, "");
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert_eq!(
            (text(&output.stdout).as_str(), text(&output.stderr).as_str()),
            (out, err),
            "{args:?}"
        );
    }
    assert_eq!(stead(&["--form", "wide", "1"], "").status.code(), Some(64));
}

#[test]
fn lines_keep_values_for_the_next() {
    let output = stead(&[], "v = tensor(x[2]):[1,2]\nv*v\nsum(v\nsum(v)\nnames\nquit\n1\n");
    assert_eq!(
        text(&output.stdout),
        "tensor(x[2]):[1,2]\ntensor(x[2]):[1,4]\nerror: 1:6: expected ) of sum(tensor, dimensions...), found the end\n\
         double: 3\nv: tensor(x[2])\n"
    );
    assert!(output.status.success());
}

#[test]
fn a_file_of_cases_is_counted() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../expr/tests/data/vespa");
    let file = data.join("conformance_some_2539.jsonl.zst");
    let output = stead(&["--conformance", file.to_str().unwrap()], "");
    assert_eq!(text(&output.stdout), "2539 passed, 0 failed\n");
    assert!(output.status.success());

    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.jsonl");
    std::fs::write(
        &wrong,
        "{\"expression\":\"a\",\"params\":[\"a\"],\"cases\":[{\"in\":[1],\"out\":2}]}\n",
    )
    .unwrap();
    let output = stead(&["--conformance", wrong.to_str().unwrap()], "");
    assert_eq!(text(&output.stdout), "a with a = 1 is 1, not 2\n0 passed, 1 failed\n");
    assert_eq!(output.status.code(), Some(1));
}

/// As behind `| head`.
#[test]
fn output_that_nobody_reads_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
    let output = command.args(["tensor", "1+1"]).stdout(writer).stderr(Stdio::piped()).output();
    let output = output.unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}
