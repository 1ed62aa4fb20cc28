//! Networks as functions: documents are stacked to one run where the network computes each row for itself.

mod batch;
mod convert;
mod halves;
mod joined;
mod lengths;
mod other;
mod output;
mod port;
mod rows;
mod run;
mod stack;
mod threads;

use std::sync::Arc;

use stead_app::application::OnnxModel;
use stead_app::application::rank::{KeptOption, ModelInput, ModelOptions, ModelOutput};
use stead_engine::{
    FindFile, Hoist, IoSpec, JoinedInput, LoadOptions, Model, Parts, RunContext, RunError,
    Runnable, Session, SessionOptions,
};
use stead_expr::{Rate, TensorType};
use stead_kernels::Parallel;
use stead_tensor::{AlignedBuf, DType, Precision, Tensor, TensorError, TensorView};

use super::error::ModelError;
use super::inputs::BoundInput;
use super::kept::{CellStamps, KeptStats, KeptValues};
use halves::Halves;
use lengths::Lengths;
use port::Port;
use stack::{Feed, Source, Stacking};
use threads::{AtMost, Threads};

pub(super) use batch::Scratch;
pub use convert::converted;
pub use halves::Known;
pub(super) use joined::parts;

/// A loaded network.
pub(super) struct Network {
    name: String,
    /// The inputs that the package knows.
    ports: Vec<Port>,
    /// What runs once for a query, if anything does.
    query: Option<Query>,
    /// What runs once for a document, if anything does.
    halves: Option<Halves>,
    session: Runnable,
    /// What each input of the session takes.
    feeds: Vec<Feed>,
    stacking: Stacking,
    /// Whether documents run on as many tokens as they have.
    lengths: Option<Lengths>,
    /// The outputs that expressions name, by their place among those of the session.
    outputs: Vec<(usize, TensorType)>,
    is_rounded: bool,
    threads: Threads,
}

/// The part of a network that runs once for a query.
struct Query {
    session: Session,
    /// What each of its inputs takes.
    feeds: Vec<Feed>,
    /// The layers of which it computes one half.
    layers: Vec<String>,
}

/// A network with the values of a query.
pub(super) struct BoundNetwork {
    /// What is the same for all documents, by the input of the session.
    same: Vec<Option<Same>>,
}

/// A value that is the same for all documents of a query.
struct Same {
    tensor: Tensor,
    /// Whether the tensor has a row for each of the documents of a run, of which fewer take the first.
    is_repeated: bool,
}

/// The file of a model, and how the files beside it are found.
#[derive(Clone, Copy)]
pub(super) struct ModelBytes<'f> {
    pub(super) bytes: &'f [u8],
    pub(super) beside: &'f FindFile<'f>,
}

impl Network {
    pub(super) fn load(
        (name, model): (&str, &OnnxModel),
        file: ModelBytes<'_>,
        (inputs, joined): (&[ModelInput], &[JoinedInput]),
        outputs: &[ModelOutput],
        options: ModelOptions,
        kept: &Arc<KeptValues>,
    ) -> Result<Network, String> {
        let rates: Vec<Rate> = inputs.iter().map(ModelInput::rate).collect();
        let of_query = |input: &&ModelInput| input.rate() != Rate::Document;
        let hoist = Hoist {
            inputs: inputs.iter().filter(of_query).map(|input| input.name.clone()).collect(),
            joined: joined.to_vec(),
            documents: Vec::new(),
        };
        let parts_of = |hoist: &Hoist| {
            let (bytes, options) = (file.bytes, LoadOptions::default());
            let parts = Model::parts_from_files(bytes, file.beside, &options, hoist);
            parts.map_err(|e| e.to_string())
        };
        // Whatever is hoisted, the whole has all inputs.
        let nothing = Hoist { inputs: Vec::new(), ..hoist.clone() };
        let whole = parts_of(&nothing)?.rest;
        let ports = ports(whole.inputs(), inputs)?;
        let outputs = places(whole.outputs(), outputs)?;
        let (name, threads, precision) =
            (name.to_owned(), Threads::new(model), model.precision.unwrap_or_default());
        let network = |parts: Parts, hoist: &Hoist| -> Result<Network, String> {
            let (mut shapes, mut query, mut halves) = (Vec::new(), None, None);
            let carried = parts.query.as_ref().map_or(0, |query| query.outputs().len());
            let kept_values = parts.documents.as_ref().map_or(0, |part| part.outputs().len());
            if let Some(model) = parts.query {
                let session = session(model, precision)?;
                let feeds = stack::feeds(session.model().inputs(), &ports, &rates, (0, 0))?;
                shapes = stack::shapes(&session, &ports, &feeds);
                query = Some(Query { session, feeds, layers: parts.layers });
            }
            if let Some(model) = parts.documents {
                let found = Halves::new(model, precision, &ports, &rates, kept)?;
                halves = Some(found.ok_or("what documents give is not worth keeping")?);
            }
            let of_documents = halves.as_ref().map_or_else(Vec::new, Halves::shapes);
            let mut session = session(parts.rest, precision)?;
            let behind = (carried, kept_values);
            let mut feeds = stack::feeds(session.model().inputs(), &ports, &rates, behind)?;
            let shapes = (&shapes[..], &of_documents[..]);
            let again = || parts_of(hoist).map(|parts| (parts.rest, precision));
            let stacking = stack::find(&mut session, &ports, &mut feeds, shapes, &outputs, &again);
            let lengths = match (&query, &halves) {
                (None, None) => lengths::find(&session, &ports, &feeds, &outputs),
                _ => None,
            };
            let (name, ports, outputs) = (name.clone(), ports.clone(), outputs.clone());
            Ok(Network {
                name,
                ports,
                query,
                halves,
                session: session.into(),
                feeds,
                stacking,
                lengths,
                outputs,
                is_rounded: options.is_rounded,
                threads,
            })
        };
        let shares = |network: &Network| matches!(network.stacking, Stacking::Documents(_));
        let mut best = network(parts_of(&hoist)?, &hoist)?;
        if best.query.is_some() && !shares(&best) {
            // Sharing runs is worth more than what is computed once.
            let whole = Parts { query: None, documents: None, rest: whole, layers: Vec::new() };
            let whole = network(whole, &nothing)?;
            best = if shares(&whole) { whole } else { best };
        }
        let documents = halves::stored(inputs);
        let is_off = options.kept == KeptOption::Off;
        if is_off || documents.is_empty() || !shares(&best) || best.lengths.is_some() {
            return Ok(best);
        }
        let of_query = if best.query.is_some() { hoist.inputs } else { Vec::new() };
        let hoist = Hoist { inputs: of_query, documents, joined: hoist.joined };
        let thrice = parts_of(&hoist)?;
        if thrice.documents.is_none() {
            return Ok(best);
        }
        Ok(network(thrice, &hoist).ok().filter(|thrice| shares(thrice)).unwrap_or(best))
    }

