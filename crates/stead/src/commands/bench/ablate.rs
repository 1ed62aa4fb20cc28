//! `stead bench --ablate`: what instruction sets and passes bring, one left out at a time.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stead_engine::{Isa, LoadOptions, PassChoice, Session, SessionOptions};

use super::{WARM_UP, once};
use crate::commands::prepare::{self, InputArgs, Threads};
use crate::failure::Failure;
use crate::inputs::Spec;
use crate::measure::Times;

/// Pairs of runs of a variant and of the whole, at least.
const PAIRS: usize = 5;

/// A way to load and run the model.
struct Variant {
    label: String,
    isa: Isa,
    passes: PassChoice,
}

/// What a variant was measured as.
struct Rung {
    label: String,
    /// Nodes of the graph.
    nodes: usize,
    /// Steps of the plan.
    steps: usize,
    median_ms: f64,
    /// Its time over that of the whole, the median of pairs.
    ratio: f64,
}

/// The ladder: each instruction set with all passes, then the best with ever more of them, then with all but one.
fn variants(best: Isa) -> Vec<Variant> {
    let of_isa = |isa: Isa| Variant {
        label: format!("{}, all passes", isa.name()),
        isa,
        passes: PassChoice::All,
    };
    let of_passes = |label: &str, passes| Variant { label: label.to_owned(), isa: best, passes };
    let mut variants: Vec<Variant> =
        Isa::available().filter(|&isa| isa != best).map(of_isa).collect();
    variants.push(of_passes("no passes", PassChoice::None));
    variants.push(of_passes("basic passes", PassChoice::Basic));
    variants.push(of_passes("all passes", PassChoice::All));
    for name in PassChoice::names() {
        variants.push(of_passes(&format!("without {name}"), PassChoice::AllBut(name)));
    }
    variants
}

/// Measures the ladder and prints it.
pub fn run(
    model: &Path,
    inputs: &InputArgs,
    specs: &[Spec],
    threads: &Threads,
    measured: Duration,
    is_json: bool,
) -> Result<(), Failure> {
    let whole = load(model, None, PassChoice::All)?;
    let best = whole.0.isa();
    let variants = variants(best);
    let each = measured / u32::try_from(variants.len()).unwrap_or(u32::MAX);
    let mut rungs = Vec::new();
    for variant in &variants {
        let loaded = load(model, Some(variant.isa), variant.passes)?;
        rungs.push(measure(variant, &whole.0, &loaded, (inputs, specs), threads, each)?);
    }
    if is_json {
        println!(
            "{}",
            json!({"isa": best.name(), "ladder": rungs.iter().map(Rung::json).collect::<Vec<_>>()})
        );
        return Ok(());
    }
    println!("{:>8} {:>8} {:>11} {:>7}  {}", "nodes", "steps", "median ms", "ratio", best.name());
    for rung in &rungs {
        let Rung { label, nodes, steps, median_ms, ratio } = rung;
        println!("{nodes:>8} {steps:>8} {median_ms:>11.4} {ratio:>7.2}  {label}");
    }
    Ok(())
}

impl Rung {
    fn json(&self) -> Value {
        let Rung { label, nodes, steps, median_ms, ratio } = self;
        json!({"variant": label, "nodes": nodes, "steps": steps, "median_ms": median_ms, "ratio": ratio})
    }
}

/// The session and the nodes of the graph behind it.
fn load(path: &Path, isa: Option<Isa>, passes: PassChoice) -> Result<(Session, usize), Failure> {
    let options = LoadOptions { passes, ..LoadOptions::default() };
    let model = prepare::read(path, &options)?;
    let nodes = model.pass_reports().last().map_or(0, |report| report.nodes);
    let options = SessionOptions { isa, ..SessionOptions::default() };
    Ok((Session::new(model, &options).map_err(Failure::failed)?, nodes))
}

/// Runs a variant and the whole turn by turn.
fn measure(
    variant: &Variant,
    whole: &Session,
    (session, nodes): &(Session, usize),
    (inputs, specs): (&InputArgs, &[Spec]),
    threads: &Threads,
    measured: Duration,
) -> Result<Rung, Failure> {
    let tensors = inputs.tensors(session, specs)?;
    let steps = session.plan_view(&tensors.views()).map_err(Failure::failed)?.steps.len();
    for _ in 0..WARM_UP {
        once(session, &tensors, threads, None)?;
        once(whole, &tensors, threads, None)?;
    }
    let (mut times, mut ratios) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while times.len() < PAIRS || started.elapsed() < measured {
        let time = once(session, &tensors, threads, None)?;
        let beside = once(whole, &tensors, threads, None)?;
        times.push(time);
        ratios.push(time.as_secs_f64() / beside.as_secs_f64().max(f64::MIN_POSITIVE));
    }
    ratios.sort_by(f64::total_cmp);
    let ratio = ratios.get(ratios.len() / 2).copied().unwrap_or(f64::NAN);
    let median_ms = Times::new(times).percentile_ms(50.0);
    Ok(Rung { label: variant.label.clone(), nodes: *nodes, steps, median_ms, ratio })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_leaves_each_pass_out_once() {
        let best = Isa::detect();
        let variants = variants(best);
        let all_but = variants.iter().filter(|v| matches!(v.passes, PassChoice::AllBut(_))).count();
        assert_eq!(all_but, PassChoice::names().count());
        let others = variants.iter().filter(|v| v.isa != best).count();
        assert_eq!(others + 1, Isa::available().count());
    }
}
