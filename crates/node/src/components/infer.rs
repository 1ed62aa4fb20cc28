//! Models in Python as the scheduler sees them: inputs and outputs, and behind them the states of sequences.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stead_app::{Durability, ModelSettings};
use stead_engine::{Dim, IoSpec, LiftedState, PlanStats, StateInit};
use stead_python::{Deadline, Host, Value as Plain};
use stead_tensor::{Tensor, TensorView};

use super::Unit;
use super::describe::{Described, Spec};
use super::failure::ComponentError;
use super::plain::array::{array, read_array};
use super::plain::{dict, kind};
use super::together::Together;
use crate::Code;
use crate::evaluate::{Evaluate, EvaluateError, Format, Run, Sink};

/// The symbol of the axis that counts rows.
const BATCH: &str = "batch";

/// A model.
pub(super) struct PythonModel {
    call: Together,
    /// The most rows of a run; 0 where the first axis counts none.
    rows: u32,
    /// The content of its code, where states of its sequences are kept.
    identity: Option<String>,
    inputs: Vec<IoSpec>,
    outputs: Vec<IoSpec>,
    states: Vec<LiftedState>,
}

impl PythonModel {
    /// The model that a component is, and how it is served.
    ///
    /// # Errors
    /// In words for who deploys it.
    pub(super) fn new(
        unit: &Arc<Unit>,
        described: &Described,
        identity: Option<String>,
    ) -> Result<(Arc<PythonModel>, ModelSettings), String> {
        let rows = described.max_batch;
        for (what, specs) in described.lists() {
            for (at, spec) in specs.iter().enumerate() {
                let has_rows = spec.shape.first() == Some(&None);
                if rows > 0 && !has_rows {
                    return Err(format!(
                        "with max_batch {rows} the first axis of its {what} {} counts rows: its size must be None",
                        spec.name
                    ));
                }
                if specs.iter().take(at).any(|other| other.name == spec.name) {
                    return Err(format!("two of its {what}s are called {}", spec.name));
                }
            }
        }
        let taken = described.inputs.iter().chain(&described.outputs);
        let names: Vec<&str> = taken.map(|spec| spec.name.as_str()).collect();
        if let Some(state) = described.state.iter().find(|s| names.contains(&s.name.as_str())) {
            return Err(format!(
                "its state {} has the name of an input or output; rename one",
                state.name
            ));
        }
        let io = |spec: &Spec, is_state: bool| {
            let is_open = |size: &Option<usize>| size.is_none();
            // What no axis tells the rows of is the business of the code alone.
            let is_hidden = is_state && rows == 0 && spec.shape.iter().any(is_open);
            let dim = |(at, size): (usize, &Option<usize>)| match size {
                Some(size) => Dim::Known(*size),
                None if at == 0 && rows > 0 => Dim::Symbol(BATCH.to_owned()),
                None => Dim::Unknown,
            };
            let dims = spec.shape.iter().enumerate().map(dim).collect();
            let (name, dtype) = (spec.name.clone(), spec.dtype);
            let dims = (!is_hidden).then_some(dims);
            IoSpec { name, dtype, dims, optional: is_state }
        };
        let state = |spec: &Spec| {
            let IoSpec { name, dtype, dims, .. } = io(spec, true);
            let (input, output) = (name.clone(), name.clone());
            let batch_axis = (rows > 0).then_some(0);
            LiftedState { name, input, output, init: StateInit::Computed, batch_axis, dims, dtype }
        };
        let list = |specs: &[Spec]| {
            let own = specs.iter().map(|spec| io(spec, false));
            own.chain(described.state.iter().map(|spec| io(spec, true))).collect::<Vec<_>>()
        };
        let call = Together::one("component", Arc::clone(unit));
        let mut settings = ModelSettings {
            nireq: u32::try_from(call.most()).ok(),
            max_batch_size: Some(rows),
            // Nothing waits for others where nothing is joined.
            max_queue_delay: (rows == 0).then_some(Duration::ZERO),
            ..ModelSettings::default()
        };
        settings.sequences.stateful = Some(!described.state.is_empty());
        let keeps = described.durability != Durability::Memory;
        if keeps && described.state.is_empty() {
            return Err("its durability is that of sequences, and it has no state".to_owned());
        }
        if !described.state.is_empty() {
            settings.sequences.durability = Some(described.durability);
            settings.sequences.state_budget = Some(0);
        }
        let model = PythonModel {
            call,
            rows,
            identity,
            inputs: list(&described.inputs),
            outputs: list(&described.outputs),
            states: described.state.iter().map(state).collect(),
        };
        Ok((Arc::new(model), settings))
    }

    /// The id of the component.
    pub(super) fn id(&self) -> &str {
        self.call.id()
    }

    /// What calls it.
    pub(super) fn together(&self) -> &Together {
        &self.call
    }

    /// The most rows of a run; 0 where the first axis counts none.
    pub(super) fn max_rows(&self) -> usize {
        self.rows as usize
    }

    /// Whether runs hand on a state.
    pub(super) fn is_of_sequences(&self) -> bool {
        !self.states.is_empty()
    }

    /// The inputs that are no states.
    pub(super) fn own_inputs(&self) -> &[IoSpec] {
        let own = self.inputs.len() - self.states.len();
        self.inputs.get(..own).unwrap_or_default()
    }

    /// The outputs that are no states.
    pub(super) fn own_outputs(&self) -> &[IoSpec] {
        let own = self.outputs.len() - self.states.len();
        self.outputs.get(..own).unwrap_or_default()
    }

