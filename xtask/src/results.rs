//! Sections of `bench/RESULTS.md` that have a table for each part, of which a run replaces those that it measured.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::{Outcome, paths};

/// A section of the results.
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// The task of `cargo xtask bench` that writes it.
    pub task: &'static str,
    /// What it begins with.
    pub about: &'static str,
    /// Its tables in their order.
    pub parts: &'static [&'static str],
    /// Whether goals are those for processors with AMX: tables made on others stand behind theirs and do not replace them.
    pub by_processor: bool,
}

/// One table with its heading and a note.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// The heading.
    pub title: String,
    /// What the numbers mean.
    pub note: String,
    /// The names of the columns; none when there is no table.
    pub header: Vec<&'static str>,
    /// The cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// In the place of a table that could not be measured.
    pub fn missing(part: &str, reason: &str) -> Table {
        let note = format!("not measured: {}", line(reason));
        Table { title: part.to_owned(), note, ..Table::default() }
    }

    /// In Markdown, without the heading.
    pub fn text(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let header: Vec<String> = self.header.iter().map(|&name| name.to_owned()).collect();
        let mut text = format!("{}\n", self.note);
        if !header.is_empty() {
            text += &format!("\n{}|{}\n", row(&header), "---|".repeat(header.len()));
        }
        text + &self.rows.iter().map(|cells| row(cells)).collect::<String>()
    }
}

/// A reason on one line, without what would break a table.
pub fn line(reason: &str) -> String {
    reason.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/")
}

/// The median of some numbers; of an even count the greater of the two in the middle.
pub fn middle(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}

/// `met` or `missed`.
pub fn goal(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

/// Measures the parts of a section that are asked for, or all, and replaces their tables. A part that cannot be measured
/// says so in its table and does not stop the others; it is false then.
pub fn each_part(
    section: &Section,
    wanted: &[&str],
    quick: bool,
    mut measure: impl FnMut(&str) -> Result<Table, String>,
) -> Outcome {
    let mut is_whole = true;
    for part in section.parts.iter().filter(|part| wanted.is_empty() || wanted.contains(part)) {
        println!("{}: {part}", section.task);
        let table = measure(part).unwrap_or_else(|reason| {
            is_whole = false;
            Table::missing(part, &reason)
        });
        println!("{}", table.text());
        // Each table as soon as it is there: a later part may take the machine down.
        replace(section, part, &table, quick)?;
    }
    Ok(is_whole)
}

/// Replaces the table of a part.
fn replace(section: &Section, part: &str, table: &Table, quick: bool) -> Result<(), String> {
    let file = paths::root().join("bench/RESULTS.md");
    let bad = |e: std::io::Error| format!("{}: {e}", file.display());
    let old = fs::read_to_string(&file).map_err(bad)?;
    let option = if quick { " --quick" } else { "" };
    let cpuinfo = cpuinfo();
    let key = match newest(&cpuinfo) {
        Some(newest) if section.by_processor => format!("{part}{ON}{newest}"),
        _ => part.to_owned(),
    };
    let text = format!(
        "\n{}, `cargo xtask bench {} {part}{option}`\n\n{}",
        machine(&cpuinfo),
        section.task,
        table.text().trim_end()
    );
    fs::write(&file, merged(section, &old, &key, &format!("{}\n{text}", table.title))).map_err(bad)
}

fn cpuinfo() -> String {
    fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

/// What the names of drawings end with, as `-avx2`: nothing on a processor that has all instructions.
pub fn of_processor() -> String {
    newest(&cpuinfo()).map_or_else(String::new, |newest| format!("-{newest}"))
}

/// Between a part and the instructions of the processor that its table is of.
const ON: &str = " on ";

/// The results with a new table. Tables stand under `### part: heading`, or under `### part on instructions: heading`.
fn merged(section: &Section, old: &str, part: &str, text: &str) -> String {
    let mut sections = old.split("\n## ");
    let head = sections.next().unwrap_or_default().trim_end();
    let mut sections: BTreeMap<&str, String> = sections
        .map(|section| section.split_once('\n').unwrap_or((section, "")))
        .map(|(title, rest)| (title, rest.trim().to_owned()))
        .collect();
    let own = sections.remove(section.title).unwrap_or_default();
    let tables = own.split("### ").skip(1).filter_map(|table| table.split_once(": "));
    let mut tables: BTreeMap<&str, &str> = tables.collect();
    tables.insert(part, text);
    let is_of = |key: &str, part: &str| {
        key.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with(ON))
    };
    let known =
        section.parts.iter().flat_map(|part| tables.iter().filter(|(key, _)| is_of(key, part)));
    let tables: String =
        known.map(|(part, text)| format!("\n\n### {part}: {}", text.trim_end())).collect();
    sections.insert(section.title, format!("{}{tables}", section.about));
    let sections = sections.into_iter().map(|(title, text)| format!("\n## {title}\n\n{text}\n"));
    format!("{head}\n{}", sections.collect::<String>())
}

/// What kernels are chosen by, in the order in which processors came to have it, as `/proc/cpuinfo` names it.
const INSTRUCTIONS: [&str; 5] = ["avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile"];

/// A value of the first processor in `/proc/cpuinfo`.
fn value<'a>(cpuinfo: &'a str, name: &str) -> &'a str {
    let named = |line: &'a str| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    };
    cpuinfo.lines().find_map(named).unwrap_or_default()
}

