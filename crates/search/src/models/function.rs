//! One model of a profile, loaded and ready for queries.

mod bound;

pub use bound::{BoundModel, Scratch};

use std::sync::Arc;

use stead_app::BackendKind;
use stead_app::application::rank::{KeptOption, ModelKind, ModelOutput, ProfileModel, SourceType};
use stead_app::package::PackageFiles;
use stead_engine::Backends;
use stead_expr::Rate;
use stead_kernels::{Parallel, Serial};

use super::body::Body;
use super::columns::Given;
use super::error::ModelError;
use super::inputs::{BoundInput, Input, Name, names};
use super::kept::{CellStamps, KeptStats, KeptValues};
use super::onnx::{self, Known, Network};
use super::trees::Trees;
use bound::BoundKind;

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

/// The largest file of a network that is read: one of protobuf has at most 2 GiB.
const MAX_MODEL: u64 = 1 << 31;

impl ModelFunction {
    /// Reads the file of a model and prepares it.
    ///
    /// # Errors
    /// When the file cannot be read or is no model that runs.
    pub fn load(model: &ProfileModel, files: &PackageFiles) -> Result<ModelFunction, ModelError> {
        ModelFunction::load_with(model, files, &Arc::default(), Backends::NONE)
    }

    /// The same where models share what they keep of documents, and some may be computed by other runtimes.
    ///
    /// # Errors
    /// As for [`ModelFunction::load`].
    pub fn load_with(
        model: &ProfileModel,
        files: &PackageFiles,
        kept: &Arc<KeptValues>,
        backends: &Backends,
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
                let beside = |location: &str| {
                    let found = files.read_beside(path, location, MAX_MODEL);
                    found.map_err(|e| e.to_string())
                };
                let file = onnx::ModelBytes { bytes: &bytes, beside: &beside };
                let (named, outputs, options) = ((&name[..], onnx), &model.outputs, model.options);
                let network = match onnx.backend {
                    BackendKind::Stead => {
                        if let KeptOption::Megabytes(most) = options.kept {
                            kept.allow((most as usize) << 20);
                        }
                        let (parts, joined) = onnx::parts(&inputs);
                        inputs = parts;
                        let takes = (&inputs[..], &joined[..]);
                        Network::load(named, file, takes, outputs, options, kept)
                    }
                    _ => Network::load_other(named, file, &inputs, outputs, options, backends),
                };
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
