//! What quantising a model has changed.

use serde_json::{Value, json};
use stead_quantize::{Difference, Report};

use super::QuantizeArgs;
use super::speed::Speed;
use crate::measure::human_bytes;

/// Nodes that were left alone and are shown.
const SHOWN: usize = 10;

/// All that is told.
pub(super) struct Outcome<'a> {
    pub args: &'a QuantizeArgs,
    pub changed: Report,
    /// Before and after.
    pub bytes: [u64; 2],
    pub runs: usize,
    pub outputs: Vec<Difference>,
    pub speed: Speed,
}

impl Outcome<'_> {
    pub fn print(&self) {
        if self.args.json {
            println!("{}", self.json());
        } else {
            self.text();
        }
    }

    fn json(&self) -> Value {
        let output = |d: &Difference| {
            json!({
                "name": d.name,
                "max_abs": d.max_abs,
                "mean_abs": d.mean_abs,
                "magnitude": d.magnitude,
                "cosine": d.cosine,
                "elements": d.elements,
            })
        };
        let left = |(node, why): &(String, String)| json!({"node": node, "reason": why});
        let mode = clap::ValueEnum::to_possible_value(&self.args.mode);
        json!({
            "mode": mode.map(|mode| mode.get_name().to_owned()),
            "quantized": self.changed.quantized,
            "left": self.changed.left.iter().map(left).collect::<Vec<_>>(),
            "bytes": {"original": self.bytes[0], "quantized": self.bytes[1]},
            "outputs": self.outputs.iter().map(output).collect::<Vec<_>>(),
            "speed_up": {
                "ratio": self.speed.ratio,
                "original_ms": self.speed.median_ms[0],
                "quantized_ms": self.speed.median_ms[1],
                "pairs": self.speed.pairs,
            },
            "inputs": match self.args.calibrate.is_empty() {
                true => json!({"random": true, "seed": self.args.seed, "runs": self.runs}),
                false => json!({"random": false, "runs": self.runs}),
            },
        })
    }

    fn text(&self) {
        let Report { quantized, left } = &self.changed;
        println!("{} nodes quantised, {} left as they are", quantized.len(), left.len());
        for (node, why) in left.iter().take(SHOWN) {
            println!("  {node}: {why}");
        }
        if left.len() > SHOWN {
            println!("  and {} more (--json names all)", left.len() - SHOWN);
        }
        let [before, after] = self.bytes;
        let share = 100.0 * after as f64 / before.max(1) as f64;
        println!(
            "{}: {}, the original {} ({share:.0} %)",
            self.args.output.display(),
            human_bytes(after),
            human_bytes(before)
        );
        match self.args.calibrate.is_empty() {
            true => println!(
                "compared on random inputs (seed {}), which are not those that the model is for: see --calibrate",
                self.args.seed
            ),
            false => println!("compared on {} runs of --calibrate", self.runs),
        }
        for d in &self.outputs {
            println!(
                "  {}: cosine {:.6}, off by at most {:.3e} and {:.3e} on average, of values up to {:.3e}",
                d.name, d.cosine, d.max_abs, d.mean_abs, d.magnitude
            );
        }
        let Speed { median_ms: [one, other], ratio, pairs } = &self.speed;
        println!(
            "{ratio:.2} times as fast: {other:.3} ms, the original {one:.3} ms ({pairs} pairs of runs)"
        );
    }
}
