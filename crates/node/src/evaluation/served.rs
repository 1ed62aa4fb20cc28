//! The models of an application for those who are no components of it.

use std::sync::Arc;

use super::bind::bind;
use super::choice::{choose, short};
use super::model::{Model, Running, Served};
use super::{Evaluated, EvaluationFunction, EvaluationInput, Models};
use crate::{Code, Error};

/// A function of a model, and the values of its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Evaluation {
    /// The model.
    pub model: String,
    /// What names the function: nothing where there is only one, its name, or the two parts of it.
    pub function: Vec<String>,
    /// The arguments by their names, the first of a name before others. Texts of names that the function does not have are left out:
    /// a URL may hold parameters for others.
    pub inputs: Vec<(String, EvaluationInput)>,
    /// The value of arguments that are not given.
    pub missing: Option<EvaluationInput>,
}

impl Evaluation {
    /// The bytes of the values.
    pub(crate) fn size(&self) -> usize {
        let size = |input: &EvaluationInput| match input {
            EvaluationInput::Text(text) | EvaluationInput::Json(text) => text.len(),
        };
        let inputs = self.inputs.iter().map(|(name, input)| name.len() + size(input));
        inputs.sum::<usize>() + self.missing.as_ref().map_or(0, size)
    }
}

/// The models of the application that is served, as clients see them.
#[derive(Clone)]
pub struct Evaluations(Arc<Models>);

impl Evaluations {
    /// Those of an application with `model-evaluation`; nothing of others.
    pub(crate) fn of(models: &Arc<Models>) -> Option<Evaluations> {
        models.is_served.then(|| Evaluations(Arc::clone(models)))
    }

    /// The names of the models, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names()
    }

    /// A model: its name and its functions. Names are matched without case where no other has them.
    ///
    /// # Errors
    /// [`Code::NotFound`] with the names that there are.
    pub fn model(
        &self,
        name: &str,
    ) -> Result<(&str, impl Iterator<Item = &EvaluationFunction>), Error> {
        let model = self.find(name)?;
        Ok((model.name(), model.functions().iter().map(|served| &served.function)))
    }

    /// A function: the name of its model and what it is.
    ///
    /// # Errors
    /// [`Code::NotFound`] with the names that there are.
    pub fn function(
        &self,
        model: &str,
        names: &[String],
    ) -> Result<(&str, &EvaluationFunction), Error> {
        let model = self.find(model)?;
        Ok((model.name(), &chosen(model, names)?.function))
    }

    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Model>, Error> {
        self.0.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.names().collect();
            let (shown, known) = (short(name), known.join(", "));
            let text = format!("No model named '{shown}'. Available models: {known}");
            Error::new(Code::NotFound, text)
        })
    }

    /// Evaluates a function of a model.
    ///
    /// # Errors
    /// [`Code::NotFound`] of functions; those of arguments and of [`Model::evaluate`].
    pub(crate) fn evaluate(
        model: &Model,
        asked: &Evaluation,
        running: &Running<'_>,
    ) -> Result<Evaluated, Error> {
        let served = chosen(model, &asked.function)?;
        check_names(served, asked)?;
        let inputs = bind(served, &asked.inputs, asked.missing.as_ref())?;
        let found = model.evaluate(inputs, std::slice::from_ref(&served.output), running)?;
        let name = model.name();
        let lost = || Error::new(Code::Internal, format!("model {name} gave no value"));
        let (_, datum) = found.into_iter().next().ok_or_else(lost)?;
        Evaluated::of(datum).map_err(|text| {
            Error::new(Code::Internal, format!("the value of model {name} is no tensor: {text}"))
        })
    }
}

/// The function that names select.
fn chosen<'m>(model: &'m Model, names: &[String]) -> Result<&'m Served, Error> {
    let functions: Vec<&str> =
        model.functions().iter().map(|served| served.function.name.as_str()).collect();
    let at = choose(model.name(), &functions, names)?;
    let lost = || Error::new(Code::Internal, format!("model {} has no functions", model.name()));
    model.functions().get(at).ok_or_else(lost)
}

fn check_names(served: &Served, asked: &Evaluation) -> Result<(), Error> {
    let arguments = &served.function.arguments;
    let is_known = |name: &str| arguments.iter().any(|known| known.name.eq_ignore_ascii_case(name));
    let is_wrong = |(name, input): &&(String, EvaluationInput)| {
        matches!(input, EvaluationInput::Json(_)) && !is_known(name)
    };
    let Some((name, _)) = asked.inputs.iter().find(is_wrong) else { return Ok(()) };
    let known: Vec<&str> = arguments.iter().map(|argument| argument.name.as_str()).collect();
    let (function, shown, known) = (&served.function.name, short(name), known.join(", "));
    let text = format!("Function '{function}' has no argument '{shown}'. Its arguments: {known}");
    Err(Error::new(Code::InvalidArgument, text))
}

impl std::fmt::Debug for Evaluations {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
