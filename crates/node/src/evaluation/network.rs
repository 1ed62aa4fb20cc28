//! ONNX models.

use std::collections::HashMap;
use std::sync::Arc;

use stead_app::BackendKind;
use stead_engine::{Backends, Hoist, IoSpec, LoadOptions, Model, Precision, Session};
use stead_expr::Dimension;
use stead_search::models::converted;
use stead_tensor::{Tensor, TensorView};

use super::Port;
use super::model::{Datum, Running, Served};
use super::signature::{EvaluationArgument, EvaluationFunction, EvaluationType, plain_name};
use crate::Code;
use crate::components::plain::array::dense;
use crate::evaluate::{Evaluate, EvaluateError, Run, session_options};
use crate::foreign::evaluate_other;

/// A network.
pub(super) struct Network {
    /// Shared with the repository that serves it too.
    session: Arc<dyn Evaluate>,
}

impl Network {
    pub(super) fn load(
        bytes: &[u8],
        beside: &dyn Fn(&str) -> Result<Vec<u8>, String>,
        precision: Precision,
    ) -> Result<Network, String> {
        let (options, whole) = (LoadOptions::default(), Hoist::default());
        let parts = Model::parts_from_files(bytes, beside, &options, &whole);
        let model = parts.map_err(|e| e.to_string())?.rest;
        let session =
            Session::new(model, &session_options(precision)).map_err(|e| e.to_string())?;
        Ok(Network { session: Arc::new(session) })
    }

    /// The same in another runtime.
    pub(super) fn load_other(
        bytes: &[u8],
        beside: &dyn Fn(&str) -> Result<Vec<u8>, String>,
        (backend, backends): (BackendKind, &Backends),
    ) -> Result<Network, String> {
        let other = backends.load(backend.name(), bytes, beside);
        let other = other.map_err(|e| format!("backend {}: {e}", backend.name()))?;
        Ok(Network { session: evaluate_other(other) })
    }

    pub(super) fn inputs(&self) -> Vec<Port> {
        let needed = self.session.inputs().iter().filter(|spec| !spec.optional);
        needed.map(Port::of_spec).collect()
    }

    pub(super) fn outputs(&self) -> Vec<Port> {
        self.session.outputs().iter().map(Port::of_spec).collect()
    }

    /// Its functions as Vespa has them: one for each output, of all inputs.
    pub(super) fn functions(&self, model: &str) -> Vec<Served> {
        let specs = self.session.inputs().iter().filter(|spec| !spec.optional);
        let argument = |spec: &IoSpec| EvaluationArgument {
            name: plain_name(&spec.name),
            kind: EvaluationType::of_spec(spec),
        };
        let mut arguments: Vec<_> = specs.map(|spec| (argument(spec), spec.name.clone())).collect();
        arguments.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        let (arguments, inputs): (Vec<_>, Vec<_>) = arguments.into_iter().unzip();
        let outputs = self.session.outputs().iter();
        let served = |spec: &IoSpec| {
            let name = plain_name(&spec.name);
            let result = EvaluationArgument {
                name: format!("onnxModel({model}).{name}"),
                kind: EvaluationType::of_spec(spec),
            };
            let (arguments, result) = (arguments.clone(), Some(result));
            Served {
                function: EvaluationFunction { name, arguments, result },
                output: spec.name.clone(),
                inputs: inputs.clone(),
                categories: Vec::new(),
            }
        };
        outputs.map(served).collect()
    }

    /// What the repository serves.
    pub(super) fn session(&self) -> Arc<dyn Evaluate> {
        self.session.clone()
    }

    /// Whether there is an input of this name, an optional one too.
    pub(super) fn takes(&self, name: &str) -> bool {
        self.session.inputs().iter().any(|spec| spec.name == name)
    }

    /// Runs on inputs that are all known.
    ///
    /// # Errors
    /// The class, and what follows the name of the model.
    pub(super) fn run(
        &self,
        inputs: Vec<(String, Datum)>,
        is_wanted: &dyn Fn(&str) -> bool,
        threads: Option<i32>,
        running: &Running<'_>,
    ) -> Result<Vec<(String, Datum)>, (Code, String)> {
        let model = &*self.session;
        let mut given: HashMap<String, Datum> = inputs.into_iter().collect();
        let mut tensors: Vec<Option<Tensor>> = Vec::with_capacity(model.inputs().len());
        for spec in model.inputs() {
            let Some(datum) = given.remove(&spec.name) else {
                if spec.optional {
                    tensors.push(None);
                    continue;
                }
                let names: Vec<_> = self.inputs().into_iter().map(|port| port.name).collect();
                let text = format!("needs the input {}; it has {}", spec.name, names.join(", "));
                return Err((Code::InvalidArgument, text));
            };
            let wrong = |text: String| {
                (Code::InvalidArgument, format!("cannot take the input {}: {text}", spec.name))
            };
            let array = array(datum).map_err(wrong)?;
            let array = match array.dtype() == spec.dtype {
                true => array,
                false => converted(array.view(), spec.dtype).map_err(wrong)?,
            };
            if !spec.accepts(array.shape().dims()) {
                let (expected, found) = (spec.dims_text(), array.shape());
                return Err(wrong(format!("expected {expected}, found {:?}", found.dims())));
            }
            tensors.push(Some(array));
        }
        let names: Vec<&str> = model.outputs().iter().map(|spec| spec.name.as_str()).collect();
        let wanted: Vec<usize> = (0..names.len()).filter(|at| is_wanted(names[*at])).collect();
        let views: Vec<Option<TensorView<'_>>> =
            tensors.iter().map(|tensor| tensor.as_ref().map(Tensor::view)).collect();
        let team = running.compute.team(threads);
        let run =
            Run { team, cancelled: running.cancelled, within: None, deadline: None, profile: None };
        let mut found = Vec::with_capacity(wanted.len());
        let ran = model.run(&views, &wanted, &run, &mut |at, view| {
            let name = wanted.get(at).and_then(|at| names.get(*at)).copied().unwrap_or_default();
            let tensor = view.to_tensor().map_err(|e| EvaluateError::Memory(e.to_string()))?;
            found.push((name.to_owned(), Datum::Array(tensor)));
            Ok(())
        });
        ran.map_err(explain)?;
        Ok(found)
    }
}

/// The array that an input is: the axes of a dense tensor are its dimensions in the order of their names.
fn array(datum: Datum) -> Result<Tensor, String> {
    match datum {
        Datum::Array(tensor) => Ok(tensor),
        Datum::Value(value) if value.kind().dimensions().iter().any(Dimension::is_mapped) => {
            Err(format!("expected an array, found a {}", value.kind()))
        }
        Datum::Value(value) => dense(&value).map_err(|e| e.to_string()),
    }
}

fn explain(error: EvaluateError) -> (Code, String) {
    let failed = |text: String| format!("cannot be evaluated: {text}");
    match error {
        EvaluateError::Cancelled | EvaluateError::NotQuick | EvaluateError::Late(_) => {
            (Code::DeadlineExceeded, "was not evaluated before the deadline".to_owned())
        }
        EvaluateError::Busy(text) => (Code::Overloaded, failed(text)),
        EvaluateError::Input(text) => (Code::InvalidArgument, failed(text)),
        EvaluateError::Memory(text) => (Code::ResourceExhausted, failed(text)),
        EvaluateError::Failed(text) => (Code::Internal, failed(text)),
    }
}
