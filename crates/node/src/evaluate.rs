//! The seam between the node and the engine: what the scheduler needs of a model.

use crate::memory::available;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stead_engine::{
    Growing, IoSpec, Lift, LiftedState, LoadOptions, Model, Parallel, PlanStats, RunContext,
    RunError, Session, SessionOptions, StepRun, Unlifted,
};
use stead_pool::Team;
use stead_tensor::{Growth, Precision, Tensor, TensorView};

/// Why an evaluation gave nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EvaluateError {
    /// It was told to stop.
    Cancelled,
    /// It is not known to be as quick as it must be.
    NotQuick,
    /// The inputs do not fit the model or each other, in words.
    Input(String),
    /// Memory is short, in words.
    Memory(String),
    /// Its deadline passed, in words.
    Late(String),
    /// It takes no more at the moment, in words.
    Busy(String),
    /// Something else, in words.
    Failed(String),
}

/// What one run may use and when it must stop.
pub(crate) struct Run<'a> {
    /// Threads that may help; `None` for the calling one alone.
    pub(crate) team: Option<Team<'a>>,
    /// Asked between steps.
    pub(crate) cancelled: &'a (dyn Fn() -> bool + Sync),
    /// Only if the last run on inputs of these shapes took no longer.
    pub(crate) within: Option<Duration>,
    /// When nobody waits for it any more, for what cannot ask between steps.
    pub(crate) deadline: Option<Instant>,
    /// Told of each step, if somebody wants to know.
    pub(crate) profile: Option<&'a (dyn Fn(StepRun<'_>) + Sync)>,
}

/// What metadata calls the form of a model, by KServe's rule `<project>_<format>`, and what runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) platform: &'static str,
    pub(crate) backend: &'static str,
}

impl Format {
    pub(crate) const ONNX: Format = Format { platform: "onnx_onnxv1", backend: "stead" };
    /// As Triton calls models in Python.
    pub(crate) const PYTHON: Format = Format { platform: "python", backend: "python" };
}

/// A state that becomes longer along an axis with every step, by the positions of its input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grows {
    pub(crate) input: usize,
    pub(crate) output: usize,
    pub(crate) axis: usize,
}

/// A loaded model that any number of threads may evaluate.
pub(crate) trait Evaluate: Send + Sync {
    /// The inputs in order.
    fn inputs(&self) -> &[IoSpec];

    /// The outputs in order.
    fn outputs(&self) -> &[IoSpec];

    /// The inputs and outputs that carry memory which was inside the model, when it was loaded with [`Lift`].
    fn lifted(&self) -> &[LiftedState] {
        &[]
    }

    /// Memory inside the model that stayed there: where, and why.
    fn unlifted(&self) -> &[Unlifted] {
        &[]
    }

    /// Its form.
    fn format(&self) -> Format {
        Format::ONNX
    }

    /// Whether another thread computes, and the one that runs it only waits: none of the pool then.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// What tells it apart from others whose states it cannot go on with, where that is not the content of its file.
    fn identity(&self) -> Option<&str> {
        None
    }

    /// Makes dimensions of inputs that are fixed at 1, given as input and axis, and those of outputs that go with
    /// them, one free dimension.
    ///
    /// # Errors
    /// In words, when the model is tied to one row.
    fn free_batch(&mut self, axes: &[(usize, usize)]) -> Result<(), String> {
        let _ = axes;
        Err("its batch is fixed".to_owned())
    }

    /// Runs on inputs by position and shows `sink` each wanted output by its position.
    fn run(
        &self,
        inputs: &[Option<TensorView<'_>>],
        wanted: &[usize],
        run: &Run<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), EvaluateError>;

    /// Runs on tensors and gives each wanted output. States that grow need not be copied: the longer one may share its
    /// memory with the one that was given, which stays what it is.
    fn run_growing(
        &self,
        inputs: &[Option<Tensor>],
        growing: &[Grows],
        wanted: &[usize],
        run: &Run<'_>,
    ) -> Result<Vec<Tensor>, EvaluateError> {
        let _ = growing;
        let views: Vec<_> = inputs.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
        let mut outputs = Vec::with_capacity(wanted.len());
        self.run(&views, wanted, run, &mut |_, view| {
            outputs.push(owned(view)?);
            Ok(())
        })?;
        Ok(outputs)
    }

    /// Does what can be done for the next step of a state that grows, once the last one is answered.
    fn plan_ahead(&self) {}

    /// What the plan cache holds.
    fn plan_stats(&self) -> PlanStats;
}

/// Takes the outputs of a run, one call each: the place in the list of wanted ones, and the value.
pub(crate) type Sink<'a> = dyn FnMut(usize, TensorView<'_>) -> Result<(), EvaluateError> + 'a;

/// Makes a model from its file, and makes inputs and outputs of its inner memory where that is asked for. The text
/// of an error is for clients.
pub(crate) type Loader =
    dyn Fn(&Path, Option<Lift>, Precision) -> Result<Arc<dyn Evaluate>, String> + Send + Sync;

/// The part of the memory that the intermediate values of one run may take. A request whose shapes ask for more
/// gets an error; without the limit the system would end the whole server.
const RUN_SHARE: u64 = 4;

