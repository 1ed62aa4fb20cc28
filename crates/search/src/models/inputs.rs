//! The inputs of a model for a query, and for documents.

use stead_app::application::rank::{ModelInput, Source, SourceType};
use stead_expr::{Attribute, Bound, Rate, RunError, Stored, Value};

use super::columns::{Column, Documents, Given};
use super::error::ModelError;

/// A name that a model needs a value of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Name {
    pub(super) name: String,
    pub(super) kind: SourceType,
    pub(super) rate: Rate,
}

/// An input that knows where among the names of its model its own are.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) input: ModelInput,
    /// Among the names of the query.
    query: Vec<usize>,
    /// Among the names of documents.
    documents: Vec<usize>,
}

/// An input with the values of a query.
pub(super) enum BoundInput {
    /// Nobody asks.
    Nothing,
    /// The same value for all documents.
    Same(Value),
    /// The same text for all documents.
    SameText(String),
    /// A column as it is given.
    Direct(usize),
    /// An expression, and the columns that it takes.
    Computed(Bound, Vec<usize>),
}

/// The values of an input for documents.
pub(super) enum Values<'v> {
    Nothing,
    Same(&'v Value),
    SameText(&'v str),
    /// Of all documents, to be read by their places.
    Given(&'v Column<'v>),
    /// Of these documents in turn.
    Computed(Stored),
}

/// The names that inputs need, each once, those of the query and those of documents.
pub(super) fn names(inputs: Vec<ModelInput>) -> (Vec<Input>, Vec<Name>, Vec<Name>) {
    let (mut query, mut documents) = (Vec::new(), Vec::new());
    let place = |list: &mut Vec<Name>, name: Name| {
        list.iter().position(|n| *n == name).unwrap_or_else(|| {
            list.push(name);
            list.len() - 1
        })
    };
    let mut located = Vec::with_capacity(inputs.len());
    for input in inputs {
        let (mut of_query, mut of_documents) = (Vec::new(), Vec::new());
        let mut need = |name: String, kind: SourceType, rate: Rate| {
            let name = Name { name, kind, rate };
            match rate {
                Rate::Document => of_documents.push(place(&mut documents, name)),
                _ => of_query.push(place(&mut query, name)),
            }
        };
        match &input.source {
            Source::Expression(compiled) => {
                for (name, kind, rate) in compiled.inputs() {
                    need(name.to_owned(), SourceType::Tensor(kind.clone()), rate);
                }
            }
            Source::Attribute { name, kind } => {
                let kind = SourceType::Field(kind.clone());
                need(format!("attribute({name})"), kind, Rate::Document);
            }
            Source::Text(name) => need(format!("query({name})"), SourceType::Text, Rate::Query),
            Source::Nothing => {}
        }
        located.push(Input { input, query: of_query, documents: of_documents });
    }
    (located, query, documents)
}

impl Input {
    /// The names of documents that it needs, by number.
    pub(super) fn documents(&self) -> &[usize] {
        &self.documents
    }

    /// The input with the values of a query, which have been checked.
    pub(super) fn bind(
        &self,
        model: &str,
        given: &[Given<'_>],
        may_be_direct: bool,
    ) -> Result<BoundInput, ModelError> {
        let compiled = match &self.input.source {
            Source::Nothing => return Ok(BoundInput::Nothing),
            Source::Attribute { .. } => {
                return Ok(self
                    .documents
                    .first()
                    .map_or(BoundInput::Nothing, |at| BoundInput::Direct(*at)));
            }
            Source::Text(_) => {
                let text = self.query.first().and_then(|at| given.get(*at));
                return Ok(match text {
                    Some(Given::Text(text)) => BoundInput::SameText((*text).to_owned()),
                    _ => BoundInput::Nothing,
                });
            }
            Source::Expression(compiled) => compiled,
        };
        let is_name = may_be_direct && compiled.as_name().is_some();
        if let ([at], true) = (&self.documents[..], is_name) {
            return Ok(BoundInput::Direct(*at));
        }
        let values: Vec<&Value> = self
            .query
            .iter()
            .filter_map(|at| match given.get(*at) {
                Some(Given::Value(value)) => Some(*value),
                _ => None,
            })
            .collect();
        let failed = |error: RunError| self.failed(model, error);
        if self.documents.is_empty() {
            return compiled.run(&values).map(BoundInput::Same).map_err(failed);
        }
        let bound = compiled.for_query(&values).map_err(failed)?;
        Ok(BoundInput::Computed(bound, self.documents.clone()))
    }

    fn failed(&self, model: &str, error: RunError) -> ModelError {
        ModelError::Input { model: model.to_owned(), input: self.input.name.clone(), error }
    }

    /// The values for documents, whose columns have been checked.
    pub(super) fn values<'v>(
        &self,
        model: &str,
        bound: &'v BoundInput,
        documents: &Documents<'v>,
        scratch: &mut stead_expr::Scratch,
    ) -> Result<Values<'v>, ModelError> {
        Ok(match bound {
            BoundInput::Nothing => Values::Nothing,
            BoundInput::Same(value) => Values::Same(value),
            BoundInput::SameText(text) => Values::SameText(text),
            BoundInput::Direct(at) => {
                documents.columns.get(*at).map_or(Values::Nothing, Values::Given)
            }
            BoundInput::Computed(bound, columns) => {
                let attributes = attributes(documents, columns);
                let (count, index) = (documents.count, documents.index);
                let documents = stead_expr::Documents { count, index, attributes: &attributes };
                let stored = bound.stored(&documents, scratch);
                Values::Computed(stored.map_err(|error| self.failed(model, error))?)
            }
        })
    }
}

/// The columns of an expression, which are numbers or tensors.
fn attributes<'v>(documents: &Documents<'v>, columns: &[usize]) -> Vec<Attribute<'v>> {
    let attribute = |at: &usize| match documents.columns.get(*at) {
        Some(Column::Cells(attribute)) => Some(attribute.clone()),
        _ => None,
    };
    columns.iter().filter_map(attribute).collect()
}
