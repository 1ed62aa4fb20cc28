//! A model: named inputs to named outputs.

use std::sync::Arc;

use stead_app::BackendKind;
use stead_app::application::{EvaluationKind, EvaluationModel};
use stead_app::package::PackageFiles;
use stead_engine::Backends;
use stead_expr::Value;
use stead_search::models::ModelFunction;
use stead_tensor::{Precision, Tensor};

use super::function::Function;
use super::network::Network;
use super::signature::EvaluationFunction;
use super::{Compute, Port};
use crate::evaluate::Evaluate;
use crate::{Code, Error};

/// The largest file of a network: one of protobuf has at most 2 GiB.
const MAX_FILE: u64 = 1 << 31;

/// A model that any number of threads may evaluate.
pub(crate) struct Model {
    name: String,
    kind: Kind,
    /// As `intraop-threads` says.
    threads: Option<i32>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// Its functions as clients call them.
    functions: Vec<Served>,
}

/// A function as clients call it.
pub(super) struct Served {
    pub(super) function: EvaluationFunction,
    /// The output that it is.
    pub(super) output: String,
    /// The inputs of the model that its arguments are.
    pub(super) inputs: Vec<String>,
    /// Those whose values are names of categories.
    pub(super) categories: Vec<String>,
}

enum Kind {
    Network(Box<Network>),
    Functions(Vec<Function>),
}

/// A value of an input or output of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Datum {
    /// An array, whose axes have no names.
    Array(Tensor),
    /// A tensor, whose dimensions in the order of their names are axes.
    Value(Value),
}

/// What one evaluation may use, and when it ends.
pub(crate) struct Running<'r> {
    pub(crate) compute: &'r Compute,
    /// Asked between steps.
    pub(crate) cancelled: &'r (dyn Fn() -> bool + Sync),
}

impl Model {
    /// Loads a model of an application.
    ///
    /// # Errors
    /// In words for who deploys it.
    pub(super) fn load(
        found: &EvaluationModel,
        files: &PackageFiles,
        backends: &Backends,
    ) -> Result<Model, String> {
        let name = found.name.clone();
        match &found.kind {
            EvaluationKind::Onnx => {
                let path = &found.path;
                let bytes = files.read(path, MAX_FILE).map_err(|e| e.to_string())?;
                let beside = |location: &str| {
                    files.read_beside(path, location, MAX_FILE).map_err(|e| e.to_string())
                };
                let network = match found.backend {
                    BackendKind::Stead => Network::load(&bytes, &beside, found.precision),
                    other => Network::load_other(&bytes, &beside, (other, backends)),
                };
                Ok(Model::of_loaded(name, network?, found.threads))
            }
            EvaluationKind::Functions(list) => {
                let mut functions = Vec::with_capacity(list.len());
                for (function, profile) in list {
                    let loaded = ModelFunction::load(profile, files).map_err(|e| e.to_string())?;
                    functions.push(Function::new(function, loaded));
                }
                let mut inputs: Vec<Port> = Vec::new();
                for port in functions.iter().flat_map(Function::inputs) {
                    if !inputs.iter().any(|known| known.name == port.name) {
                        inputs.push(port);
                    }
                }
                let outputs = functions.iter().filter_map(Function::output).collect();
                let served = functions.iter().map(|function| served(function, &found.categories));
                let (served, kind) = (served.collect(), Kind::Functions(functions));
                let threads = found.threads;
                Ok(Model { name, kind, threads, inputs, outputs, functions: served })
            }
        }
    }

    /// A network from the bytes of its file; `beside` finds files of external data.
    ///
    /// # Errors
    /// In words.
    pub(super) fn of_network(
        name: String,
        bytes: &[u8],
        beside: &dyn Fn(&str) -> Result<Vec<u8>, String>,
        (threads, precision): (Option<i32>, Precision),
    ) -> Result<Model, String> {
        Ok(Model::of_loaded(name, Network::load(bytes, beside, precision)?, threads))
    }

    fn of_loaded(name: String, network: Network, threads: Option<i32>) -> Model {
        let (inputs, outputs) = (network.inputs(), network.outputs());
        let functions = network.functions(&name);
        let kind = Kind::Network(Box::new(network));
        Model { name, kind, threads, inputs, outputs, functions }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Its functions as clients call them.
    pub(super) fn functions(&self) -> &[Served] {
        &self.functions
    }

    /// What a repository serves of it: a network, with the most threads of a run.
    pub(super) fn network(&self) -> Option<(Arc<dyn Evaluate>, Option<i32>)> {
        match &self.kind {
            Kind::Network(network) => Some((network.session(), self.threads)),
            Kind::Functions(_) => None,
        }
    }

    /// Its inputs; a network's optional ones are left out.
    pub(crate) fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// Its outputs.
    pub(crate) fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// Computes the outputs of these names, all where none is named; of a model of several functions all whose inputs are given. They
    /// come in the order of the model.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] of inputs that are missing, unknown or do not fit, and of unknown outputs;
    /// [`Code::DeadlineExceeded`]; [`Code::ResourceExhausted`] when memory is short.
    pub(crate) fn evaluate(
        &self,
        inputs: Vec<(String, Datum)>,
        wanted: &[String],
        running: &Running<'_>,
    ) -> Result<Vec<(String, Datum)>, Error> {
        let invalid = |text: String| Err(self.failed(Code::InvalidArgument, &text));
        let list = |ports: &[Port]| {
            ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        if let Some(name) =
            wanted.iter().find(|name| !self.outputs.iter().any(|o| o.name == **name))
        {
            return invalid(format!("has no output {name}; it has {}", list(&self.outputs)));
        }
        let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
        let failed = |(code, text): (Code, String)| self.failed(code, &text);
        match &self.kind {
            Kind::Network(network) => {
                if let Some((name, _)) = inputs.iter().find(|(name, _)| !network.takes(name)) {
                    return invalid(format!("has no input {name}; it has {}", list(&self.inputs)));
                }
                let found = network.run(inputs, &is_wanted, self.threads, running);
                found.map_err(failed)
            }
            Kind::Functions(functions) => {
                let known = |name: &str| self.inputs.iter().any(|port| port.name == name);
                if let Some((name, _)) = inputs.iter().find(|(name, _)| !known(name)) {
                    return invalid(format!("has no input {name}; it has {}", list(&self.inputs)));
                }
                let of_wanted = functions.iter().filter(|f| is_wanted(f.name()));
                let mut found = Vec::new();
                let mut lacking = None;
                for function in of_wanted {
                    if let Some(input) = function.lacking(&inputs) {
                        lacking.get_or_insert(input);
                        if !wanted.is_empty() {
                            break;
                        }
                        continue;
                    }
                    let value = function.run(&inputs, self.threads, running).map_err(failed)?;
                    found.push((function.name().to_owned(), Datum::Value(value)));
                }
                match lacking {
                    Some(input) if found.is_empty() || !wanted.is_empty() => {
                        invalid(format!("needs the input {input}; it has {}", list(&self.inputs)))
                    }
                    _ => Ok(found),
                }
            }
        }
    }

    fn failed(&self, code: Code, text: &str) -> Error {
        Error::new(code, format!("model {} {text}", self.name))
    }
}

fn served(function: &Function, categories: &[String]) -> Served {
    let mut arguments = function.arguments();
    arguments.sort_by(|a, b| a.name.cmp(&b.name));
    let inputs = arguments.iter().map(|argument| argument.name.clone()).collect();
    let name = function.name().to_owned();
    Served {
        output: name.clone(),
        function: EvaluationFunction { name, arguments, result: None },
        inputs,
        categories: categories.to_vec(),
    }
}