    /// The argument of a call.
    pub(super) fn argument(
        &self,
        inputs: &[Option<TensorView<'_>>],
    ) -> Result<Plain, EvaluateError> {
        let failed = |text: String| EvaluateError::Failed(text);
        let mut given = Vec::with_capacity(self.inputs.len());
        for (spec, view) in self.inputs.iter().zip(inputs) {
            let Some(view) = view else {
                given.push(None);
                continue;
            };
            let tensor = view.to_tensor().map_err(|e| EvaluateError::Memory(e.to_string()))?;
            let value = array(tensor).map_err(|e| failed(e.to_string()))?;
            given.push(Some((spec.name.clone(), value)));
        }
        let states = given.split_off(self.own_inputs().len().min(given.len()));
        let state: Vec<_> = states.into_iter().flatten().collect();
        let state = match state.len() {
            0 => Plain::None,
            some if some == self.states.len() => Plain::Dict(state),
            _ => return Err(failed("some of its states are missing".to_owned())),
        };
        let inputs = Plain::Dict(given.into_iter().flatten().collect());
        Ok(dict([("inputs", inputs), ("parameters", Plain::Dict(Vec::new())), ("state", state)]))
    }

    /// The outputs and states of an answer, in the order of the model's outputs.
    pub(super) fn read(&self, answer: Plain) -> Result<Vec<Tensor>, String> {
        let shown = kind(&answer);
        let (mut outputs, mut state) = (Plain::None, Plain::None);
        if let Plain::Dict(members) = answer {
            for (name, value) in members {
                match name.as_str() {
                    "outputs" => outputs = value,
                    "state" => state = value,
                    _ => {}
                }
            }
        }
        let Plain::Dict(mut all) = outputs else {
            return Err(format!("gave {shown} where its outputs were expected"));
        };
        if let Plain::Dict(states) = state {
            all.extend(states);
        }
        let mut found = Vec::with_capacity(self.outputs.len());
        for spec in &self.outputs {
            let at = all.iter().position(|(name, _)| *name == spec.name);
            let Some((_, value)) = at.map(|at| all.swap_remove(at)) else {
                return Err(format!("gave no {}", spec.name));
            };
            let tensor = read_array(value).map_err(|e| format!("gave as {}: {e}", spec.name))?;
            if tensor.dtype() != spec.dtype || !spec.accepts(tensor.shape().dims()) {
                let (dtype, shape) = (tensor.dtype(), tensor.shape());
                return Err(format!(
                    "gave as {} an array {dtype}{:?}; expected {}{}",
                    spec.name,
                    shape.dims(),
                    spec.dtype,
                    spec.dims_text()
                ));
            }
            found.push(tensor);
        }
        Ok(found)
    }

    /// A run in an interpreter that is free.
    ///
    /// # Errors
    /// [`ComponentError`].
    pub(super) fn call(
        &self,
        argument: Plain,
        host: Arc<dyn Host>,
        deadline: Deadline,
    ) -> Result<Plain, ComponentError> {
        let arrived = Instant::now();
        let session = self.call.session(deadline);
        let (waited, begun) = (arrived.elapsed(), Instant::now());
        let mut ran = None;
        let found = session.and_then(|mut session| {
            ran = Some(begun);
            self.call.call(&mut session, "infer", argument, host, deadline)
        });
        self.call.record(found.as_ref().err(), waited, ran);
        found
    }
}

impl Evaluate for PythonModel {
    fn inputs(&self) -> &[IoSpec] {
        &self.inputs
    }

    fn outputs(&self) -> &[IoSpec] {
        &self.outputs
    }

    fn lifted(&self) -> &[LiftedState] {
        &self.states
    }

    fn format(&self) -> Format {
        Format::PYTHON
    }

    fn is_elsewhere(&self) -> bool {
        true
    }

    fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    fn run(
        &self,
        inputs: &[Option<TensorView<'_>>],
        wanted: &[usize],
        run: &Run<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), EvaluateError> {
        if run.within.is_some() {
            return Err(EvaluateError::NotQuick);
        }
        let own = Instant::now().checked_add(self.call.timeout());
        let until = [own, run.deadline].into_iter().flatten().min();
        let deadline = until.map_or(Deadline::NEVER, Deadline::at);
        let answer = self.call(self.argument(inputs)?, self.call.host(), deadline);
        let answer = answer.map_err(explain)?;
        let found = self.read(answer).map_err(|text| {
            let text = self.call.failing().error(Code::Internal, &text).message;
            tracing::error!("{text}");
            EvaluateError::Failed(text)
        })?;
        for (place, output) in wanted.iter().enumerate() {
            let lost = || EvaluateError::Failed("an output is missing".to_owned());
            sink(place, found.get(*output).ok_or_else(lost)?.view())?;
        }
        Ok(())
    }

    fn plan_stats(&self) -> PlanStats {
        PlanStats::default()
    }
}

fn explain(error: ComponentError) -> EvaluateError {
    let text = match &error.traceback {
        Some(traceback) => format!("{}\n{}", error.message, traceback.trim_end()),
        None => error.message,
    };
    match error.code {
        Code::InvalidArgument => EvaluateError::Input(text),
        Code::DeadlineExceeded => EvaluateError::Late(text),
        Code::Overloaded | Code::Unavailable => EvaluateError::Busy(text),
        _ => EvaluateError::Failed(text),
    }
}
