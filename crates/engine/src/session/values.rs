//! Runs of models whose inputs or outputs may be sequences, optionals and maps.

use super::inputs::{check, check_type};
use super::{OwnedOutput, RunContext, Session};
use crate::error::RunError;
use crate::ir::{Form, Typed};
use crate::model::IoSpec;
use crate::plan::Arranged;
use crate::session::Outputs;
use stead_tensor::TensorView;

/// What an input or output of a model is in one run; `T` is a tensor.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<T> {
    /// A tensor.
    Tensor(T),
    /// A sequence of tensors of one element type.
    Sequence(Vec<T>),
    /// A map: its keys (`i64` or strings) and its values, vectors of one length. Of a key that stands there twice, the last
    /// value holds.
    Map {
        /// `[keys]`
        keys: T,
        /// `[keys]`
        values: T,
    },
    /// A sequence of maps that all have these keys.
    Maps {
        /// `[keys]`
        keys: T,
        /// `[maps, keys]`
        values: T,
    },
    /// An optional in which there is nothing.
    Nothing,
}

impl<T> Value<T> {
    /// The same of what `f` makes of each tensor.
    ///
    /// # Errors
    /// The first one of `f`.
    pub fn try_map<U, E>(self, f: impl FnMut(T) -> Result<U, E>) -> Result<Value<U>, E> {
        let mut f = f;
        Ok(match self {
            Value::Tensor(tensor) => Value::Tensor(f(tensor)?),
            Value::Sequence(list) => {
                Value::Sequence(list.into_iter().map(f).collect::<Result<_, _>>()?)
            }
            Value::Map { keys, values } => Value::Map { keys: f(keys)?, values: f(values)? },
            Value::Maps { keys, values } => Value::Maps { keys: f(keys)?, values: f(values)? },
            Value::Nothing => Value::Nothing,
        })
    }

    /// The same of what `f` makes of each tensor.
    pub fn map<'a, U>(&'a self, f: impl Fn(&'a T) -> U) -> Value<U> {
        match self {
            Value::Tensor(tensor) => Value::Tensor(f(tensor)),
            Value::Sequence(list) => Value::Sequence(list.iter().map(f).collect()),
            Value::Map { keys, values } => Value::Map { keys: f(keys), values: f(values) },
            Value::Maps { keys, values } => Value::Maps { keys: f(keys), values: f(values) },
            Value::Nothing => Value::Nothing,
        }
    }

    /// The tensor, if it is one.
    pub fn tensor(&self) -> Option<&T> {
        match self {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// What messages call it.
    pub fn noun(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor",
            Value::Sequence(_) => "a sequence",
            Value::Map { .. } => "a map",
            Value::Maps { .. } => "a sequence of maps",
            Value::Nothing => "nothing",
        }
    }
}

impl Session {
    /// Runs on values of any form by position in `model().inputs()` ([`Value::Nothing`] for an optional one that is absent
    /// too) and hands over copies of the outputs at these positions in `model().outputs()`.
    ///
    /// # Errors
    /// [`RunError`]; the session stays usable.
    pub fn run_values(
        &self,
        inputs: &[Value<TensorView<'_>>],
        cx: &RunContext<'_>,
        wanted: &[usize],
    ) -> Result<Vec<Value<OwnedOutput>>, RunError> {
        let specs = self.model.inputs();
        if inputs.len() != specs.len() {
            return Err(RunError::InputCount { expected: specs.len(), actual: inputs.len() });
        }
        let (mut tensors, mut lists) = (Vec::with_capacity(inputs.len()), Vec::new());
        for (index, (spec, value)) in specs.iter().zip(inputs).enumerate() {
            lists.push(arrange(spec, self.model.input_form(index), value, &mut tensors)?);
        }
        if lists.iter().all(|arranged| *arranged == Arranged::One) {
            lists.clear();
        }
        self.run_then(&tensors, &lists, &mut [], cx, |places, scratch, growing| {
            let outputs = Outputs::new(places, scratch.results(), &tensors, growing);
            wanted.iter().map(|&i| outputs.value(i)?.try_map(OwnedOutput::copy_of)).collect()
        })?
    }
}

/// Adds an input to the list of tensors, checked.
fn arrange<'a>(
    spec: &IoSpec,
    form: Form,
    value: &Value<TensorView<'a>>,
    tensors: &mut Vec<Option<TensorView<'a>>>,
) -> Result<Arranged, RunError> {
    let aligned = |view: &TensorView<'a>| match view.is_aligned() {
        true => Ok(Some(*view)),
        false => Err(RunError::Misaligned(spec.name.clone())),
    };
    match (form, value) {
        (Form::Tensor, Value::Tensor(view)) => {
            check(spec, view.dtype(), &view.shape())?;
            tensors.push(aligned(view)?);
            Ok(Arranged::One)
        }
        (Form::Tensor, Value::Nothing) if spec.optional => {
            tensors.push(None);
            Ok(Arranged::One)
        }
        (Form::OptionalTensor, Value::Tensor(view)) => {
            check_type(spec, view.dtype())?;
            tensors.push(aligned(view)?);
            Ok(Arranged::One)
        }
        (Form::Sequence | Form::OptionalSequence, Value::Sequence(views)) => {
            for view in views {
                check_type(spec, view.dtype())?;
                tensors.push(aligned(view)?);
            }
            Ok(Arranged::Many(views.len()))
        }
        (Form::OptionalTensor | Form::OptionalSequence, Value::Nothing) => Ok(Arranged::Nothing),
        (_, Value::Nothing) => Err(RunError::MissingInput(spec.name.clone())),
        (Form::MapByInt | Form::MapByString, Value::Map { keys, values }) => {
            let (key, wanted) = (keys.dtype(), form.key());
            if Some(key) != wanted {
                return Err(wrong_form(spec, form, &format!("keys of {key}")));
            }
            check_type(spec, values.dtype())?;
            if keys.shape().rank() != 1 || keys.shape() != values.shape() {
                let (keys, values) = (keys.shape(), values.shape());
                return Err(wrong_form(spec, form, &format!("keys {keys} and values {values}")));
            }
            tensors.push(aligned(keys)?);
            tensors.push(aligned(values)?);
            Ok(Arranged::Map(key))
        }
        (_, value) => Err(wrong_form(spec, form, value.noun())),
    }
}

/// An error that names what an input should be and what it is.
pub(super) fn wrong_form(spec: &IoSpec, form: Form, actual: &str) -> RunError {
    let expected = Typed { dtype: spec.dtype, form };
    let reason = format!("{expected} expected, got {actual}");
    RunError::Value { node: format!("input \"{}\"", spec.name), reason }
}