/// Those of the [`INSTRUCTIONS`] that it has.
fn instructions(cpuinfo: &str) -> Vec<&'static str> {
    let flags: Vec<&str> = value(cpuinfo, "flags").split(' ').collect();
    INSTRUCTIONS.into_iter().filter(|wanted| flags.contains(wanted)).collect()
}

/// The newest instructions of a processor that has not all.
fn newest(cpuinfo: &str) -> Option<&'static str> {
    let newest = instructions(cpuinfo).pop()?;
    (Some(&newest) != INSTRUCTIONS.last()).then_some(newest)
}

/// Which processor `/proc/cpuinfo` tells of: family, model and instructions. Ratios differ from one to the next, and the names that
/// virtual machines give do not tell them apart.
fn processor(cpuinfo: &str) -> String {
    let [vendor, family, model] =
        ["vendor_id", "cpu family", "model"].map(|name| value(cpuinfo, name));
    format!("{vendor} {family}/{model} with {}", instructions(cpuinfo).join(" "))
}

/// Cores, processor, load and commit.
fn machine(cpuinfo: &str) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let processor = processor(cpuinfo);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    let git = |args: &[&str]| {
        let output = Command::new("git").current_dir(paths::root()).args(args).output();
        let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
        text.unwrap_or_default()
    };
    let (commit, date) =
        (git(&["rev-parse", "--short", "HEAD"]), git(&["log", "-1", "--format=%cs"]));
    format!("{cores} cores ({processor}), load {load}, commit {commit} of {date}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_told_apart() {
        let cpuinfo = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon\n\
                       flags\t\t: fpu avx avx2 avx512f\n\nmodel\t\t: 86\n";
        assert_eq!(processor(cpuinfo), "GenuineIntel 6/85 with avx2 avx512f");
        assert_eq!(newest(cpuinfo), Some("avx512f"));
        let all = format!("flags : {}", INSTRUCTIONS.join(" "));
        assert_eq!((newest(&all), newest("flags : sse2")), (None, None));
    }

    const SECTION: Section = Section {
        title: "Sequences",
        task: "sequences",
        about: "About.",
        parts: &["streams", "peers", "cost"],
        by_processor: true,
    };

    #[test]
    fn a_part_replaces_its_own_table() {
        let old = "# Results\n\nWords.\n\n## Engine\n\n| a |\n\n## Server\n\n| b |\n";
        let cost = merged(&SECTION, old, "cost", "Cost\n\n| 1 |");
        let both = merged(&SECTION, &cost, "streams", "Streams\n\n| 2 |");
        let expected = "# Results\n\nWords.\n\n## Engine\n\n| a |\n\n## Sequences\n\nAbout.\n\n### streams: Streams\n\n| 2 |\n\n\
             ### cost: Cost\n\n| 1 |\n\n## Server\n\n| b |\n";
        assert_eq!(both, expected);
        assert_eq!(merged(&SECTION, &both, "cost", "Cost\n\n| 1 |"), expected);
        assert_eq!(merged(&SECTION, &both, "streams", "New\n\n| 3 |").matches("### ").count(), 2);
    }

    #[test]
    fn tables_of_other_processors_stand_behind() {
        let old = "# Results\n\n## Sequences\n\nAbout.\n\n### cost: Cost\n\n| 1 |\n";
        let other = merged(&SECTION, old, "cost on avx2", "Cost\n\n| 2 |");
        assert_eq!(other, format!("{old}\n### cost on avx2: Cost\n\n| 2 |\n"));
        let own = merged(&SECTION, &other, "cost", "Cost\n\n| 3 |");
        assert_eq!(own, other.replace("| 1 |", "| 3 |"));
    }

    #[test]
    fn what_is_missing_says_why() {
        let table = Table::missing("peers", "no\nnetwork | at all");
        assert_eq!(table.text(), "not measured: no network / at all\n");
    }
}
