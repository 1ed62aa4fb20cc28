//! Models in Python as components in interpreters of another kind evaluate them; the glue calls those in their own.

use std::sync::Arc;

use stead_engine::IoSpec;
use stead_python::{Deadline, Host, HostCode, HostError, Value as Plain};
use stead_search::models::converted;
use stead_tensor::Tensor;

use super::beside::ends;
use super::host::{dtype_name, refused};
use super::infer::PythonModel;
use super::plain::array::{array, dense, read_array};
use super::plain::tensor::read_tensor;
use super::plain::{PlainError, dict, is_tensor};
use crate::Code;
use crate::evaluate::EvaluateError;

impl PythonModel {
    /// What it takes and gives, as other models tell it.
    pub(super) fn described(&self) -> Plain {
        let port = |spec: &IoSpec| {
            let dims = spec.dims.iter().flatten();
            let size = |size: Option<usize>| size.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1);
            let shape = dims.map(|dim| Plain::Int(size(dim.known()))).collect();
            dict([
                ("name", spec.name.as_str().into()),
                ("dtype", dtype_name(spec.dtype).into()),
                ("shape", Plain::List(shape)),
            ])
        };
        let list = |specs: &[IoSpec]| Plain::List(specs.iter().map(port).collect());
        dict([("inputs", list(self.own_inputs())), ("outputs", list(self.own_outputs()))])
    }

    /// The outputs of these names, all where none is named, as arrays.
    ///
    /// # Errors
    /// [`HostCode::Invalid`] of inputs that are missing, unknown or do not fit, of unknown outputs, and of models of sequences; what
    /// the model raises; that there was no interpreter in time.
    pub(super) fn evaluate(
        &self,
        inputs: Vec<(String, Plain)>,
        wanted: &[String],
        host: Arc<dyn Host>,
        deadline: Deadline,
    ) -> Result<Plain, HostError> {
        let invalid =
            |text: String| HostError::new(HostCode::Invalid, format!("model {} {text}", self.id()));
        if self.is_of_sequences() {
            return Err(invalid(
                "is one of sequences, whose state is with its clients; a component cannot ask for it"
                    .to_owned(),
            ));
        }
        let names = |specs: &[IoSpec]| {
            specs.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (of_inputs, of_outputs) = (self.own_inputs(), self.own_outputs());
        let is_output = |name: &&String| of_outputs.iter().any(|spec| spec.name == **name);
        if let Some(name) = wanted.iter().find(|name| !is_output(name)) {
            return Err(invalid(format!("has no output {name}; it has {}", names(of_outputs))));
        }
        let mut given = inputs;
        let is_input = |name: &str| of_inputs.iter().any(|spec| spec.name == name);
        if let Some((name, _)) = given.iter().find(|(name, _)| !is_input(name)) {
            return Err(invalid(format!("has no input {name}; it has {}", names(of_inputs))));
        }
        let mut tensors = Vec::with_capacity(of_inputs.len());
        for spec in of_inputs {
            let Some(at) = given.iter().position(|(name, _)| *name == spec.name) else {
                let (name, known) = (&spec.name, names(of_inputs));
                return Err(invalid(format!("needs the input {name}; it has {known}")));
            };
            let found = taken(given.swap_remove(at).1, spec);
            tensors.push(
                found.map_err(|text| {
                    invalid(format!("cannot take the input {}: {text}", spec.name))
                })?,
            );
        }
        self.check_rows(&tensors).map_err(invalid)?;
        let views: Vec<_> = tensors.iter().map(|tensor| Some(tensor.view())).collect();
        let internal = |text: String| HostError::new(HostCode::Internal, text);
        let argument = self.argument(&views).map_err(|error| match error {
            EvaluateError::Memory(text) => HostError::new(HostCode::Unavailable, text),
            EvaluateError::Failed(text) | EvaluateError::Input(text) => invalid(text),
            _ => internal("its inputs cannot be passed".to_owned()),
        })?;
        let answer = self.call(argument, host, ends(deadline, self.together()));
        let answer = answer.map_err(|error| refused(&error.into()))?;
        let found = self.read(answer).map_err(|text| {
            internal(self.together().failing().error(Code::Internal, &text).message)
        })?;
        let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
        let mut outputs = Vec::with_capacity(of_outputs.len());
        for (spec, tensor) in of_outputs.iter().zip(found) {
            if is_wanted(&spec.name) {
                let value = array(tensor).map_err(|error| internal(error.to_string()))?;
                outputs.push((spec.name.clone(), value));
            }
        }
        Ok(Plain::Dict(outputs))
    }

    /// Rows that a batch has.
    fn check_rows(&self, tensors: &[Tensor]) -> Result<(), String> {
        let most = self.max_rows();
        let rows = |tensor: &Tensor| tensor.shape().dims().first().copied().unwrap_or(1);
        let first = tensors.first().map_or(0, rows);
        if most == 0 || (tensors.iter().all(|tensor| rows(tensor) == first) && first <= most) {
            return Ok(());
        }
        let shown: Vec<String> = tensors.iter().map(|tensor| rows(tensor).to_string()).collect();
        Err(format!(
            "takes as many rows of each input, at most {most}, and not {}",
            shown.join(", ")
        ))
    }
}

/// What is given for an input, with elements of its type where nothing is lost.
fn taken(value: Plain, spec: &IoSpec) -> Result<Tensor, String> {
    let told = |error: PlainError| error.to_string();
    let found = match is_tensor(&value) {
        true => dense(&read_tensor(value).map_err(told)?).map_err(told)?,
        false => read_array(value).map_err(told)?,
    };
    let found = match found.dtype() == spec.dtype {
        true => found,
        false => converted(found.view(), spec.dtype)?,
    };
    match spec.accepts(found.shape().dims()) {
        true => Ok(found),
        false => Err(format!("expected {}, found {:?}", spec.dims_text(), found.shape().dims())),
    }
}
