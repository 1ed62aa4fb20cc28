//! `stead python doctor`.

use std::path::Path;

use serde_json::{Value, json};
use stead_python::{PythonReport, Report};

use crate::failure::Failure;

/// Prints the report; false where there is no Python that can be used.
pub(super) fn run(python: Option<&Path>, as_json: bool) -> Result<bool, Failure> {
    let report = stead_python::doctor(python, &super::self_test()?).map_err(Failure::failed)?;
    if as_json {
        println!("{}", to_json(&report));
    } else {
        print!("{}", to_text(&report, python.is_some()));
    }
    let usable = |found: &PythonReport| found.worker.is_ok() || found.choice.reason.is_none();
    Ok(report.pythons.iter().any(usable))
}

fn to_json(report: &Report) -> Value {
    let pythons = report.pythons.iter().map(|found| {
        json!({
            "executable": found.python.executable,
            "prefix": found.python.prefix,
            "version": found.python.version.to_string(),
            "library": found.python.library.as_ref().ok(),
            "mode": found.choice.mode.name(),
            "reason": found.choice.reason,
            "worker_error": found.worker.as_ref().err(),
        })
    });
    json!({
        "architecture": report.architecture,
        "glibc": report.glibc,
        "interpreters_in_process": report.namespaces,
        "interpreters_in_process_of_a_server": report.namespaces_anew,
        "pythons": pythons.collect::<Vec<_>>(),
    })
}

fn to_text(report: &Report, is_named: bool) -> String {
    let libc =
        report.glibc.as_ref().map_or("another C library".to_owned(), |v| format!("glibc {v}"));
    let mut text = format!(
        "{} with {libc}: at most {} interpreters inside a server\n",
        report.architecture, report.namespaces_anew
    );
    if report.pythons.is_empty() {
        text += "no Python 3.9 or later is on PATH; name one with --python\n";
    }
    for (i, found) in report.pythons.iter().enumerate() {
        let (python, choice) = (&found.python, &found.choice);
        let used = if i == 0 && !is_named { " (used without --python)" } else { "" };
        text += &format!("\nPython {}{used}\n", python.version);
        text += &format!("  program  {}\n", python.executable.display());
        if let Ok(library) = &python.library {
            text += &format!("  library  {}\n", library.display());
        }
        text += &match &choice.reason {
            None => "  mode     in process; the self-test succeeded\n".to_owned(),
            Some(reason) => format!("  mode     {}: {reason}\n", choice.mode.name()),
        };
        text += &match &found.worker {
            Ok(()) => "  worker   starts\n".to_owned(),
            Err(error) => {
                format!("  worker   does not start: {}\n", error.replace('\n', "\n           "))
            }
        };
    }
    text
}