    /// The inputs that are taken of documents alone, and whether for nothing else.
    pub(super) fn kept_inputs(&self) -> Vec<(usize, bool)> {
        let is_elsewhere = |port: usize| self.feeds.contains(&Feed::Documents(port));
        let ports = self.halves.iter().flat_map(Halves::ports);
        ports.map(|port| (port, !is_elsewhere(port))).collect()
    }

    /// What is known of documents by the stamps of the cells that these inputs are; `is_partial` tells by input whether its column will
    /// have the missing documents only. Nothing if nothing is kept.
    pub(super) fn known(&self, stamps: &[CellStamps], is_partial: Vec<bool>) -> Option<Known> {
        self.halves.as_ref().map(|halves| halves.known(stamps, is_partial))
    }

    /// Why each document runs alone, if it does.
    pub(super) fn singly(&self) -> Option<&str> {
        match &self.stacking {
            Stacking::One(why) => Some(why),
            Stacking::Documents(_) => None,
        }
    }

    /// How documents run, for people.
    pub(super) fn explain(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.name, self.stacking)];
        lines.extend(self.threads.explain().map(|text| format!("{}: {text}", self.name)));
        if let Some(lengths) = &self.lengths {
            let (name, whole) = (&self.name, lengths.whole);
            lines.push(format!("{name}: as many tokens as texts have, of {whole}"));
        }
        if let Some(query) = &self.query {
            let steps = query.session.model().outputs().len();
            let halves = query.layers.iter().map(|layer| format!(", the query's half of {layer}"));
            let halves: String = halves.collect();
            let values = if steps == 1 { "value" } else { "values" };
            lines.push(format!("{}: {steps} {values} once for the query{halves}", self.name));
        }
        if let Some(halves) = &self.halves {
            let (name, bytes) = (&self.name, halves.row_bytes());
            lines.push(format!(
                "{name}: {bytes} bytes once for each document, kept while there is room"
            ));
        }
        lines
    }

    /// What is kept, by all networks of the application, if this one keeps anything.
    pub(super) fn kept_stats(&self) -> Option<KeptStats> {
        self.halves.as_ref().map(|halves| halves.kept.stats())
    }

    /// The network with what is the same for all documents of a query.
    pub(super) fn bind(
        &self,
        inputs: &[BoundInput],
        cores: &dyn Parallel,
    ) -> Result<BoundNetwork, ModelError> {
        let mut carried = Vec::new();
        if let Some(query) = &self.query {
            let mut given = Vec::with_capacity(query.feeds.len());
            for feed in &query.feeds {
                given.push(match feed {
                    Feed::Query(stack::Same { source: Source::Port(port), .. }) => {
                        Some(self.same(*port, inputs.get(*port))?)
                    }
                    _ => None,
                });
            }
            let views: Vec<_> = given.iter().map(|t| t.as_ref().map(Tensor::view)).collect();
            let failed = |e: RunError| self.failed(&e.to_string());
            let cores = self.of_a_run(cores);
            let cx = RunContext { parallel: &cores, ..RunContext::default() };
            let ran = query.session.run_with(&views, &cx, |outputs| {
                (0..outputs.len()).map(|at| Ok(outputs.get(at)?.to_tensor()?)).collect()
            });
            carried = ran.and_then(|outputs: Result<Vec<_>, RunError>| outputs).map_err(failed)?;
        }
        let mut same = Vec::with_capacity(self.feeds.len());
        for feed in &self.feeds {
            let Feed::Query(stack::Same { source, is_repeated }) = feed else {
                same.push(None);
                continue;
            };
            let tensor = match source {
                Source::Port(port) => self.same(*port, inputs.get(*port))?,
                Source::Carried(at) => match carried.get(*at) {
                    Some(tensor) => tensor.clone(),
                    None => return Err(self.failed("a value of the query is missing")),
                },
            };
            let repeated = match (&self.stacking, *is_repeated) {
                (Stacking::Documents(count), true) => Same::repeated(&tensor, *count),
                _ => Ok(Same { tensor, is_repeated: false }),
            };
            same.push(Some(repeated.map_err(|e| self.failed(&e.to_string()))?));
        }
        Ok(BoundNetwork { same })
    }

    /// The tensor of an input that does not depend on documents.
    fn same(&self, at: usize, input: Option<&BoundInput>) -> Result<Tensor, ModelError> {
        let Some(port) = self.ports.get(at) else { return Err(self.failed("an input is missing")) };
        let tensor = match input {
            Some(BoundInput::Same(value)) => port.tensor(value, self.is_rounded),
            Some(BoundInput::SameText(text)) => port.texts(vec![text.as_bytes().to_vec()]),
            _ => return Err(self.failed("an input of the query has no value")),
        };
        tensor.map_err(|unfit| self.inexact(port, &unfit.number))
    }

    /// The threads that work on one run.
    fn of_a_run<'p>(&self, cores: &'p dyn Parallel) -> AtMost<'p> {
        AtMost { threads: self.threads.of_a_run, of: cores }
    }

    fn failed(&self, text: &str) -> ModelError {
        ModelError::Run { model: self.name.clone(), text: text.to_owned() }
    }

    fn inexact(&self, port: &Port, number: &str) -> ModelError {
        let (model, input) = (self.name.clone(), port.name.clone());
        ModelError::Inexact {
            model,
            what: format!("input {input}"),
            number: number.to_owned(),
            dtype: port.dtype.name(),
        }
    }
}

