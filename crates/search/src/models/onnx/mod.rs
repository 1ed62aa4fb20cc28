//! Networks as functions: documents are stacked to one run where the network computes each row for itself.

mod convert;
mod joined;
mod lengths;
mod output;
mod port;
mod rows;
mod run;
mod stack;

use stead_app::application::rank::{ModelInput, ModelOutput};
use stead_engine::{
    FindFile, Hoist, JoinedInput, LoadOptions, Model, Parts, RunContext, RunError, Session,
    SessionOptions,
};
use stead_expr::{Rate, TensorType};
use stead_tensor::{AlignedBuf, DType, Tensor, TensorError, TensorView};

use super::error::ModelError;
use super::inputs::BoundInput;
use lengths::Lengths;
use port::Port;
use stack::{Feed, Source, Stacking};

pub(super) use joined::parts;
pub(super) use run::Scratch;

/// A loaded network.
pub(super) struct Network {
    name: String,
    /// The inputs that the package knows.
    ports: Vec<Port>,
    /// What runs once for a query, if anything does.
    query: Option<Query>,
    session: Session,
    /// What each input of the session takes.
    feeds: Vec<Feed>,
    stacking: Stacking,
    /// Whether documents run on as many tokens as they have.
    lengths: Option<Lengths>,
    /// The outputs that expressions name, by their place among those of the session.
    outputs: Vec<(usize, TensorType)>,
    is_rounded: bool,
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
        name: &str,
        file: ModelBytes<'_>,
        inputs: &[ModelInput],
        joined: &[JoinedInput],
        outputs: &[ModelOutput],
        is_rounded: bool,
    ) -> Result<Network, String> {
        let rates: Vec<Rate> = inputs.iter().map(ModelInput::rate).collect();
        let of_query = |input: &&ModelInput| input.rate() != Rate::Document;
        let hoist = Hoist {
            inputs: inputs.iter().filter(of_query).map(|input| input.name.clone()).collect(),
            joined: joined.to_vec(),
        };
        let parts = |hoist: &Hoist| {
            let (bytes, options) = (file.bytes, LoadOptions::default());
            let parts = Model::parts_from_files(bytes, file.beside, &options, hoist);
            parts.map_err(|e| e.to_string())
        };
        // Whatever is hoisted, the whole has all inputs.
        let whole = parts(&Hoist { inputs: Vec::new(), ..hoist.clone() })?.rest;
        let ports = ports(&whole, inputs)?;
        let place = |output: &ModelOutput| {
            let found = whole.outputs().iter().position(|o| o.name == output.name);
            let found = found.ok_or_else(|| format!("there is no output {}", output.name))?;
            Ok((found, output.kind.clone()))
        };
        let outputs: Vec<_> = outputs.iter().map(place).collect::<Result<_, String>>()?;
        let name = name.to_owned();
        let network = |parts: Parts| -> Result<Network, String> {
            let mut shapes = Vec::new();
            let mut query = None;
            if let Some(model) = parts.query {
                let session = session(model)?;
                let feeds = stack::feeds(&session, &ports, &rates, 0)?;
                shapes = stack::shapes(&session, &ports, &feeds);
                query = Some(Query { session, feeds, layers: parts.layers });
            }
            let mut session = session(parts.rest)?;
            let mut feeds = stack::feeds(&session, &ports, &rates, parts.carried)?;
            let stacking = stack::find(&mut session, &ports, &mut feeds, &shapes, &outputs);
            let lengths = match query {
                None => lengths::find(&session, &ports, &feeds, &outputs),
                Some(_) => None,
            };
            let (name, ports, outputs) = (name.clone(), ports.clone(), outputs.clone());
            Ok(Network {
                name,
                ports,
                query,
                session,
                feeds,
                stacking,
                lengths,
                outputs,
                is_rounded,
            })
        };
        let split = network(parts(&hoist)?)?;
        if split.query.is_none() || matches!(split.stacking, Stacking::Documents(_)) {
            return Ok(split);
        }
        // Sharing runs is worth more than what is computed once.
        let whole = network(Parts { query: None, rest: whole, carried: 0, layers: Vec::new() })?;
        Ok(if matches!(whole.stacking, Stacking::Documents(_)) { whole } else { split })
    }

    /// How documents run, for people.
    pub(super) fn explain(&self) -> Vec<String> {
        let mut lines = vec![format!("{}: {}", self.name, self.stacking)];
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
        lines
    }

    /// The network with what is the same for all documents of a query.
    pub(super) fn bind(&self, inputs: &[BoundInput]) -> Result<BoundNetwork, ModelError> {
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
            let ran = query.session.run_with(&views, &RunContext::default(), |outputs| {
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
fn ports(model: &Model, inputs: &[ModelInput]) -> Result<Vec<Port>, String> {
    let port = |input: &ModelInput| {
        let spec = model.inputs().iter().find(|spec| spec.name == input.name);
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

fn session(model: Model) -> Result<Session, String> {
    Session::new(model, &SessionOptions::default()).map_err(|e| e.to_string())
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