/// How sessions of models run on this machine, in this precision.
pub(crate) fn session_options(precision: Precision) -> SessionOptions {
    let mut options = SessionOptions { precision, ..SessionOptions::default() };
    let share = usize::try_from(available() / RUN_SHARE).unwrap_or(usize::MAX);
    options.max_arena_bytes = options.max_arena_bytes.min(share);
    options
}

/// The loader of real models.
pub(crate) fn engine_loader() -> Arc<Loader> {
    Arc::new(|path, lift, precision| {
        let load = LoadOptions { lift, ..LoadOptions::default() };
        let model = stead_formats::read(path, &load.limits).map_err(|e| e.to_string())?;
        let model = Model::from_onnx(model, &load).map_err(|e| e.to_string())?;
        let session =
            Session::new(model, &session_options(precision)).map_err(|e| e.to_string())?;
        Ok(Arc::new(session))
    })
}

impl Evaluate for Session {
    fn inputs(&self) -> &[IoSpec] {
        self.model().inputs()
    }

    fn outputs(&self) -> &[IoSpec] {
        self.model().outputs()
    }

    fn lifted(&self) -> &[LiftedState] {
        self.model().lifted()
    }

    fn unlifted(&self) -> &[Unlifted] {
        self.model().unlifted()
    }

    fn free_batch(&mut self, axes: &[(usize, usize)]) -> Result<(), String> {
        Session::free_batch(self, axes).map_err(|e| e.to_string())
    }

    fn run(
        &self,
        inputs: &[Option<TensorView<'_>>],
        wanted: &[usize],
        run: &Run<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), EvaluateError> {
        let team = run.team.map(Lent);
        let cx = context(&team, run);
        self.run_with(inputs, &cx, |outputs| {
            for (place, &index) in wanted.iter().enumerate() {
                sink(place, outputs.get(index).map_err(translate)?)?;
            }
            Ok(())
        })
        .map_err(translate)?
    }

    fn run_growing(
        &self,
        inputs: &[Option<Tensor>],
        growing: &[Grows],
        wanted: &[usize],
        run: &Run<'_>,
    ) -> Result<Vec<Tensor>, EvaluateError> {
        let mut states = Vec::with_capacity(growing.len());
        for &Grows { input, output, axis } in growing {
            let Some(state) = inputs.get(input).and_then(Option::as_ref) else { continue };
            if Growth::suits(state.dtype(), &state.shape(), axis) {
                let growth = Growth::new(state, axis).map_err(memory)?;
                states.push(Growing { input, output, growth });
            }
        }
        let grows = |index: usize| states.iter().any(|s: &Growing| s.input == index);
        let views = inputs.iter().enumerate();
        let views = views.map(|(i, t)| t.as_ref().filter(|_| !grows(i)).map(Tensor::view));
        let views: Vec<_> = views.collect();
        let team = run.team.map(Lent);
        // Outputs are copied as long as the run's memory is theirs; a state that has grown needs no copy.
        let copied = self.run_growing(&views, &mut states, &context(&team, run), |outputs| {
            let each = wanted.iter().map(|&index| match outputs.grown(index) {
                Some(state) => Ok(Err(state)),
                None => owned(outputs.get(index).map_err(translate)?).map(Ok),
            });
            each.collect::<Result<Vec<_>, _>>()
        });
        let copied = copied.map_err(translate)??;
        let mut grown: Vec<_> = states.into_iter().map(|s| Some(s.growth.finish())).collect();
        let lost = || EvaluateError::Failed("a state is wanted twice".to_owned());
        let each = copied.into_iter().map(|output| match output {
            Ok(tensor) => Ok(tensor),
            Err(state) => grown.get_mut(state).and_then(Option::take).ok_or_else(lost),
        });
        each.collect()
    }

    fn plan_ahead(&self) {
        Session::plan_ahead(self);
    }

    fn plan_stats(&self) -> PlanStats {
        Session::plan_stats(self)
    }
}

fn context<'a>(team: &'a Option<Lent<'a>>, run: &Run<'a>) -> RunContext<'a> {
    let parallel: &dyn Parallel = match team {
        Some(team) => team,
        None => &stead_engine::Serial,
    };
    RunContext {
        parallel,
        cancelled: Some(run.cancelled),
        within: run.within,
        profile: run.profile,
        ..RunContext::default()
    }
}

fn owned(view: TensorView<'_>) -> Result<Tensor, EvaluateError> {
    view.to_tensor().map_err(memory)
}

fn memory(error: stead_tensor::TensorError) -> EvaluateError {
    EvaluateError::Memory(error.to_string())
}

fn translate(error: RunError) -> EvaluateError {
    let as_error = match &error {
        // A run that is not quick is the way of most steps of slow models.
        RunError::Cancelled => return EvaluateError::Cancelled,
        RunError::NotQuick => return EvaluateError::NotQuick,
        RunError::Tensor(_) => EvaluateError::Memory,
        RunError::Internal(_) | RunError::OutputBuffer { .. } => EvaluateError::Failed,
        _ => EvaluateError::Input,
    };
    as_error(error.to_string())
}

/// The pool's threads in the kernels' terms.
pub(crate) struct Lent<'a>(pub(crate) Team<'a>);

impl Parallel for Lent<'_> {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        self.0.for_each(n, f);
    }
}
