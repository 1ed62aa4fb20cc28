//! `model` among document processors: what a model makes of fields, in others.

use stead_app::components::Parameters;
use stead_expr::Value;
use stead_store::DataType;

use super::terms::{
    Term, datum_value, field_kind, field_number, fits_field, port_type, value_field,
};
use super::{Making, concerned, field_type};
use crate::components::native::{Call, DocumentOperation, DocumentProcessor, Models, NativeError};
use crate::evaluation::{Datum, Port};

/// A model with what its inputs are made of and what is made of its outputs.
pub(super) struct Evaluated {
    models: Models,
    name: String,
    inputs: Vec<Term>,
    pub(super) outputs: Vec<Term>,
    /// The outputs of the model that are read.
    wanted: Vec<String>,
}

impl Evaluated {
    /// `word` is what the expressions of inputs name: `field` or `query`.
    ///
    /// # Errors
    /// Unknown models, inputs and outputs; inputs without an expression; expressions that are none.
    pub(super) fn new(
        given: &Parameters,
        models: &Models,
        word: &str,
        kind: &dyn Fn(&str) -> Result<stead_expr::TensorType, String>,
    ) -> Result<Evaluated, String> {
        let name = given.text("model").unwrap_or_default().to_owned();
        let (takes, gives) = models.ports(&name)?;
        let port = |ports: &[Port], known: &str, what: &str| {
            ports.iter().find(|port| port.name == known).cloned().ok_or_else(|| {
                let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
                format!("model {name} has no {what} {known}; it has {}", names.join(", "))
            })
        };
        let mut inputs = Vec::new();
        for (input, text) in given.map("inputs") {
            port(&takes, input, "input")?;
            inputs.push(Term::new(input, text, word, kind)?);
        }
        let is_given = |port: &&Port| inputs.iter().any(|term| term.name == port.name);
        // Of several functions those are computed whose inputs are there.
        if takes.iter().all(|port| port.kind.is_none())
            && let Some(lacking) = takes.iter().find(|port| !is_given(port))
        {
            return Err(format!(
                "inputs says nothing of the input {} of model {name}",
                lacking.name
            ));
        }
        let output = |known: &str| port_type(&port(&gives, known, "output")?);
        let mut outputs = Vec::new();
        for (target, text) in given.map("outputs") {
            outputs.push(Term::new(target, text, "output", &output)?);
        }
        let mut wanted: Vec<String> = Vec::new();
        for argument in outputs.iter().flat_map(Term::arguments) {
            if !wanted.contains(argument) {
                wanted.push(argument.clone());
            }
        }
        if wanted.is_empty() {
            return Err(format!("outputs reads no output of model {name}"));
        }
        Ok(Evaluated { models: models.clone(), name, inputs, outputs, wanted })
    }

    /// The names that its inputs are made of.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &String> {
        self.inputs.iter().flat_map(Term::arguments)
    }

    /// The values of its outputs by their targets; nothing where something is missing that an input is made of.
    pub(super) fn run(
        &self,
        value: &dyn Fn(&str) -> Result<Option<Value>, NativeError>,
        call: &Call,
    ) -> Result<Option<Vec<(String, Value)>>, NativeError> {
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for term in &self.inputs {
            let Some(value) = term.run(value)? else { return Ok(None) };
            inputs.push((term.name.clone(), Datum::Value(value)));
        }
        let mut found = Vec::with_capacity(self.wanted.len());
        for (name, datum) in self.models.evaluate(&self.name, inputs, &self.wanted, call)? {
            found.push((name, datum_value(datum)?));
        }
        let output = |name: &str| {
            Ok(found.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
        };
        let mut made = Vec::with_capacity(self.outputs.len());
        for term in &self.outputs {
            let lost = || NativeError::Failed(format!("model {} gave too little", self.name));
            made.push((term.name.clone(), term.run(&output)?.ok_or_else(lost)?));
        }
        Ok(Some(made))
    }
}

/// Fills fields by a model.
pub(super) struct Model {
    kinds: Vec<String>,
    evaluated: Evaluated,
    /// The types of the fields that are filled.
    targets: Vec<(String, DataType)>,
}

impl Model {
    pub(super) fn new(given: &Parameters, making: &Making<'_>) -> Result<Model, String> {
        let targets: Vec<&str> =
            given.map("outputs").iter().map(|(name, _)| name.as_str()).collect();
        let kinds = concerned(given, &targets, making)?;
        let kind = |name: &str| field_kind(name, field_type(&kinds, name)?);
        let evaluated = Evaluated::new(given, making.models, "field", &kind)?;
        let mut found = Vec::with_capacity(targets.len());
        for term in &evaluated.outputs {
            let of = field_type(&kinds, &term.name)?;
            fits_field(&term.name, of, term.kind())?;
            found.push((term.name.clone(), of.clone()));
        }
        let kinds = kinds.iter().map(|kind| kind.name().to_owned()).collect();
        Ok(Model { kinds, evaluated, targets: found })
    }
}

impl DocumentProcessor for Model {
    fn process(
        &self,
        mut operation: DocumentOperation,
        call: &Call,
    ) -> Result<Vec<DocumentOperation>, NativeError> {
        if !self.kinds.iter().any(|name| name == operation.kind().name()) {
            return Ok(vec![operation]);
        }
        let value = |name: &str| Ok(operation.get(name).and_then(field_number));
        let Some(made) = self.evaluated.run(&value, call)? else { return Ok(vec![operation]) };
        for (name, value) in made {
            if let Some((_, of)) = self.targets.iter().find(|(known, _)| *known == name) {
                operation.set(&name, Some(value_field(&name, of, value)?))?;
            }
        }
        Ok(vec![operation])
    }
}
