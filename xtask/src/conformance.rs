//! `cargo xtask conformance`: the ONNX node tests, counted by tier, Vespa's cases of ranking expressions, and random models.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::tally::Tally;
use crate::{Outcome, differential, models, paths, process};

/// Help text.
pub const HELP: &str = "the ONNX node tests, counted by tier, Vespa's ranking expressions, random models

Usage: cargo xtask conformance [--generate-only] [--release] [--list-failures]

Generates the 1,884 node tests of the onnx package into target/onnx-node-tests, runs them with
`stead conformance` at the suite's tolerance (atol 1e-7) and at 1e-5, prints the counts by tier
(tests/data/onnx/onnx_node_tests_tier.csv) and fails if a case fails that tests/data/onnx/failing.txt
does not list, or one that it lists passes: the list can only shrink. So it runs the node tests that onnx 1.4.1, 1.6.0,
1.10.2 and 1.15.0 carry as files, with tests/data/onnx/failing_earlier.txt.
Then runs Vespa's cases (crates/expr/tests/data/vespa) with `stead tensor --conformance`, and 3,000 random one-node models
beside ONNX Runtime (`cargo xtask soak differential` goes on with other seeds): all must pass.

  --generate-only   only write the test folders
  --release         use the release build of stead
  --list-failures   name every case that fails, with its reason";

/// The cases that fail, with the reasons: a line `name: reason` for each, behind comments.
const FAILING: &str = "tests/data/onnx/failing.txt";

/// The same of earlier releases; the names begin with the release and a `/`.
const FAILING_EARLIER: &str = "tests/data/onnx/failing_earlier.txt";

/// The reason of cases that expect what a generator of NumPy once drew: ten bits are the same by chance in one run of some
/// hundred, which says nothing.
const RANDOM: &str = "random bits of NumPy";

/// Rounds of random models, of [`differential::CASES`] each.
const ROUNDS: u64 = 3;

/// Case -> `None` if it passed, else why not.
type Results = BTreeMap<String, Option<String>>;

/// Vespa's cases by what they are about.
const EXPRESSIONS: [(&str, &str); 3] = [
    ("tensor expressions", "conformance_some_2539.jsonl.zst"),
    ("scalar expressions", "scalar_eval_spec.jsonl"),
    ("encodings of tensors", "binary_format_test_spec.jsonl"),
];

/// Runs the task.
pub fn run(args: &[String]) -> Outcome {
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let folder = models::node_tests()?;
    if has("--generate-only") {
        println!("{}", folder.display());
        return Ok(true);
    }
    let profile = if has("--release") { "release" } else { "debug" };
    let mut build = process::cargo();
    build.args(["build", "--quiet", "--package", "stead"]);
    if has("--release") {
        build.arg("--release");
    }
    process::run(&mut build, "cargo build")?;
    let passes = count(profile, has("--list-failures"))?;
    let passes = earlier(profile, has("--list-failures"))? && passes;
    let passes = expressions(profile)? && passes;
    Ok(random_models(profile)? && passes)
}

/// Runs random one-node models and prints their counts. True if none fails.
fn random_models(profile: &str) -> Outcome {
    let mut total = Tally::default();
    for seed in 0..ROUNDS {
        total.add(differential::round(profile, seed, differential::CASES)?);
    }
    println!("random models: {total}");
    Ok(total.failed == 0)
}

/// Runs Vespa's cases of ranking expressions and prints their counts. True if none fails.
fn expressions(profile: &str) -> Outcome {
    let folder = paths::root().join("crates/expr/tests/data/vespa");
    let mut passes = true;
    for (name, file) in EXPRESSIONS {
        let mut command = Command::new(paths::stead(profile));
        command.args(["tensor", "--json", "--conformance"]).arg(folder.join(file));
        let output = command.output().map_err(|e| format!("stead tensor --conformance: {e}"))?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout)
            .map_err(|e| format!("output of stead tensor --conformance {file}: {e}"))?;
        println!("vespa {name}: {} passed, {} failed", report["passed"], report["failed"]);
        for failure in report["failures"].as_array().into_iter().flatten().take(5) {
            println!("  {failure}");
        }
        passes &= output.status.success();
    }
    Ok(passes)
}