/// The inputs of a network that the package binds.
fn ports(specs: &[IoSpec], inputs: &[ModelInput]) -> Result<Vec<Port>, String> {
    let port = |input: &ModelInput| {
        let spec = specs.iter().find(|spec| spec.name == input.name);
        let spec = spec.ok_or_else(|| format!("there is no input {}", input.name))?;
        if spec.dtype != DType::String && !convert::is_number(spec.dtype) {
            let (name, dtype) = (&spec.name, spec.dtype.name());
            return Err(format!(
                "input {name} has elements of type {dtype}, which no cells become"
            ));
        }
        Ok(Port::new(spec, input.source.kind()))
    };
    inputs.iter().map(port).collect()
}

/// The places of the outputs that expressions name, with their types.
fn places(specs: &[IoSpec], outputs: &[ModelOutput]) -> Result<Vec<(usize, TensorType)>, String> {
    let place = |output: &ModelOutput| {
        let found = specs.iter().position(|spec| spec.name == output.name);
        let found = found.ok_or_else(|| format!("there is no output {}", output.name))?;
        Ok((found, output.kind.clone()))
    };
    outputs.iter().map(place).collect()
}

fn session(model: Model, precision: Precision) -> Result<Session, String> {
    let options = SessionOptions { precision, ..SessionOptions::default() };
    Session::new(model, &options).map_err(|e| e.to_string())
}

impl Same {
    /// A tensor of one row, as often as a run may have documents.
    fn repeated(tensor: &Tensor, count: usize) -> Result<Same, TensorError> {
        let row = tensor.bytes();
        let mut buf = AlignedBuf::zeroed(row.len() * count)?;
        buf.chunks_exact_mut(row.len().max(1)).for_each(|to| to.copy_from_slice(row));
        let shape = tensor.shape().with(0, count)?;
        Ok(Same { tensor: Tensor::from_buffer(tensor.dtype(), shape, buf)?, is_repeated: true })
    }

    /// What a run of so many documents takes.
    fn for_documents(&self, count: usize) -> Result<TensorView<'_>, TensorError> {
        if !self.is_repeated {
            return Ok(self.tensor.view());
        }
        let shape = self.tensor.shape().with(0, count)?;
        let bytes = self.tensor.bytes().get(..shape.byte_len(self.tensor.dtype()));
        TensorView::from_bytes(self.tensor.dtype(), shape, bytes.unwrap_or_default())
    }
}
