//! Models for tests: the file holds a line such as `add 5`, and the model adds 5 to its one input.

use crate::evaluate::{Evaluate, EvaluateError, Loader, Run, Sink};
use crate::{Embedded, InferRequest, NodeConfig, Parameters, Protocol, VersionRef};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use stead_engine::{Dim, IoSpec, PlanStats};
use stead_tensor::{DType, Tensor, TensorView};

/// Holds runs back until it is opened.
#[derive(Default)]
pub(super) struct Gate {
    /// Whether it is shut, and how many runs stand before it.
    state: Mutex<(bool, usize)>,
    /// The value that is held back; all are without one.
    only: Mutex<Option<f32>>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn shut(&self) {
        self.state.lock().unwrap().0 = true;
    }

    /// Holds back runs with this value among their inputs.
    pub(super) fn shut_for(&self, value: f32) {
        *self.only.lock().unwrap() = Some(value);
        self.shut();
    }

    pub(super) fn open(&self) {
        self.state.lock().unwrap().0 = false;
        self.changed.notify_all();
    }

    /// Waits until a run stands before the gate.
    pub(super) fn wait_for_run(&self) {
        self.wait_for_runs(1);
    }

    /// Waits until this many runs stand before the gate.
    pub(super) fn wait_for_runs(&self, runs: usize) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |s| s.1 < runs).unwrap());
    }

    fn pass(&self, values: &[f32], cancelled: &dyn Fn() -> bool) -> bool {
        if self.only.lock().unwrap().is_some_and(|only| !values.contains(&only)) {
            return !cancelled();
        }
        let mut state = self.state.lock().unwrap();
        state.1 += 1;
        self.changed.notify_all();
        while state.0 && !cancelled() {
            state = self.changed.wait_timeout(state, Duration::from_millis(1)).unwrap().0;
        }
        state.1 -= 1;
        !cancelled()
    }
}

struct Adder {
    add: f32,
    fast: bool,
    inputs: Vec<IoSpec>,
    outputs: Vec<IoSpec>,
    gate: Arc<Gate>,
}

/// A value that makes the model fail, and one that makes it panic.
pub(super) const POISON: f32 = 13.0;
pub(super) const BOMB: f32 = 666.0;

impl Evaluate for Adder {
    fn inputs(&self) -> &[IoSpec] {
        &self.inputs
    }

    fn outputs(&self) -> &[IoSpec] {
        &self.outputs
    }

    fn run(
        &self,
        inputs: &[Option<TensorView<'_>>],
        wanted: &[usize],
        run: &Run<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), EvaluateError> {
        if run.within.is_some() && !self.fast {
            return Err(EvaluateError::NotQuick);
        }
        let x = inputs[0].unwrap();
        let values = x.as_slice::<f32>().unwrap();
        if !self.gate.pass(values, run.cancelled) {
            return Err(EvaluateError::Cancelled);
        }
        if values.contains(&BOMB) {
            // Quiet: the test's output is for people.
            std::panic::resume_unwind(Box::new("bomb"));
        }
        if values.contains(&POISON) {
            return Err(EvaluateError::Input("poison".to_owned()));
        }
        let k = inputs[1].map_or(0.0, |k| k.as_slice::<f32>().unwrap()[0]);
        let sum = inputs.get(2).copied().flatten().map(|sum| sum.as_slice::<f32>().unwrap()[0]);
        let k = k + sum.unwrap_or(0.0);
        let y: Vec<f32> = values.iter().map(|v| v + self.add + k).collect();
        let outputs = [
            Tensor::from_slice(&y, &x.shape()).unwrap(),
            Tensor::from_slice(&[values.len() as i64], &[1]).unwrap(),
        ];
        let output = |i: usize| match self.outputs[i].name.as_str() {
            "count" => outputs[1].view(),
            _ => outputs[0].view(),
        };
        wanted.iter().enumerate().try_for_each(|(place, &i)| sink(place, output(i)))
    }

    fn plan_stats(&self) -> PlanStats {
        PlanStats::default()
    }
}

/// Reads `add N [fast] [count] [sum]`; with `count` there is a second output without a batch axis, with `sum` the
/// outputs of the step before are added.
pub(super) fn loader(gate: &Arc<Gate>) -> Arc<Loader> {
    let gate = Arc::clone(gate);
    Arc::new(move |path: &Path, _, _| {
        let text = std::fs::read_to_string(path).map_err(|e| e.kind().to_string())?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let ["add", add, flags @ ..] = words.as_slice() else {
            return Err("not a model".to_owned());
        };
        let spec = |name: &str, dtype, dims, optional| IoSpec {
            name: name.to_owned(),
            dtype,
            dims,
            optional,
        };
        let rows = || Some(vec![Dim::Symbol("batch".to_owned()), Dim::Known(2)]);
        let mut outputs = vec![spec("y", DType::F32, rows(), false)];
        if flags.contains(&"count") {
            outputs.push(spec("count", DType::I64, None, false));
        }
        let mut inputs =
            vec![spec("x", DType::F32, rows(), false), spec("k", DType::F32, Some(vec![]), true)];
        if flags.contains(&"sum") {
            inputs.push(spec("sum", DType::F32, rows(), false));
            outputs.push(spec("sum_out", DType::F32, rows(), false));
        }
        Ok(Arc::new(Adder {
            add: add.parse().map_err(|_| "bad number".to_owned())?,
            fast: flags.contains(&"fast"),
            inputs,
            outputs,
            gate: Arc::clone(&gate),
        }))
    })
}

/// A repository folder that is written piece by piece.
pub(super) struct Folder(pub(super) tempfile::TempDir);

impl Folder {
    pub(super) fn new(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| folder.write(path, text));
        folder
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // At once, as a careful person would.
        let half = path.with_extension("half");
        std::fs::write(&half, text).unwrap();
        std::fs::rename(half, path).unwrap();
    }

    pub(super) fn remove(&self, path: &str) {
        std::fs::remove_dir_all(self.0.path().join(path)).unwrap();
    }

    pub(super) fn config(&self) -> NodeConfig {
        NodeConfig { threads: Some(2), ..NodeConfig::path(self.0.path()) }
    }

    pub(super) fn start(&self) -> Arc<Embedded> {
        self.start_gated(&Arc::default())
    }

    pub(super) fn start_gated(&self, gate: &Arc<Gate>) -> Arc<Embedded> {
        Embedded::start_with(self.config(), loader(gate)).unwrap()
    }
}

/// A request for `model` with rows of two equal values.
pub(crate) fn request(model: &str, values: &[f32]) -> InferRequest {
    let pairs: Vec<f32> = values.iter().flat_map(|v| [*v, *v]).collect();
    InferRequest {
        model: model.to_owned(),
        version: VersionRef::Latest,
        id: String::new(),
        inputs: vec![("x".to_owned(), Tensor::from_slice(&pairs, &[values.len(), 2]).unwrap())],
        outputs: vec!["y".to_owned()],
        parameters: Parameters::new(),
        deadline: None,
        protocol: Protocol::KserveGrpc,
    }
}

/// The first value of each row of an answer.
pub(super) fn values(outputs: &[(String, Tensor)]) -> Vec<f32> {
    outputs[0].1.as_slice::<f32>().unwrap().chunks(2).map(|row| row[0]).collect()
}

/// Runs a future to its end.
pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    runtime().block_on(future)
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
