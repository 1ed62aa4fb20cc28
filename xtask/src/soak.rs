//! `cargo xtask soak`: the long loops.

mod nodes;
mod openapi;
mod python;

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::tally::Tally;
use crate::{Outcome, differential, paths, process};

/// Help text.
pub const HELP: &str = "the long loops: kills, interleavings, sequences, documents, queries, groupings, texts, graphs, neighbors, nodes, fuzz, differential, python, openapi

Usage: cargo xtask soak [kills|interleavings|sequences|documents|queries|groupings|texts|graphs|neighbors|nodes|fuzz|differential|python|openapi]
                        [--seconds N] [--kills N] [--orders N] [--changes N] [--reloads N] [--seed N]

  kills          kill -9 of a server under load, N times: with state_durability every_step no answered
                 step is lost or runs twice (default 200); while documents are fed over HTTP and
                 snapshots are written no acknowledged operation is lost or half there (default 500);
                 a failure names its seed
  interleavings  threads that meet in a table of sequences, in N orders (default 20,000) for each test,
                 chosen by shuttle; a failure prints the order
  sequences      random operations on sequences against a reference for N seconds, a new seed each round
  documents      random operations on documents, conditions, snapshots, queries and losses of power on a
                 simulated disk against a map for N seconds, new seeds each round
  queries        random queries of every operator over random documents against a look at each document, with all kinds
                 of attributes, for N seconds, new seeds each round; a failure prints the line that repeats it
  groupings      random groupings of random documents against counting, for N seconds, new seeds each round
  texts          matches, scores and the best of random texts and words beside tantivy, for N seconds, new seeds each
                 round (builds bench/peers/search)
  graphs         random graphs with and without the passes of the engine, quantised in every way, and changed, for N
                 seconds, new seeds each round; a failure prints its seed
  neighbors      N random updates and removes (default 1,000,000) of the vectors of a graph of 10,000 documents:
                 recall may not get worse; with one vector for each document, and with several
  nodes          node models in which something was changed at random, loaded and run for N seconds, new seeds each
                 round: none may panic, end the process, hang or take memory without end; a failure prints its seed
  fuzz           every target of fuzz/ for N seconds each (default 60), starting from its corpus;
                 needs cargo-fuzz (cargo install cargo-fuzz)
  differential   random one-node models against ONNX Runtime for N seconds, a new seed each round
  python         packages that are replaced N times (default 1,000) without growth; calls that end in every
                 way, in random order, for N seconds; six torch models, packaged, in every kind of interpreter
                 and as TorchScript (installs a pinned torch for Python 3.10, some 2 GB)
  openapi        requests that schemathesis makes of the OpenAPI documents of every port, for N seconds
                 (default 300): none may end in a failure of the server

Without a name, all of them.";

/// Seconds a loop runs.
const SECONDS: u64 = 60;

/// Seconds of requests that are made of the OpenAPI documents.
const SECONDS_OF_REQUESTS: u64 = 300;

/// How often a server of sequences is killed, and one of documents.
const KILLS: u64 = 200;
const KILLS_OF_DOCUMENTS: u64 = 500;

/// How often a package is replaced.
const RELOADS: u64 = 1000;

/// Changes of a graph of vectors, and its documents: they lie in 40 clusters, each of which has more than a search keeps.
const CHANGES: u64 = 1_000_000;
const NEIGHBORS: u64 = 10_000;

/// Orders of threads that each test tries.
const ORDERS: u64 = 20_000;

/// Runs the task.
pub fn run(args: &[String]) -> Outcome {
    let seconds = number(args, "--seconds")?.unwrap_or(SECONDS);
    let named: Vec<&str> = args.iter().map(String::as_str).filter(|a| LOOPS.contains(a)).collect();
    let chosen = if named.is_empty() { LOOPS.to_vec() } else { named };
    let mut passed = true;
    for name in chosen {
        match name {
            "fuzz" => passed &= fuzz(seconds)?,
            "differential" => passed &= differential(seconds)?,
            "kills" => {
                let (kills, seed) = (number(args, "--kills")?, number(args, "--seed")?);
                passed &= loop_of_kills("kills::", kills.unwrap_or(KILLS), seed)?;
                let kills = kills.unwrap_or(KILLS_OF_DOCUMENTS);
                passed &= loop_of_kills("kills_documents::", kills, seed)?;
            }
            "interleavings" => {
                passed &= interleavings(number(args, "--orders")?.unwrap_or(ORDERS))?;
            }
            "sequences" => passed &= sequences(seconds)?,
            "neighbors" => {
                passed &= neighbors(number(args, "--changes")?.unwrap_or(CHANGES))?;
            }
            "nodes" => passed &= nodes::run(seconds)?,
            "python" => {
                let (reloads, seed) = (number(args, "--reloads")?, number(args, "--seed")?);
                passed &= python::run(seconds, reloads.unwrap_or(RELOADS), seed)?;
            }
            "openapi" => {
                let (seconds, seed) = (number(args, "--seconds")?, number(args, "--seed")?);
                passed &= openapi::run(seconds.unwrap_or(SECONDS_OF_REQUESTS), seed)?;
            }
            _ => {
                let test = SEEDED.iter().find(|test| test.name == name);
                passed &= seeded(test.ok_or_else(|| format!("{name}: no such loop"))?, seconds)?;
            }
        }
    }
    Ok(passed)
}

