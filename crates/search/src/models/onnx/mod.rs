//! Networks as functions: documents are stacked to one run where the network computes each row for itself.

mod convert;
mod output;
mod port;
mod rows;
mod run;
mod stack;

use stead_app::application::rank::{ModelInput, ModelOutput};
use stead_engine::{LoadOptions, Model, Session, SessionOptions};
use stead_expr::{Rate, TensorType};
use stead_tensor::{AlignedBuf, DType, Tensor, TensorError, TensorView};

use super::error::ModelError;
use super::inputs::BoundInput;
use port::Port;
use stack::{Feed, Stacking};

pub(super) use run::Scratch;

/// A loaded network.
pub(super) struct Network {
    name: String,
    /// The inputs that the package knows.
    ports: Vec<Port>,
    session: Session,
    /// What each input of the session takes.
    feeds: Vec<Feed>,
    stacking: Stacking,
    /// The outputs that expressions name, by their place among those of the session.
    outputs: Vec<(usize, TensorType)>,
    is_rounded: bool,
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

impl Network {
    pub(super) fn load(
        name: &str,
        bytes: &[u8],
        inputs: &[ModelInput],
        outputs: &[ModelOutput],
        is_rounded: bool,
    ) -> Result<Network, String> {
        let text = |e: &dyn std::fmt::Display| e.to_string();
        let model =
            Model::from_bytes(bytes, None, &LoadOptions::default()).map_err(|e| text(&e))?;
        let mut ports = Vec::with_capacity(inputs.len());
        for input in inputs {
            let spec = model.inputs().iter().find(|spec| spec.name == input.name);
            let spec = spec.ok_or_else(|| format!("there is no input {}", input.name))?;
            if spec.dtype != DType::String && !convert::is_number(spec.dtype) {
                let dtype = spec.dtype.name();
                return Err(format!(
                    "input {} has elements of type {dtype}, which no cells become",
                    spec.name
                ));
            }
            ports.push(Port::new(spec, input.source.kind()));
        }
        let place = |output: &ModelOutput| {
            let found = model.outputs().iter().position(|o| o.name == output.name);
            let found = found.ok_or_else(|| format!("there is no output {}", output.name))?;
            Ok((found, output.kind.clone()))
        };
        let outputs: Vec<_> = outputs.iter().map(place).collect::<Result<_, String>>()?;
        let rates: Vec<Rate> = inputs.iter().map(ModelInput::rate).collect();
        let mut session = Session::new(model, &SessionOptions::default()).map_err(|e| text(&e))?;
        let mut feeds = stack::feeds(&session, &ports, &rates)?;
        let stacking = stack::find(&mut session, &ports, &mut feeds, &outputs);
        let name = name.to_owned();
        Ok(Network { name, ports, session, feeds, stacking, outputs, is_rounded })
    }

    /// How documents run, for people.
    pub(super) fn explain(&self) -> Vec<String> {
        vec![format!("{}: {}", self.name, self.stacking)]
    }

    /// The network with what is the same for all documents of a query.
    pub(super) fn bind(&self, inputs: &[BoundInput]) -> Result<BoundNetwork, ModelError> {
        let mut same = Vec::with_capacity(self.feeds.len());
        for feed in &self.feeds {
            let tensor = match feed {
                Feed::Absent | Feed::Documents(_) => None,
                Feed::Query { port, is_repeated } => {
                    let tensor = self.same(*port, inputs.get(*port))?;
                    let repeated = match (&self.stacking, *is_repeated) {
                        (Stacking::Documents(count), true) => Same::repeated(&tensor, *count),
                        _ => Ok(Same { tensor, is_repeated: false }),
                    };
                    Some(repeated.map_err(|e| self.failed(&e.to_string()))?)
                }
            };
            same.push(tensor);
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