/// Runs the cases with the binary of `profile` and prints the table. True if those fail that may.
pub fn count(profile: &str, list: bool) -> Outcome {
    let tiers = tiers()?;
    let strict = results(profile, &paths::node_tests(), None)?;
    let loose = results(profile, &paths::node_tests(), Some("1e-5"))?;
    println!("{:<6} {:>6} {:>18} {:>18}", "tier", "cases", "passed atol 1e-7", "passed atol 1e-5");
    let names: BTreeSet<&String> = tiers.values().collect();
    let passed = |results: &Results, tier: &String| {
        tiers
            .iter()
            .filter(|(case, t)| *t == tier && matches!(results.get(*case), Some(None)))
            .count()
    };
    for tier in names {
        let cases = tiers.values().filter(|t| *t == tier).count();
        println!("{tier:<6} {cases:>6} {:>18} {:>18}", passed(&strict, tier), passed(&loose, tier));
    }
    println!("{:<6} {:>6} {:>18} {:>18}", "all", tiers.len(), good(&strict), good(&loose));
    agrees(&strict, FAILING, list)
}

/// Runs the cases of earlier releases and prints their counts. True if those fail that may.
pub fn earlier(profile: &str, list: bool) -> Outcome {
    let folder = models::earlier_node_tests()?;
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut releases: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    releases.retain(|path| path.is_dir());
    releases.sort();
    let mut all = Results::new();
    for path in releases {
        let release = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let of_release = results(profile, &path, None)?;
        println!("onnx {release}: {} of {} node cases", good(&of_release), of_release.len());
        all.extend(
            of_release.into_iter().map(|(case, reason)| (format!("{release}/{case}"), reason)),
        );
    }
    agrees(&all, FAILING_EARLIER, list)
}

/// How many passed.
fn good(results: &Results) -> usize {
    results.values().filter(|reason| reason.is_none()).count()
}

/// Whether exactly those fail that a list names, after a line for each that does not agree and, if asked for, each that fails.
fn agrees(results: &Results, list: &str, names_all: bool) -> Outcome {
    let listed = failing(list)?;
    let mut agrees = true;
    for (case, reason) in results {
        if let Some(reason) = reason.as_ref().filter(|_| names_all) {
            println!("  {case}: {reason}");
        }
        match (reason, listed.get(case)) {
            (Some(reason), None) => println!("{case} fails and is not in {list}: {reason}"),
            (None, Some(why)) if why != RANDOM => {
                println!("{case} passes: take it out of {list}");
            }
            _ => continue,
        }
        agrees = false;
    }
    Ok(agrees)
}

/// The cases that may fail, with the reason.
fn failing(list: &str) -> Result<BTreeMap<String, String>, String> {
    let path = paths::root().join(list);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let cases = text.lines().filter(|line| !line.starts_with('#'));
    let split = |line: &str| {
        let (case, why) = line.split_once(':')?;
        Some((case.to_owned(), why.trim().to_owned()))
    };
    Ok(cases.filter_map(split).collect())
}

/// Case -> tier.
fn tiers() -> Result<BTreeMap<String, String>, String> {
    let path = paths::root().join("tests/data/onnx/onnx_node_tests_tier.csv");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let rows = text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split(',');
        Some((fields.next()?.to_owned(), fields.nth(2)?.to_owned()))
    });
    Ok(rows.collect())
}

fn results(profile: &str, folder: &Path, atol: Option<&str>) -> Result<Results, String> {
    let mut command = Command::new(paths::stead(profile));
    command.arg("conformance").arg(folder).arg("--json");
    if let Some(atol) = atol {
        command.args(["--atol", atol]);
    }
    let text = process::capture(&mut command, "stead conformance")?;
    let report: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| format!("output of stead conformance: {e}"))?;
    let cases = report["cases"].as_array().ok_or("output of stead conformance has no `cases`")?;
    let row = |case: &serde_json::Value| {
        let passed = case["result"] == "passed";
        let reason = case["reason"].as_str().unwrap_or("skipped").to_owned();
        Some((case["name"].as_str()?.to_owned(), (!passed).then_some(reason)))
    };
    Ok(cases.iter().filter_map(row).collect())
}
