//! `bench/RESULTS.md`: one section for each table, so that a run of one half keeps the other.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use crate::Result;

/// Tables of this run, by title.
pub struct Report {
    sections: BTreeMap<&'static str, String>,
}

/// What the file begins with.
const HEAD: &str = "# Results\n\nWritten by `cargo xtask bench`; do not edit. All sides of a table ran in one run, interleaved; times are\nmedians. Each table names its machine and commit.\n";

impl Report {
    /// A report without tables.
    pub fn new() -> Report {
        Report { sections: BTreeMap::new() }
    }

    /// Adds a table: the header row, then the rows.
    pub fn table(
        &mut self,
        title: &'static str,
        note: &str,
        header: &[&str],
        rows: &[Vec<String>],
    ) {
        let mut text = format!("\n{}\n\n{note}\n\n", machine());
        let _ = writeln!(text, "| {} |", header.join(" | "));
        let _ = writeln!(text, "|{}", "---|".repeat(header.len()));
        for row in rows {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        self.sections.insert(title, text);
    }

    /// All tables of this run.
    pub fn text(&self) -> String {
        self.sections.iter().map(|(title, text)| format!("\n## {title}\n{text}")).collect()
    }

    /// Replaces the sections of the file that this run has measured.
    pub fn merge_into(&self, path: &str) -> Result<()> {
        let old = fs::read_to_string(path).unwrap_or_default();
        let mut sections: BTreeMap<String, String> = BTreeMap::new();
        for part in old.split("\n## ").skip(1) {
            let (title, text) = part.split_once('\n').unwrap_or((part, ""));
            sections.insert(title.to_owned(), format!("{}\n", text.trim_end()));
        }
        for (title, text) in &self.sections {
            sections.insert((*title).to_owned(), text.clone());
        }
        let mut out = HEAD.to_owned();
        for (title, text) in sections {
            let _ = write!(out, "\n## {title}\n{}\n", text.trim_end());
        }
        fs::write(path, out)?;
        Ok(())
    }
}

/// `2 x AMD EPYC ..., avx2, commit abc`.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field =
        |name: &str| info.lines().find(|l| l.starts_with(name)).and_then(|l| l.split_once(':'));
    let model = field("model name").map_or("unknown CPU", |(_, v)| v.trim());
    let flags = field("flags").map_or("", |(_, v)| v);
    let widest = ["avx512f", "avx2", "sse4_2"]
        .into_iter()
        .find(|f| flags.split_whitespace().any(|x| x == *f));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short", "HEAD"]).unwrap_or_default();
    let date = git(&["log", "-1", "--format=%cs"]).unwrap_or_default();
    // A machine that others use too shows in the tails of the times.
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    format!(
        "{cores} x {model} ({}), load {load}, commit {commit} of {date}",
        widest.unwrap_or("scalar")
    )
}

/// Microseconds with as many digits as they deserve.
pub fn us(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{:.2} ms", v / 1000.0),
        v if v >= 100.0 => format!("{v:.0} us"),
        v => format!("{v:.1} us"),
    }
}
