//! Functions of named values: trees, and expressions of `.model` files.

use std::borrow::Cow;

use stead_app::application::rank::SourceType;
use stead_expr::{CellType, Cells, Dimension, Labels, TensorType, Value};
use stead_search::models::{Given, ModelError, ModelFunction, Scratch};
use stead_tensor::{DType, Tensor};

use super::Port;
use super::model::{Datum, Running};
use super::signature::{EvaluationArgument, EvaluationType};
use crate::Code;

/// A function of a model.
pub(super) struct Function {
    name: String,
    function: ModelFunction,
}

impl Function {
    pub(super) fn new(name: &str, function: ModelFunction) -> Function {
        Function { name: name.to_owned(), function }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What it takes.
    pub(super) fn inputs(&self) -> Vec<Port> {
        self.function.query_names().map(|(name, kind)| Port::of_source(name, kind)).collect()
    }

    /// What it takes, as Vespa tells of it: what is no tensor is a number.
    pub(super) fn arguments(&self) -> Vec<EvaluationArgument> {
        let argument = |(name, kind): (&str, &SourceType)| {
            let kind = match kind {
                SourceType::Tensor(kind) => kind.clone(),
                SourceType::Field(_) | SourceType::Text => TensorType::double(),
            };
            EvaluationArgument { name: name.to_owned(), kind: EvaluationType::Tensor(kind) }
        };
        self.function.query_names().map(argument).collect()
    }

    /// What it gives.
    pub(super) fn output(&self) -> Option<Port> {
        self.function.outputs().first().map(|output| Port::of_type(&self.name, &output.kind))
    }

    /// An input that is not given.
    pub(super) fn lacking(&self, given: &[(String, Datum)]) -> Option<String> {
        let is_given = |name: &str| given.iter().any(|(known, _)| known == name);
        self.function.query_names().find(|(name, _)| !is_given(name)).map(|(n, _)| n.to_owned())
    }

    /// Its value for inputs that are all given.
    ///
    /// # Errors
    /// The class, and what follows the name of the model.
    pub(super) fn run(
        &self,
        inputs: &[(String, Datum)],
        threads: Option<i32>,
        running: &Running<'_>,
    ) -> Result<Value, (Code, String)> {
        let mut values = Vec::new();
        for (name, kind) in self.function.query_names() {
            let wrong = |text: String| {
                (Code::InvalidArgument, format!("cannot take the input {name}: {text}"))
            };
            let Some((_, datum)) = inputs.iter().find(|(known, _)| known == name) else {
                return Err(wrong("it is missing".to_owned()));
            };
            let SourceType::Tensor(kind) = kind else {
                return Err(wrong("it is a text".to_owned()));
            };
            values.push(value(datum, kind).map_err(wrong)?);
        }
        if (running.cancelled)() {
            let text = "was not evaluated before the deadline".to_owned();
            return Err((Code::DeadlineExceeded, text));
        }
        let failed = |error: ModelError| (Code::InvalidArgument, format!("fails: {error}"));
        let given: Vec<Given<'_>> = values.iter().map(|value| Given::Value(value)).collect();
        running.compute.with_cores(threads, |cores| {
            let bound = self.function.for_query_on(&given, cores).map_err(failed)?;
            let mut found = bound.once(cores, &mut Scratch::default()).map_err(failed)?;
            let lost = || (Code::Internal, format!("has no value of {}", self.name));
            found.pop().ok_or_else(lost)
        })
    }
}

/// The value of an input of this type; an array takes its dimensions in the order of their names.
fn value<'v>(datum: &'v Datum, kind: &TensorType) -> Result<Cow<'v, Value>, String> {
    let array = match datum {
        Datum::Value(value) if kind.takes(value.kind()) => return Ok(Cow::Borrowed(value)),
        Datum::Value(value) => {
            return Err(format!("expected a {kind}, found a {}", value.kind()));
        }
        Datum::Array(array) => array,
    };
    let unfit = || {
        let (dtype, shape) = (array.dtype(), array.shape());
        format!("expected a {kind}, found an array {dtype}{:?}", shape.dims())
    };
    let shape = array.shape();
    if kind.mapped_count() > 0 || shape.rank() != kind.dimensions().len() {
        return Err(unfit());
    }
    let mut dimensions = Vec::with_capacity(shape.rank());
    for (dimension, size) in kind.dimensions().iter().zip(shape.dims()) {
        if dimension.size().is_some_and(|expected| expected != *size) {
            return Err(unfit());
        }
        dimensions.push(Dimension::indexed(&dimension.name, *size));
    }
    let kind = TensorType::new(kind.cell(), dimensions).map_err(|e| e.to_string())?;
    let cells = cells(array, &kind)?;
    Value::new(kind, Labels::default(), cells).map(Cow::Owned).map_err(|e| e.to_string())
}

/// The elements as cells of a type, rounded to those that Vespa has.
pub(super) fn cells(array: &Tensor, kind: &TensorType) -> Result<Cells<'static>, String> {
    if array.dtype() == DType::F32 && kind.cell() == CellType::Float {
        let list = array.as_slice::<f32>().map_err(|e| e.to_string())?;
        return Ok(Cells::Float(list.to_vec().into()));
    }
    let wide = stead_search::models::converted(array.view(), DType::F64)?;
    let numbers = wide.as_slice::<f64>().map_err(|e| e.to_string())?;
    Ok(Cells::from_numbers(kind.cell(), numbers))
}
