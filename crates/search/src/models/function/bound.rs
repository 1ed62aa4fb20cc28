//! A model with the values of a query, and its runs.

use stead_app::application::rank::{ModelOutput, SourceType};
use stead_app::schema::FieldType;
use stead_expr::{Attribute, Stored, Value};
use stead_kernels::{Parallel, Serial};

use super::{Inner, Kind, ModelFunction};
use crate::models::body::BoundBody;
use crate::models::columns::{Column, Documents};
use crate::models::error::ModelError;
use crate::models::inputs::BoundInput;
use crate::models::onnx::{self, BoundNetwork, Known};
use crate::models::trees;

/// What a query makes of a model.
pub(super) enum BoundKind {
    Trees,
    Onnx(BoundNetwork),
    Body(BoundBody),
}

/// A model with the values of a query.
pub struct BoundModel {
    pub(super) function: ModelFunction,
    pub(super) inputs: Vec<BoundInput>,
    pub(super) kind: BoundKind,
}

/// Memory that runs use again; one for each thread.
#[derive(Debug, Default)]
pub struct Scratch {
    expressions: stead_expr::Scratch,
    trees: trees::Scratch,
    onnx: onnx::Scratch,
}

impl BoundModel {
    /// The values of all outputs for documents, a column for each.
    ///
    /// # Errors
    /// When columns are missing or do not fit, or an expression or the model fails.
    pub fn run(
        &self,
        documents: &Documents<'_>,
        scratch: &mut Scratch,
    ) -> Result<Vec<Stored>, ModelError> {
        self.run_known(documents, None, &Serial, scratch)
    }

    /// The same on some cores, for documents of which something is [known](ModelFunction::known), and keeps what was not. The
    /// columns of names that [nothing else](KeptName::is_only) takes then have the missing documents only; there is no index.
    /// The values do not depend on how many cores there are.
    ///
    /// # Errors
    /// As for [`BoundModel::run`].
    pub fn run_known(
        &self,
        documents: &Documents<'_>,
        known: Option<Known>,
        cores: &dyn Parallel,
        scratch: &mut Scratch,
    ) -> Result<Vec<Stored>, ModelError> {
        let Inner { name, kind, inputs, outputs, .. } = &*self.function.inner;
        self.check(documents, known.as_ref())?;
        let mut values = Vec::with_capacity(inputs.len());
        for (input, bound) in inputs.iter().zip(&self.inputs) {
            values.push(input.values(name, bound, documents, &mut scratch.expressions)?);
        }
        let failed = |text| ModelError::Run { model: name.clone(), text };
        match (kind, &self.kind) {
            (Kind::Onnx(network), BoundKind::Onnx(bound)) => {
                network.run(bound, &values, documents, known, cores, &mut scratch.onnx)
            }
            (Kind::Body(_), BoundKind::Body(bound)) => {
                let column = bound.run(&values, documents.count, &mut scratch.expressions);
                let column = column.map_err(|e| self.function.body_failed(e))?;
                Ok(vec![column])
            }
            (Kind::Onnx(_) | Kind::Body(_), _) => Err(failed("it is bound as another".to_owned())),
            (Kind::Trees(trees), _) => {
                let scores = trees.run(&values, documents, &mut scratch.trees).map_err(failed)?;
                let column = |output: &ModelOutput| {
                    let cells = stead_expr::Cells::Double(scores.clone().into());
                    Stored::dense(output.kind.clone(), cells).ok_or_else(|| {
                        failed("its outputs are not what the package says".to_owned())
                    })
                };
                outputs.iter().map(column).collect()
            }
        }
    }

    /// The value of each output of a model of rate [`Rate::Query`].
    ///
    /// # Errors
    /// When an expression or the model fails, or the model needs documents.
    pub fn once(
        &self,
        cores: &dyn Parallel,
        scratch: &mut Scratch,
    ) -> Result<Vec<Value>, ModelError> {
        let documents = Documents { count: 1, index: None, columns: &[] };
        let columns = self.run_known(&documents, None, cores, scratch)?;
        let value = |column: &Stored| {
            let values = column.values();
            let failed = || ModelError::Run {
                model: self.function.inner.name.clone(),
                text: "it has no output".to_owned(),
            };
            values.into_iter().next().ok_or_else(failed)
        };
        columns.iter().map(value).collect()
    }

    /// Checks that there is a column of the right form for each name.
    fn check(&self, documents: &Documents<'_>, known: Option<&Known>) -> Result<(), ModelError> {
        let Inner { name: model, documents: names, kept, .. } = &*self.function.inner;
        let (expected, found) = (names.len(), documents.columns.len());
        if expected != found {
            return Err(self.function.count("columns of documents", expected, found));
        }
        if let Some(index) = documents.index
            && index.len() != documents.count
        {
            return Err(self.function.count("places", documents.count, index.len()));
        }
        let behind = match documents.index {
            None => documents.count,
            Some(index) => index.iter().max().map_or(0, |m| *m as usize + 1),
        };
        if let Some(known) = known
            && (known.documents() != documents.count || documents.index.is_some())
        {
            let found = known.documents();
            return Err(self.function.count("documents that are known", documents.count, found));
        }
        for (at, (name, column)) in names.iter().zip(documents.columns).enumerate() {
            let is_partial = kept.iter().any(|k| k.name == at && k.is_only);
            let behind = match known {
                Some(known) if is_partial => known.missing.len(),
                _ => behind,
            };
            let wrong = |expected: String, found: String| {
                let (model, name) = (model.clone(), name.name.clone());
                Err(ModelError::Kind { model, name, expected, found })
            };
            if !fits(&name.kind, column) {
                return wrong(format!("a {}", name.kind), column.describe().to_owned());
            }
            let length = column.documents(&name.kind);
            if length < behind {
                return wrong(format!("{behind} documents"), length.to_string());
            }
        }
        Ok(())
    }
}

/// Whether a column is of the form that a name needs.
fn fits(kind: &SourceType, column: &Column<'_>) -> bool {
    match (kind, column) {
        (SourceType::Tensor(kind), Column::Cells(attribute)) => match attribute {
            Attribute::Numbers(_) => kind.is_double(),
            Attribute::Dense { cells, .. } => {
                kind.is_dense() && !kind.is_double() && cells.cell_type() == kind.cell()
            }
            Attribute::Mixed { cells, .. } => !kind.is_dense() && cells.cell_type() == kind.cell(),
        },
        (SourceType::Field(FieldType::Array(of)), Column::Lists { .. }) => {
            **of != FieldType::String
        }
        (SourceType::Field(kind), Column::Texts(_)) => *kind.element() == FieldType::String,
        (SourceType::Field(kind), Column::Cells(Attribute::Numbers(_))) => {
            *kind != FieldType::String && !matches!(kind, FieldType::Array(_))
        }
        _ => false,
    }
}
