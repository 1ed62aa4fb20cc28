//! A model as a pool of sessions, of which each run has one to itself.

use crate::watch::{ASK, Watch};
use crate::{providers, types, values};
use ort::ErrorCode;
use ort::environment::Environment;
use ort::logging::LogLevel;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{RunOptions, Session, SessionInputValue};
use std::borrow::Cow;
use std::sync::{Condvar, Mutex, PoisonError};
use stead_engine::{BackendError, BackendModel, BackendOptions, IoSpec, ModelSource};
use stead_tensor::TensorView;

/// A model and its sessions. `ort` lets a session be run by one caller at a time.
pub(crate) struct Pooled {
    inputs: Vec<IoSpec>,
    outputs: Vec<IoSpec>,
    free: Mutex<Vec<Session>>,
    freed: Condvar,
    watch: Watch,
}

impl Pooled {
    /// Loads a model `options.runs` times.
    ///
    /// # Errors
    /// [`BackendError::Model`], [`BackendError::Type`].
    pub(crate) fn load(
        environment: &Environment,
        shares_threads: bool,
        source: ModelSource<'_>,
        options: BackendOptions<'_>,
    ) -> Result<Pooled, BackendError> {
        let first = session(environment, shares_threads, source, options)?;
        let specs = |direction, outlets: &[_]| {
            outlets.iter().map(|o| types::spec(direction, o)).collect::<Result<Vec<_>, _>>()
        };
        let inputs = specs("input", first.inputs())?;
        let outputs = specs("output", first.outputs())?;
        let mut sessions = vec![first];
        while sessions.len() < options.runs {
            sessions.push(session(environment, shares_threads, source, options)?);
        }
        let (free, freed) = (Mutex::new(sessions), Condvar::new());
        Ok(Pooled { inputs, outputs, free, freed, watch: Watch::default() })
    }

    /// A session that nobody runs, which comes back when it is dropped.
    fn take(&self, cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Taken<'_>, BackendError> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if cancelled() {
                return Err(BackendError::Cancelled);
            }
            if let Some(session) = free.pop() {
                return Ok(Taken { of: self, session: Some(session) });
            }
            free = self.freed.wait_timeout(free, ASK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A session in use.
struct Taken<'a> {
    of: &'a Pooled,
    session: Option<Session>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut free = self.of.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.session.take());
        self.of.freed.notify_one();
    }
}

fn session(
    environment: &Environment,
    shares_threads: bool,
    source: ModelSource<'_>,
    options: BackendOptions<'_>,
) -> Result<Session, BackendError> {
    let refused = |text: String| BackendError::Model(format!("onnxruntime: {text}"));
    let level = match options.optimize {
        true => GraphOptimizationLevel::All,
        false => GraphOptimizationLevel::Disable,
    };
    let builder = Session::builder(environment).map_err(|e| refused(e.to_string()))?;
    // What is wrong with a model comes back as an error; its remarks are not for this log.
    let builder = builder.with_log_level(LogLevel::Error).map_err(|e| refused(e.to_string()))?;
    let builder = builder.with_optimization_level(level).map_err(|e| refused(e.to_string()))?;
    let builder = match shares_threads {
        true => builder,
        false => {
            let one = builder.with_intra_threads(1).map_err(|e| refused(e.to_string()))?;
            one.with_inter_threads(1).map_err(|e| refused(e.to_string()))?
        }
    };
    let mut builder = providers::register(builder, options.providers).map_err(refused)?;
    let session = match source {
        ModelSource::File(path) => builder.commit_from_file(path),
        ModelSource::Bytes(bytes) => builder.commit_from_memory(bytes),
    };
    session.map_err(|e| refused(e.to_string()))
}

impl BackendModel for Pooled {
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
        cancelled: &(dyn Fn() -> bool + Sync),
        sink: &mut dyn FnMut(usize, TensorView<'_>),
    ) -> Result<(), BackendError> {
        let given =
            self.inputs.iter().zip(inputs).filter_map(|(spec, view)| Some((spec, (*view)?)));
        let given = given.map(|(spec, view)| Ok((Cow::from(&spec.name), values::input(view)?)));
        let given: Vec<(Cow<'_, str>, SessionInputValue<'_>)> =
            given.collect::<Result<_, BackendError>>()?;
        let name = |&index: &usize| {
            let spec = self.outputs.get(index).map(|spec| spec.name.as_str());
            spec.ok_or_else(|| BackendError::Input(format!("no output {index}")))
        };
        let names: Vec<&str> = wanted.iter().map(name).collect::<Result<_, _>>()?;
        // All outputs are computed: the library walks the whole graph anyway, and options that select some are not for two threads.
        let options = &RunOptions::new().map_err(failed)?;
        let bytes = inputs.iter().flatten().map(|view| view.bytes().len()).sum();
        let mut taken = self.take(cancelled)?;
        let Some(session) = taken.session.as_mut() else {
            return Err(BackendError::Run("a session without a session".to_owned()));
        };
        let run = move || session.run_with_options(given, options);
        let outputs = self
            .watch
            .run(bytes, options, cancelled, run)
            .map_err(|error| if cancelled() { BackendError::Cancelled } else { failed(error) })?;
        for (place, name) in names.iter().enumerate() {
            let value = outputs.get(name);
            let value = value.ok_or_else(|| BackendError::Run(format!("no output {name:?}")))?;
            values::output(value, |view| sink(place, view))?;
        }
        Ok(())
    }
}

/// ONNX Runtime calls by this code what is wrong with inputs.
fn failed(error: ort::Error) -> BackendError {
    match error.code() {
        ErrorCode::InvalidArgument => BackendError::Input(error.to_string()),
        _ => BackendError::Run(error.to_string()),
    }
}
