//! Node models in which something was changed at random are refused or run: without a panic, without an end of the process,
//! in bounded memory and time.
//!
//! The models are the ONNX node tests with the inputs of the tests as defaults (`tests/python/tools/node_models.py`): the smallest of
//! each operator in `tests/data/node_models`, or those of the folder that `STEAD_NODE_MODELS` names. A failure prints a line that repeats
//! it; `STEAD_SEEDS` are so many seeds from `STEAD_SEED` on (`cargo xtask soak nodes`). What ends the process without a word, for lack of
//! memory or of stack, has the seed that the file `node_models.seed` of the folder of tests holds.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    unsafe_code
)] // a panic is the report

mod case;
mod chance;
mod memory;
mod mutate;
mod tensors;

use case::run;
use chance::Chance;
use mutate::Pool;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use stead_onnx::Model;

/// Seeds of a plain `cargo test`.
const SEEDS: u64 = 3000;

/// Seconds of processor time after which a case hangs.
const MAX_SECONDS: u64 = 10;

/// The case that runs, plus one.
static NOW: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: memory::Limited = memory::Limited::new();

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The folder of the models.
fn folder() -> PathBuf {
    match std::env::var("STEAD_NODE_MODELS") {
        Ok(folder) => Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder),
        Err(_) => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/node_models"),
    }
}

/// How a case is repeated.
fn repro(seed: u64) -> String {
    let folder = std::env::var("STEAD_NODE_MODELS").map(|f| format!("STEAD_NODE_MODELS={f} "));
    let folder = folder.unwrap_or_default();
    format!("{folder}STEAD_SEED={seed} cargo test -p stead-engine --test node_models")
}

/// Seconds that the threads of this process have computed, or that have passed where nobody counts these.
fn seconds() -> u64 {
    // `man 5 proc`: fields 14 and 15 of a line whose second field ends with the last bracket, in hundredths of a second.
    let line = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = line.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: Vec<u64> = fields.skip(11).take(2).filter_map(|f| f.parse().ok()).collect();
    match ticks.is_empty() {
        false => ticks.iter().sum::<u64>() / 100,
        true => std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()),
    }
}

/// Ends the process when a case takes too long.
fn watch() {
    let (mut seen, mut since) = (0, seconds());
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = NOW.load(Relaxed);
        if now != seen || now == 0 {
            (seen, since) = (now, seconds());
        } else if seconds() - since >= MAX_SECONDS {
            eprintln!("a case hangs: {}", repro(now - 1));
            std::process::abort();
        }
    }
}

#[test]
fn changed_node_models_are_refused_or_run() {
    let folder = folder();
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "onnx"));
    paths.sort();
    let models: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(models.len() > 100, "{}: {} models", folder.display(), models.len());
    let mut operators = BTreeSet::new();
    for bytes in &models {
        let graph = Model::from_bytes(bytes, None).unwrap().graph;
        operators.extend(graph.nodes.into_iter().map(|node| (node.domain, node.op_type)));
    }
    let operators: Vec<_> = operators.into_iter().collect();
    let pool = Pool { operators: &operators };

    std::thread::spawn(watch);
    let told = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node_models.seed");
    let place = std::sync::Arc::new(Mutex::new(String::new()));
    let (hook, its) = (std::panic::take_hook(), place.clone());
    std::panic::set_hook(Box::new(move |info| {
        let at = info.location().map(|l| format!("{}:{}", l.file(), l.line()));
        let text = info.payload_as_str().unwrap_or_default();
        *its.lock().unwrap() = format!("{}: {text}", at.unwrap_or_default());
    }));

    let first = number("STEAD_SEED");
    let count = number("STEAD_SEEDS").unwrap_or(if first.is_some() { 1 } else { SEEDS });
    let first = first.unwrap_or(0);
    let mut ends = [0u64; 3];
    let mut findings = BTreeSet::new();
    for seed in first..first + count {
        std::fs::write(&told, repro(seed)).unwrap();
        let mut chance = Chance::new(seed);
        let chosen = chance.below(models.len());
        NOW.store(seed + 1, Relaxed);
        let end = catch_unwind(AssertUnwindSafe(|| run(&models[chosen], &pool, &mut chance)));
        NOW.store(0, Relaxed);
        match end {
            Ok(end) => ends[end as usize] += 1,
            Err(_) => {
                let finding = place.lock().unwrap().clone();
                // The same place once.
                let key = finding.split(": ").next().unwrap_or_default().to_owned();
                if findings.insert(key) {
                    let name = paths[chosen].file_name().unwrap_or_default().display();
                    eprintln!("{finding}\n  {name}: {}", repro(seed));
                }
            }
        }
    }
    std::panic::set_hook(hook);
    let [refused, stopped, ran] = ends;
    println!("{count} cases: {refused} refused when loaded, {stopped} when run, {ran} ran");
    assert!(findings.is_empty(), "{findings:#?}");
    // One that nothing was changed in, at least.
    assert!(count < SEEDS || ran > count / 20, "{ran} of {count} ran");
}
