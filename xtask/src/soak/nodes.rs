//! Node models in which something was changed at random.

use crate::{Outcome, models, paths, process};

/// Cases of a round: half a minute.
const CASES: u64 = 20_000;

/// Rounds for so long, each with new seeds, until one fails.
pub fn run(seconds: u64) -> Outcome {
    let folder = models::node_models()?;
    let seeds = super::rounds(seconds, CASES, |seed| {
        let mut test = process::cargo();
        test.args(["test", "--quiet", "--package", "stead-engine", "--test", "node_models"])
            .args(["--", "--nocapture"])
            .env("STEAD_NODE_MODELS", &folder)
            .env("STEAD_SEED", seed.to_string())
            .env("STEAD_SEEDS", CASES.to_string());
        // The test prints the seeds that fail, but for what ends it without a word.
        let passed = process::stream(&mut test, "the test of node models", |_| {})?;
        if !passed {
            let last = paths::target().join("tmp/node_models.seed");
            println!(
                "nodes: unless a seed above failed, the process ended in the case of {}",
                std::fs::read_to_string(last).unwrap_or_default()
            );
        }
        Ok(passed)
    })?;
    let Some(seeds) = seeds else { return Ok(false) };
    println!("nodes: {seeds} changed models");
    Ok(true)
}
