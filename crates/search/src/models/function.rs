//! One model of a profile, loaded and ready for queries.

use std::sync::Arc;

use stead_app::application::rank::{KeptOption, ModelKind, ModelOutput, ProfileModel, SourceType};
use stead_app::package::PackageFiles;
use stead_app::schema::FieldType;
use stead_expr::{Attribute, Rate, Stored, Value};
use stead_kernels::{Parallel, Serial};

use super::body::{Body, BoundBody};
use super::columns::{Column, Documents, Given};
use super::error::ModelError;
use super::inputs::{BoundInput, Input, Name, names};
use super::kept::{CellStamps, KeptStats, KeptValues};
use super::onnx::{self, BoundNetwork, Known, Network};
use super::trees::{self, Trees};

/// A model of a profile. Clones share.
#[derive(Clone)]
pub struct ModelFunction {
    inner: Arc<Inner>,
}

struct Inner {
    /// As expressions call it.
    name: String,
    kind: Kind,
    inputs: Vec<Input>,
    query: Vec<Name>,
    documents: Vec<Name>,
    /// What is kept of documents depends on these.
    kept: Vec<KeptName>,
    outputs: Vec<ModelOutput>,
    rate: Rate,
}

/// A name of documents whose cells tell what is kept of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptName {
    /// Its number among [`ModelFunction::document_names`].
    pub name: usize,
    /// Whether nothing else is computed of it, so that documents that are known need no value.
    pub is_only: bool,
}

enum Kind {
    Trees(Box<Trees>),
    Onnx(Box<Network>),
    Body(Body),
}

/// What a query makes of a model.
enum BoundKind {
    Trees,
    Onnx(BoundNetwork),
    Body(BoundBody),
}

/// The largest file of a network that is read: one of protobuf has at most 2 GiB.
const MAX_MODEL: u64 = 1 << 31;

/// A model with the values of a query.
pub struct BoundModel {
    function: ModelFunction,
    inputs: Vec<BoundInput>,
    kind: BoundKind,
}

/// Memory that runs use again; one for each thread.
#[derive(Debug, Default)]
pub struct Scratch {
    expressions: stead_expr::Scratch,
    trees: trees::Scratch,
    onnx: onnx::Scratch,
}

impl ModelFunction {
    /// Reads the file of a model and prepares it.
    ///
    /// # Errors
    /// When the file cannot be read or is no model that runs.
    pub fn load(model: &ProfileModel, files: &PackageFiles) -> Result<ModelFunction, ModelError> {
        ModelFunction::load_with(model, files, &Arc::default())
    }

    /// The same where models share what they keep of documents.
    ///
    /// # Errors
    /// As for [`ModelFunction::load`].
    pub fn load_with(
        model: &ProfileModel,
        files: &PackageFiles,
        kept: &Arc<KeptValues>,
    ) -> Result<ModelFunction, ModelError> {
        let mut inputs = model.inputs.clone();
        let (name, kind) = match &model.kind {
            ModelKind::Trees { library, file } => {
                let name = format!("{library}(\"{file}\")");
                let failed = |text| ModelError::Load { model: name.clone(), text };
                let trees = Trees::load(files, *library, file, model.options.is_exact);
                let trees = trees.map_err(failed)?;
                (name, Kind::Trees(Box::new(trees)))
            }
            ModelKind::Function { file, body, constants } => {
                let function = model.outputs.first().map_or("", |output| output.name.as_str());
                let name = format!("vespa(\"{file}\").{function}");
                (name, Kind::Body(Body::new(body.clone(), constants.clone())))
            }
            ModelKind::Onnx(onnx) => {
                let name = format!("onnx({})", onnx.name.value);
                let failed = |text| ModelError::Load { model: name.clone(), text };
                let path = &onnx.file.value;
                let bytes = files.read(path, MAX_MODEL).map_err(|e| failed(e.to_string()))?;
                if let KeptOption::Megabytes(most) = model.options.kept {
                    kept.allow((most as usize) << 20);
                }
                let (parts, joined) = onnx::parts(&inputs);
                inputs = parts;
                let beside = |location: &str| {
                    let found = files.read_beside(path, location, MAX_MODEL);
                    found.map_err(|e| e.to_string())
                };
                let file = onnx::ModelBytes { bytes: &bytes, beside: &beside };
                let takes = (&inputs[..], &joined[..]);
                let named = (&name[..], onnx);
                let network =
                    Network::load(named, file, takes, &model.outputs, model.options, kept);
                let network = network.map_err(|text| failed(format!("{path}: {text}")))?;
                (name, Kind::Onnx(Box::new(network)))
            }
        };
        let (inputs, query, documents) = names(inputs);
        let kept = match &kind {
            Kind::Onnx(network) => kept_names(network, &inputs),
            _ => Vec::new(),
        };
        let (outputs, rate) = (model.outputs.clone(), model.rate);
        let inner = Inner { name, kind, inputs, query, documents, kept, outputs, rate };
        Ok(ModelFunction { inner: Arc::new(inner) })
    }

    /// What expressions call the model, without an output.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The names of values of the query, in the order in which [`ModelFunction::for_query`] takes them.
    pub fn query_names(&self) -> impl Iterator<Item = (&str, &SourceType)> {
        self.inner.query.iter().map(|n| (n.name.as_str(), &n.kind))
    }

