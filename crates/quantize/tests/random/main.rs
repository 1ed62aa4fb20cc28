//! Random graphs give the same with and without the passes of the engine, as they are and quantised in every way; changed ones
//! give the same or are refused.
//!
//! A failure prints its seed: `STEAD_SEED=<seed> cargo test -p stead-quantize --test random` repeats it. `STEAD_SEEDS` are so many from
//! there on (`cargo xtask soak graphs`).
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)] // a panic is the report

mod graph;

use graph::{mutate, random};
use stead_engine::{LoadOptions, Model as Loaded, PassChoice, RunContext, Session, SessionOptions};
use stead_onnx::Model;
use stead_quantize::{Bits, Difference, Run, calibrate, compare, dynamic, fixed, weight_only};

/// Seeds of a plain `cargo test`.
const SEEDS: u64 = 60;

/// Tells the seed of what panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("STEAD_SEED={} cargo test -p stead-quantize --test random", self.0);
        }
    }
}

/// Runs a test for the seeds that were asked for.
fn each(test: impl Fn(u64)) {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("STEAD_SEED");
    let count = number("STEAD_SEEDS").unwrap_or(if first.is_some() { 1 } else { SEEDS });
    for seed in first.unwrap_or(0)..first.unwrap_or(0) + count {
        let told = Seed(seed);
        test(told.0);
    }
}

fn session(model: &Model, passes: PassChoice) -> Result<Session, String> {
    let load = LoadOptions { passes, ..LoadOptions::default() };
    let loaded = Loaded::from_bytes(&model.to_bytes(), None, &load).map_err(|e| e.to_string())?;
    Session::new(loaded, &SessionOptions::default()).map_err(|e| e.to_string())
}

/// How far a model with all passes is from the same without any.
fn differences(model: &Model, runs: &[Run]) -> Vec<Difference> {
    let [with, without] = [PassChoice::All, PassChoice::None].map(|p| session(model, p).unwrap());
    compare(&without, &with, runs, &RunContext::default(), || ()).unwrap()
}

/// That each output is within this share of its largest value and points the same way.
fn check(label: &str, found: &[Difference], share: f64, cosine: f64) {
    for d in found {
        let near = d.max_abs <= share * d.magnitude + 1e-5 && d.cosine >= cosine;
        assert!(near || d.magnitude < 1e-5, "{label}: {d:?}");
    }
}

#[test]
fn passes_change_nothing_but_the_last_bits() {
    each(|seed| {
        let (model, runs) = random(seed);
        let found = differences(&model.build().unwrap(), &runs);
        check("f32", &found, 1e-3, 0.999_99);
    });
}

#[test]
fn quantised_graphs_mean_the_same_with_and_without_passes() {
    each(|seed| {
        let (model, runs) = random(seed);
        let original = model.build().unwrap();
        let context = RunContext::default();
        type Rewrite<'a> = &'a dyn Fn(&mut Model) -> bool;
        let modes: [(&str, Rewrite<'_>); 5] = [
            ("dynamic", &|m| dynamic(m, false).is_ok()),
            ("dynamic by columns", &|m| dynamic(m, true).is_ok()),
            ("static", &|m| {
                let ranges = calibrate(&original, &runs, &context, || ()).unwrap();
                fixed(m, &ranges).is_ok()
            }),
            ("4 bits", &|m| weight_only(m, Bits::Four, 16).is_ok()),
            ("8 bits", &|m| weight_only(m, Bits::Eight, 32).is_ok()),
        ];
        for (label, rewrite) in modes {
            let mut model = original.clone();
            // A graph without products has nothing to quantise, which is an error.
            if rewrite(&mut model) {
                // Sums that differ in their last bits may fall to the other side of a step of a byte.
                check(label, &differences(&model, &runs), 0.1, 0.99);
            }
        }
    });
}

#[test]
fn changed_graphs_mean_the_same_or_are_refused() {
    each(|seed| {
        let (model, runs) = random(seed);
        let mut model = model.build().unwrap();
        mutate(&mut model, seed);
        let Ok(without) = session(&model, PassChoice::None) else {
            // What nothing reads may be left out by passes, so that the rest loads.
            drop(session(&model, PassChoice::All));
            return;
        };
        let context = RunContext::default();
        let all_finite = |session: &Session| {
            compare(session, session, &runs, &context, || ()).is_ok_and(|found| {
                found.iter().all(|d| d.magnitude.is_finite() && d.cosine.is_finite())
            })
        };
        if !all_finite(&without) {
            // It does not run, or gives numbers that cannot be compared.
            let with = session(&model, PassChoice::All);
            drop(with.map(|with| compare(&with, &with, &runs, &context, || ()).is_ok()));
            return;
        }
        let with = session(&model, PassChoice::All).unwrap();
        let found = compare(&without, &with, &runs, &context, || ()).unwrap();
        check("changed", &found, 1e-2, 0.999);
        let mut small = model.clone();
        if dynamic(&mut small, true).is_ok() {
            drop(session(&small, PassChoice::All));
        }
    });
}
