//! Where the time of one request went, for the client who asks.

use crate::{Code, Error, Param, Parameters};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use stead_engine::{Profile, ProfileRow, StepRun};

/// The parameter by which a request asks, and that of its answer.
const PARAMETER: &str = "stead_trace";

/// Nodes that an answer tells, those that took longest.
const NODES: usize = 100;

/// What is noted of a request.
#[derive(Debug)]
pub(crate) struct Trace {
    arrived: Instant,
    profile: Profile,
    /// When the run began and how long it took.
    run: Mutex<Option<(Instant, Duration)>>,
}

/// Whether a request asks for it.
pub(crate) fn is_wanted(parameters: &Parameters) -> bool {
    parameters.get(PARAMETER) == Some(&Param::Bool(true))
}

/// That it cannot be had of what the request asks for.
pub(crate) fn refused(of: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("parameter '{PARAMETER}': {of} cannot be traced"))
}

impl Trace {
    /// For a request that has come now.
    pub(crate) fn new(arrived: Instant) -> Trace {
        Trace { arrived, profile: Profile::default(), run: Mutex::default() }
    }

    /// Takes up a step of its run.
    pub(crate) fn note(&self, step: &StepRun<'_>) {
        self.profile.note(step);
    }

    /// Takes up its run.
    pub(crate) fn ran(&self, began: Instant) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = Some((began, began.elapsed()));
    }

    /// What was noted, as parameter of the answer: JSON in a text, since parameters have no structure.
    pub(crate) fn tell(&self, parameters: &mut Parameters) {
        let run = *self.run.lock().unwrap_or_else(PoisonError::into_inner);
        let (began, time) = run.unwrap_or((self.arrived, Duration::ZERO));
        let (kernels, mut nodes) = self.profile.sums();
        nodes.truncate(NODES);
        let steps: Duration = kernels.iter().map(|row| row.time).sum();
        let list = |rows: &[ProfileRow]| rows.iter().map(told).collect::<Vec<_>>();
        let all = json!({
            "wait_ms": ms(began.saturating_duration_since(self.arrived)),
            "run_ms": ms(time),
            "between_steps_ms": ms(time.saturating_sub(steps)),
            "kernels": list(&kernels),
            "nodes": list(&nodes),
        });
        parameters.insert(PARAMETER.into(), Param::Str(all.to_string()));
    }
}

fn told(row: &ProfileRow) -> Value {
    let mut value = json!({
        "kernel": row.kernel, "ms": ms(row.time), "calls": row.calls, "flops": row.work.flops,
        "bytes": row.work.bytes, "gflops": row.gflops(), "gb_per_s": row.gigabytes_per_second(),
    });
    if !row.node.is_empty() {
        value["node"] = row.node.as_str().into();
    }
    value
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_engine::Work;

    #[test]
    fn an_answer_tells_waiting_running_and_steps() {
        let trace = Trace::new(Instant::now());
        let work = Work { flops: 4_000, bytes: 2_000 };
        for node in ["MatMul a", "MatMul b"] {
            let time = Duration::from_micros(2);
            trace.note(&StepRun { kernel: "gemm", node, work, time });
        }
        trace.ran(Instant::now());
        let mut parameters = Parameters::new();
        trace.tell(&mut parameters);
        let Some(Param::Str(text)) = parameters.get(PARAMETER) else { panic!("{parameters:?}") };
        let told: Value = serde_json::from_str(text).unwrap();
        assert_eq!(
            (&told["kernels"][0]["calls"], &told["kernels"][0]["flops"]),
            (&2.into(), &8000.into())
        );
        assert_eq!(told["kernels"][0]["gflops"].as_f64(), Some(2.0));
        assert_eq!(told["nodes"].as_array().map(Vec::len), Some(2));
        assert!(told["kernels"][0].get("node").is_none() && told["nodes"][1]["node"] == "MatMul b");
        assert!(told["wait_ms"].as_f64() >= Some(0.0) && told["run_ms"].as_f64() >= Some(0.0));
    }

    #[test]
    fn only_truth_asks() {
        let of = |value| Parameters::from([(PARAMETER.into(), value)]);
        assert!(is_wanted(&of(Param::Bool(true))));
        assert!(!is_wanted(&of(Param::Bool(false))) && !is_wanted(&Parameters::new()));
    }
}