const LOOPS: &[&str] = &[
    "kills",
    "interleavings",
    "sequences",
    "documents",
    "queries",
    "groupings",
    "texts",
    "graphs",
    "neighbors",
    "nodes",
    "fuzz",
    "differential",
    "python",
    "openapi",
];

/// The tests of threads that meet in a table of sequences, with many more orders.
fn interleavings(orders: u64) -> Outcome {
    let mut test = process::cargo();
    test.args(INTERLEAVINGS).env("STEAD_ITERATIONS", orders.to_string());
    let started = Instant::now();
    let passed = process::stream(&mut test, "the test of interleavings", |_| {})?;
    println!("interleavings: {orders} orders of each test in {} s", started.elapsed().as_secs());
    Ok(passed)
}

/// What `cargo` runs to search interleavings: a feature of one crate, so that no other build has it, and all that it needs as
/// [`process::SELECTION`] has it.
pub const INTERLEAVINGS: &[&str] = &[
    "test",
    "--quiet",
    process::SELECTION[0],
    process::SELECTION[1],
    process::SELECTION[2],
    "--features",
    "stead-node/shuttle",
    "--test",
    "interleavings",
    "interleavings",
];

/// A random test that takes `STEAD_SEED` and `STEAD_SEEDS`, and prints the seed that fails.
struct Seeded {
    name: &'static str,
    what: &'static str,
    /// The folder of its workspace, whose artifacts lie with those of the benchmark; empty for that of all crates.
    folder: &'static str,
    /// What cargo runs.
    args: &'static [&'static str],
    /// Seeds of a round.
    seeds: u64,
}

const SEEDED: [Seeded; 5] = [
    Seeded {
        name: "documents",
        what: "the simulation of documents",
        folder: "",
        args: &["--package", "stead-search", "--test", "all", "simulation"],
        seeds: 500,
    },
    // Of each seed some 200 queries.
    Seeded {
        name: "queries",
        what: "the test of random queries",
        folder: "",
        args: &["--package", "stead-search", "--test", "matching"],
        seeds: 100,
    },
    Seeded {
        name: "groupings",
        what: "the test of random groupings",
        folder: "",
        args: &["--package", "stead-search", "--test", "all", "random_groupings"],
        seeds: 2000,
    },
    // Of each seed 20 queries.
    Seeded {
        name: "texts",
        what: "the test of texts beside tantivy",
        folder: "bench/peers/search",
        args: &["--release", "matches_and_scores"],
        seeds: 500,
    },
    Seeded {
        name: "graphs",
        what: "the test of random graphs",
        folder: "",
        args: &["--package", "stead-quantize", "--test", "random"],
        seeds: 400,
    },
];

/// Rounds for so long, each with the next `step` seeds, until one fails; the number of seeds, if none did.
fn rounds(
    seconds: u64,
    step: u64,
    mut round: impl FnMut(u64) -> Outcome,
) -> Result<Option<u64>, String> {
    let until = Instant::now() + Duration::from_secs(seconds);
    // Seeds follow the clock, so that every soak sees new ones.
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let first = since_1970.as_secs() % 1_000_000_000;
    let mut seed = first;
    while Instant::now() < until {
        if !round(seed)? {
            return Ok(None);
        }
        seed += step;
    }
    Ok(Some(seed - first))
}

/// A random test, new seeds each round.
fn seeded(test: &Seeded, seconds: u64) -> Outcome {
    let seeds = rounds(seconds, test.seeds, |seed| {
        let mut command = process::cargo();
        command.args(["test", "--quiet"]).args(test.args);
        if !test.folder.is_empty() {
            command.current_dir(paths::root().join(test.folder));
            command.arg("--target-dir").arg(paths::target().join("peers"));
        }
        command.env("STEAD_SEED", seed.to_string()).env("STEAD_SEEDS", test.seeds.to_string());
        process::stream(&mut command, test.what, |_| {})
    })?;
    let Some(seeds) = seeds else { return Ok(false) };
    println!("{}: {seeds} seeds of each test", test.name);
    Ok(true)
}

