//! Schemas that say in their first lines what is wrong in them.

use std::fs;
use std::path::{Path, PathBuf};

use stead_app::package::{Diagnostic, Report, Severity};

/// The folder of schemas for tests.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/schemas")
}

/// The schemas of a folder with their names, in order.
pub fn schemas(folder: &str) -> Vec<(String, String)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(data().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    paths.into_iter().map(read).collect()
}

/// What was found, as a line each.
pub fn lines(report: &Report) -> Vec<String> {
    let line = |d: &Diagnostic| {
        let kind = if d.severity == Severity::Error { "error" } else { "warning" };
        format!("{kind}: {}:{}: {}", d.place.line, d.place.column, d.text)
    };
    report.diagnostics().iter().map(line).collect()
}

/// Compares what was found with the lines `# error: ...` and `# warning: ...` of a schema. With `UPDATE_EXPECTED` set
/// the lines are written instead.
pub fn check(folder: &str, name: &str, text: &str, report: &Report) {
    let is_expected = |l: &&str| l.starts_with("# error: ") || l.starts_with("# warning: ");
    let expected: Vec<&str> = text.lines().filter(is_expected).map(|l| &l[2..]).collect();
    let mut found = lines(report);
    let place = |line: &String| {
        let mut parts = line.split(": ").nth(1).unwrap_or("").split(':');
        let mut next = || parts.next().and_then(|p| p.parse::<u32>().ok());
        (next(), next())
    };
    found.sort_by_key(place);
    if std::env::var_os("UPDATE_EXPECTED").is_none() || found == expected {
        assert_eq!(found, expected, "{name}");
        return;
    }
    let rest: Vec<&str> = text.lines().filter(|l| !is_expected(l)).collect();
    let mut lines = vec![rest[0].to_owned()];
    for line in &found {
        let mut parts = line.splitn(3, ':');
        let mut next = || parts.next().unwrap();
        let (kind, at, more) = (next(), next(), next());
        // The places move with the number of lines above them.
        let at = at.trim().parse::<usize>().unwrap() + found.len() - expected.len();
        lines.push(format!("# {kind}: {at}:{more}"));
    }
    lines.extend(rest[1..].iter().map(|l| (*l).to_owned()));
    fs::write(data().join(folder).join(name), lines.join("\n") + "\n").unwrap();
}
