//! The seam between the node and the engine: what the scheduler needs of a model.

use crate::memory::available;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use stead_engine::{
    IoSpec, Lift, LiftedState, LoadOptions, Model, Parallel, PlanStats, RunContext, RunError,
    Session, SessionOptions, Unlifted,
};
use stead_pool::Team;
use stead_tensor::TensorView;

/// Why an evaluation gave nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EvaluateError {
    /// It was told to stop.
    Cancelled,
    /// The inputs do not fit the model or each other, in words.
    Input(String),
    /// Memory is short, in words.
    Memory(String),
    /// Something else, in words.
    Failed(String),
}

/// What one run may use and when it must stop.
pub(crate) struct Run<'a> {
    /// Threads that may help; `None` for the calling one alone.
    pub(crate) team: Option<Team<'a>>,
    /// Asked between steps.
    pub(crate) cancelled: &'a (dyn Fn() -> bool + Sync),
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

    /// How long the last run on inputs of these shapes took.
    fn last_duration(&self, inputs: &[Option<TensorView<'_>>]) -> Option<Duration>;

    /// What the plan cache holds.
    fn plan_stats(&self) -> PlanStats;
}

/// Takes the outputs of a run, one call each: the place in the list of wanted ones, and the value.
pub(crate) type Sink<'a> = dyn FnMut(usize, TensorView<'_>) -> Result<(), EvaluateError> + 'a;

/// Makes a model from its file, and makes inputs and outputs of its inner memory where that is asked for. The text
/// of an error is for clients.
pub(crate) type Loader =
    dyn Fn(&Path, Option<Lift>) -> Result<Arc<dyn Evaluate>, String> + Send + Sync;

/// The part of the memory that the intermediate values of one run may take. A request whose shapes ask for more
/// gets an error; without the limit the system would end the whole server.
const RUN_SHARE: u64 = 4;

/// The loader of real models.
pub(crate) fn engine_loader() -> Arc<Loader> {
    let mut options = SessionOptions::default();
    let share = usize::try_from(available() / RUN_SHARE).unwrap_or(usize::MAX);
    options.max_arena_bytes = options.max_arena_bytes.min(share);
    Arc::new(move |path, lift| {
        let load = LoadOptions { lift, ..LoadOptions::default() };
        let model = Model::load(path, &load).map_err(|e| e.to_string())?;
        let session = Session::new(model, &options).map_err(|e| e.to_string())?;
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
        let parallel: &dyn Parallel = match &team {
            Some(team) => team,
            None => &stead_engine::Serial,
        };
        let cx = RunContext { parallel, cancelled: Some(run.cancelled) };
        self.run_with(inputs, &cx, |outputs| {
            for (place, &index) in wanted.iter().enumerate() {
                sink(place, outputs.get(index).map_err(translate)?)?;
            }
            Ok(())
        })
        .map_err(translate)?
    }

    fn last_duration(&self, inputs: &[Option<TensorView<'_>>]) -> Option<Duration> {
        Session::last_duration(self, inputs)
    }

    fn plan_stats(&self) -> PlanStats {
        Session::plan_stats(self)
    }
}

fn translate(error: RunError) -> EvaluateError {
    let text = error.to_string();
    match error {
        RunError::Cancelled => EvaluateError::Cancelled,
        RunError::Tensor(_) => EvaluateError::Memory(text),
        RunError::Internal(_) | RunError::OutputBuffer { .. } => EvaluateError::Failed(text),
        _ => EvaluateError::Input(text),
    }
}

/// The pool's threads in the kernels' terms.
struct Lent<'a>(Team<'a>);

impl Parallel for Lent<'_> {
    fn threads(&self) -> usize {
        self.0.threads()
    }

    fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        self.0.for_each(n, f);
    }
}
