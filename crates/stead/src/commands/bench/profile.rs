//! `stead bench --profile`: where the time of runs goes, by kernel and by node.

use std::time::Duration;

use serde_json::{Value, json};
use stead_engine::{Profile, ProfileRow};

/// The sums over `runs` runs that took `total` together; the `nodes` that took longest are shown alone.
pub fn report(profile: &Profile, runs: usize, total: Duration, nodes: usize) -> Report {
    let (kernels, mut nodes_shown) = profile.sums();
    nodes_shown.truncate(nodes);
    let steps: Duration = kernels.iter().map(|row| row.time).sum();
    let between = total.saturating_sub(steps);
    Report { runs: runs.max(1), total, kernels, nodes: nodes_shown, between }
}

/// A profile to be shown; times are means of a run.
pub struct Report {
    runs: usize,
    total: Duration,
    kernels: Vec<ProfileRow>,
    nodes: Vec<ProfileRow>,
    /// What runs took outside of all steps.
    between: Duration,
}

impl Report {
    /// The tables for people.
    pub fn text(&self) -> String {
        let header = |what: &str| {
            format!(
                "{:>10} {:>6} {:>9} {:>9} {:>8}  {what}\n",
                "ms a run", "share", "calls", "GFLOP/s", "GB/s"
            )
        };
        let mut text = header("kernel");
        self.kernels.iter().for_each(|row| text += &self.line(row, row.kernel));
        let between = ProfileRow { time: self.between, ..ProfileRow::default() };
        text += &self.line(&between, "(between steps)");
        if !self.nodes.is_empty() {
            text.push('\n');
            text += &header("node");
            for row in &self.nodes {
                text += &self.line(row, &format!("{} [{}]", row.node, row.kernel));
            }
        }
        text
    }

    fn line(&self, row: &ProfileRow, what: &str) -> String {
        let shown = |rate: Option<f64>| rate.map_or("-".to_owned(), |rate| format!("{rate:.1}"));
        format!(
            "{:>10.4} {:>5.1}% {:>9} {:>9} {:>8}  {what}\n",
            self.ms(row),
            100.0 * self.share(row),
            format!("{:.0}", self.calls(row)),
            shown(row.gflops()),
            shown(row.gigabytes_per_second()),
        )
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let row = |row: &ProfileRow| {
            json!({
                "kernel": row.kernel, "ms": self.ms(row), "share": self.share(row), "calls": self.calls(row),
                "gflops": row.gflops(), "gb_per_s": row.gigabytes_per_second(),
            })
        };
        let node = |of: &ProfileRow| {
            let mut value = row(of);
            value["node"] = json!(of.node);
            value
        };
        json!({
            "kernels": self.kernels.iter().map(row).collect::<Vec<_>>(),
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
            "between_steps_ms": self.between.as_secs_f64() * 1e3 / self.runs as f64,
        })
    }

    fn ms(&self, row: &ProfileRow) -> f64 {
        row.time.as_secs_f64() * 1e3 / self.runs as f64
    }

    fn calls(&self, row: &ProfileRow) -> f64 {
        row.calls as f64 / self.runs as f64
    }

    fn share(&self, row: &ProfileRow) -> f64 {
        let total = self.total.as_secs_f64();
        if total > 0.0 { row.time.as_secs_f64() / total } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_engine::{StepRun, Work};

    #[test]
    fn steps_are_summed_by_kernel_and_by_node() {
        let profile = Profile::default();
        let us = Duration::from_micros;
        for (kernel, node, time, flops, bytes) in [
            ("gemm", "MatMul a", 30, 60_000, 3_000),
            ("add", "Add b", 10, 0, 20_000),
            ("gemm", "MatMul c", 20, 40_000, 2_000),
            ("gemm", "MatMul a", 30, 60_000, 3_000),
            ("add", "Add b", 10, 0, 20_000),
            ("gemm", "MatMul c", 20, 40_000, 2_000),
        ] {
            let work = Work { flops, bytes };
            profile.note(&StepRun { kernel, node, work, time: us(time) });
        }
        let report = report(&profile, 2, us(200), 2);
        let json = report.json();
        let kernel = &json["kernels"][0];
        assert_eq!(kernel["kernel"], "gemm");
        assert_eq!((kernel["calls"].as_f64(), kernel["share"].as_f64()), (Some(2.0), Some(0.5)));
        assert_eq!(kernel["gflops"].as_f64(), Some(2.0));
        let other = &json["kernels"][1];
        assert_eq!((&other["gflops"], other["gb_per_s"].as_f64()), (&Value::Null, Some(2.0)));
        assert_eq!(json["between_steps_ms"].as_f64(), Some(0.04));
        let nodes: Vec<_> = (0..3).map(|i| json["nodes"][i]["node"].as_str()).collect();
        assert_eq!(nodes, [Some("MatMul a"), Some("MatMul c"), None]);
        let text = report.text();
        assert!(
            text.contains("0.0300  30.0%         1       2.0      0.1  MatMul a [gemm]"),
            "{text}"
        );
    }
}