/// The test of changed graphs of vectors, with many more changes.
fn neighbors(changes: u64) -> Outcome {
    let mut test = process::cargo();
    test.args(["test", "--quiet", "--release", "--package", "stead-ann", "do_not_make_it_worse"])
        .env("STEAD_DOCUMENTS", NEIGHBORS.to_string())
        .env("STEAD_CHANGES", changes.to_string());
    let started = Instant::now();
    let passed = process::stream(&mut test, "the test of changed graphs of vectors", |_| {})?;
    let seconds = started.elapsed().as_secs();
    println!("neighbors: {changes} changes of {NEIGHBORS} documents of each graph in {seconds} s");
    Ok(passed)
}

/// The random test of sequences against its reference, a new seed each round.
fn sequences(seconds: u64) -> Outcome {
    let seeds = rounds(seconds, 1, |seed| {
        let mut test = process::cargo();
        test.args(["test", "--quiet", "--package", "stead-sequence", "--test", "model"])
            .env("STEAD_SEED", seed.to_string());
        let is_right = process::stream(&mut test, "the random test of sequences", |_| {})?;
        if !is_right {
            println!("sequences: STEAD_SEED={seed} fails");
        }
        Ok(is_right)
    })?;
    let Some(seeds) = seeds else { return Ok(false) };
    println!("sequences: {seeds} rounds of 100,000 operations");
    Ok(true)
}

/// The number behind a flag.
fn number(args: &[String], flag: &str) -> Result<Option<u64>, String> {
    let Some(at) = args.iter().position(|a| a == flag) else { return Ok(None) };
    let value = args.get(at + 1).ok_or_else(|| format!("{flag} needs a number"))?;
    value.parse().map(Some).map_err(|_| format!("{flag}: `{value}` is not a number"))
}

/// The test of the real binary, for longer.
fn loop_of_kills(name: &str, kills: u64, seed: Option<u64>) -> Outcome {
    let mut test = process::cargo();
    test.args(["test", "--quiet", "--package", "stead", "--test", "all", name])
        .args(["--", "--nocapture"])
        .env("STEAD_KILLS", kills.to_string());
    if let Some(seed) = seed {
        test.env("STEAD_SEED", seed.to_string());
    }
    process::stream(&mut test, "the test of kills", |_| {})
}

fn differential(seconds: u64) -> Outcome {
    process::build()?;
    let mut total = Tally::default();
    // A failure names its seed, and the rounds go on.
    rounds(seconds, differential::CASES, |seed| {
        total.add(differential::round("debug", seed, differential::CASES)?);
        Ok(true)
    })?;
    println!("differential: {total}");
    Ok(total.failed == 0)
}

fn fuzz(seconds: u64) -> Outcome {
    let folder = paths::root().join("fuzz");
    if process::capture(process::cargo().args(["fuzz", "--version"]), "cargo fuzz")?.is_empty() {
        println!(
            "fuzz: nothing ran, cargo-fuzz is not installed (cargo install cargo-fuzz --locked)"
        );
        return Ok(false);
    }
    let targets = folder.join("fuzz_targets");
    let mut names: Vec<String> = fs::read_dir(&targets)
        .map_err(|e| format!("{}: {e}", targets.display()))?
        .filter_map(Result::ok)
        .filter_map(|entry| {
            entry.file_name().to_string_lossy().strip_suffix(".rs").map(str::to_owned)
        })
        .collect();
    names.sort();
    let mut passed = true;
    for name in &names {
        println!("== fuzz {name}");
        // New findings go to the first folder, which is not committed; the second one is.
        let corpus = format!("corpus/{name}");
        fs::create_dir_all(folder.join(&corpus)).map_err(|e| format!("{corpus}: {e}"))?;
        let seeds = Some(format!("seeds/{name}")).filter(|seeds| folder.join(seeds).is_dir());
        let mut command = process::cargo();
        // Sanitizers and the coverage flags of cargo-fuzz are unstable: without the former, the latter are allowed here.
        command
            .current_dir(&folder)
            .env("RUSTC_BOOTSTRAP", "1")
            .args(["fuzz", "run", "-s", "none", name, &corpus])
            .args(seeds);
        command
            .arg("--")
            .arg(format!("-max_total_time={seconds}"))
            .args(["-rss_limit_mb=2048", "-timeout=10"]);
        passed &= process::run(&mut command, name).inspect_err(|e| println!("{e}")).is_ok();
    }
    println!("{} fuzz targets, {seconds} s each", names.len());
    Ok(passed)
}