    /// The names of values of documents, in the order of [`Documents::columns`].
    pub fn document_names(&self) -> impl Iterator<Item = (&str, &SourceType)> {
        self.inner.documents.iter().map(|n| (n.name.as_str(), &n.kind))
    }

    /// The names of documents whose cells tell what is kept of them; none if nothing is kept.
    #[must_use]
    pub fn kept_names(&self) -> &[KeptName] {
        &self.inner.kept
    }

    /// What the models of the application keep; nothing if this one keeps nothing.
    #[must_use]
    pub fn kept_stats(&self) -> Option<KeptStats> {
        match &self.inner.kind {
            Kind::Onnx(network) => network.kept_stats(),
            _ => None,
        }
    }

    /// What is known of documents by the stamps of their cells, a number for each of [`ModelFunction::kept_names`]; nothing if
    /// nothing is kept.
    #[must_use]
    pub fn known(&self, stamps: &[CellStamps]) -> Option<Known> {
        let Kind::Onnx(network) = &self.inner.kind else { return None };
        let only = |name: &usize| self.inner.kept.iter().any(|k| k.name == *name && k.is_only);
        let is_partial = |input: &Input| input.documents().iter().any(only);
        network.known(stamps, self.inner.inputs.iter().map(is_partial).collect())
    }

    /// The outputs that expressions name, in the order in which [`BoundModel::run`] gives them.
    #[must_use]
    pub fn outputs(&self) -> &[ModelOutput] {
        &self.inner.outputs
    }

    /// How the model runs, a line for each thing worth knowing.
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        match &self.inner.kind {
            Kind::Trees(trees) => vec![format!("{}: {}", self.inner.name, trees.explain())],
            Kind::Onnx(network) => network.explain(),
            Kind::Body(_) => vec![format!("{}: an expression", self.inner.name)],
        }
    }

    /// Why each document runs alone, for a network that takes something of documents and cannot take several.
    #[must_use]
    pub fn singly(&self) -> Option<&str> {
        match &self.inner.kind {
            Kind::Onnx(network) if self.inner.rate == Rate::Document => network.singly(),
            _ => None,
        }
    }

    /// [`Rate::Query`] for a model that takes nothing of documents: [`BoundModel::once`] runs it.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.inner.rate
    }

    /// The model with a value for each of [`ModelFunction::query_names`]; what depends on nothing else is computed here.
    ///
    /// # Errors
    /// When a value is missing or has another type, or an expression or the model fails.
    pub fn for_query(&self, given: &[Given<'_>]) -> Result<BoundModel, ModelError> {
        self.for_query_on(given, &Serial)
    }

    /// As [`ModelFunction::for_query`], on some cores.
    ///
    /// # Errors
    /// As for [`ModelFunction::for_query`].
    pub fn for_query_on(
        &self,
        given: &[Given<'_>],
        cores: &dyn Parallel,
    ) -> Result<BoundModel, ModelError> {
        let expected = self.inner.query.len();
        if given.len() != expected {
            return Err(self.count("values of the query", expected, given.len()));
        }
        for (name, given) in self.inner.query.iter().zip(given) {
            let found = match (given, &name.kind) {
                (Given::Text(_), SourceType::Text) => continue,
                (Given::Value(value), SourceType::Tensor(kind)) if kind.takes(value.kind()) => {
                    continue;
                }
                (Given::Text(_), _) => "a text".to_owned(),
                (Given::Value(value), _) => format!("a {}", value.kind()),
            };
            let (model, expected) = (self.inner.name.clone(), format!("a {}", name.kind));
            return Err(ModelError::Kind { model, name: name.name.clone(), expected, found });
        }
        // An expression takes columns that all have the order of the documents.
        let may_be_direct = !matches!(self.inner.kind, Kind::Body(_));
        let bind = |input: &Input| input.bind(&self.inner.name, given, may_be_direct);
        let inputs: Vec<BoundInput> =
            self.inner.inputs.iter().map(bind).collect::<Result<_, _>>()?;
        let kind = match &self.inner.kind {
            Kind::Trees(_) => BoundKind::Trees,
            Kind::Onnx(network) => BoundKind::Onnx(network.bind(&inputs, cores)?),
            Kind::Body(body) => {
                let bound = body.bind(&inputs).map_err(|e| self.body_failed(e))?;
                BoundKind::Body(bound)
            }
        };
        Ok(BoundModel { function: self.clone(), inputs, kind })
    }

    fn body_failed(&self, error: stead_expr::RunError) -> ModelError {
        let (model, input) = (self.inner.name.clone(), "expression".to_owned());
        ModelError::Input { model, input, error }
    }

    fn count(&self, what: &'static str, expected: usize, found: usize) -> ModelError {
        ModelError::Count { model: self.inner.name.clone(), what, expected, found }
    }
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

/// The names that kept values depend on, in the order in which the network takes them.
fn kept_names(network: &Network, inputs: &[Input]) -> Vec<KeptName> {
    let kept = network.kept_inputs();
    let is_kept = |port: usize| kept.iter().any(|(known, is_only)| *known == port && *is_only);
    let name = |(port, _): &(usize, bool)| {
        let name = *inputs.get(*port)?.documents().first()?;
        let mut readers = inputs.iter().enumerate().filter(|(_, i)| i.documents().contains(&name));
        Some(KeptName { name, is_only: readers.all(|(port, _)| is_kept(port)) })
    };
    kept.iter().map(name).collect::<Option<_>>().unwrap_or_default()
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
