//! The outputs of a run, where they lie.

use crate::error::RunError;
use crate::plan::{Growing, OutputPlace, PlaceSource, Texts, read_source, read_strings};
use crate::session::Value;
use stead_tensor::{Blocks, DType, Shape, Tensor, TensorView};

/// The outputs of a finished run, borrowed from its working memory.
#[derive(Clone, Copy)]
pub struct Outputs<'a>(Held<'a>);

/// What has them.
#[derive(Clone, Copy)]
enum Held<'a> {
    /// A run of a plan.
    Run(OfRun<'a>),
    /// A run of another runtime, which gave tensors.
    Tensors(&'a [Tensor]),
}

#[derive(Clone, Copy)]
struct OfRun<'a> {
    places: &'a [OutputPlace],
    blocks: &'a Blocks,
    texts: &'a Texts,
    inputs: &'a [Option<TensorView<'a>>],
    growing: &'a [Growing],
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(
        places: &'a [OutputPlace],
        (blocks, texts): (&'a Blocks, &'a Texts),
        inputs: &'a [Option<TensorView<'a>>],
        growing: &'a [Growing],
    ) -> Outputs<'a> {
        Outputs(Held::Run(OfRun { places, blocks, texts, inputs, growing }))
    }

    pub(crate) fn of_tensors(tensors: &'a [Tensor]) -> Outputs<'a> {
        Outputs(Held::Tensors(tensors))
    }

    /// The number of the growing state that this output is, longer now. It is taken from
    /// [`Growing::growth`] and cannot be read here, where it may lie in another order.
    pub fn grown(&self, index: usize) -> Option<usize> {
        let Held::Run(run) = &self.0 else { return None };
        match run.places.get(index)?.source {
            PlaceSource::Grown(state) => Some(state),
            _ => None,
        }
    }

    /// The number of outputs.
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Run(run) => run.places.len(),
            Held::Tensors(tensors) => tensors.len(),
        }
    }

    /// Whether there is no output.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The output at this position in `model().outputs()`.
    ///
    /// # Errors
    /// [`RunError::UnknownOutput`] when there is none, and [`RunError::Value`] for what is no tensor.
    pub fn get(&self, index: usize) -> Result<TensorView<'a>, RunError> {
        let unknown = || RunError::UnknownOutput(index.to_string());
        match self.0 {
            Held::Run(run) => run
                .view(run.places.get(index).ok_or_else(unknown)?)
                .map_err(|e| e.at(&format!("output {index}"))),
            Held::Tensors(tensors) => Ok(tensors.get(index).ok_or_else(unknown)?.view()),
        }
    }

    /// The output at this position, whatever it is.
    ///
    /// # Errors
    /// As [`Outputs::get`].
    pub fn value(&self, index: usize) -> Result<Value<TensorView<'a>>, RunError> {
        let Held::Run(run) = self.0 else { return self.get(index).map(Value::Tensor) };
        match &run.places.get(index).map(|place| &place.source) {
            Some(PlaceSource::Sequence(places)) => {
                let views = places.iter().map(|place| run.view(place));
                Ok(Value::Sequence(views.collect::<Result<_, _>>()?))
            }
            Some(PlaceSource::Map(places)) => {
                let [keys, values] = &**places;
                let is_one = values.shape.rank() == 1;
                let (keys, values) = (run.view(keys)?, run.view(values)?);
                Ok(match is_one {
                    true => Value::Map { keys, values },
                    false => Value::Maps { keys, values },
                })
            }
            Some(PlaceSource::Nothing) => Ok(Value::Nothing),
            _ => self.get(index).map(Value::Tensor),
        }
    }
}

impl<'a> OfRun<'a> {
    fn view(&self, place: &'a OutputPlace) -> Result<TensorView<'a>, RunError> {
        if place.dtype == DType::String {
            let PlaceSource::Outside(source) = &place.source else {
                return Err(RunError::Internal("strings in the arena"));
            };
            let strings = read_strings(source, self.inputs, self.texts)?;
            return Ok(TensorView::from_strings(place.shape, strings)?);
        }
        let bytes = match &place.source {
            PlaceSource::Arena(span) => {
                let outside = RunError::Internal("an output lies outside");
                self.blocks.bytes(*span).ok_or(outside)?
            }
            PlaceSource::Outside(source) => read_source(source, self.inputs, self.growing)?,
            PlaceSource::Grown(_) => return Err(RunError::value("a growing state")),
            PlaceSource::Sequence(_) => return Err(RunError::value("a sequence, no tensor")),
            PlaceSource::Map(_) => return Err(RunError::value("a map, no tensor")),
            PlaceSource::Nothing => return Err(RunError::value("an optional that holds nothing")),
        };
        Ok(TensorView::from_bytes(place.dtype, place.shape, bytes)?)
    }
}

/// A caller's buffer for one output.
#[derive(Debug)]
pub struct OutputBuf<'a> {
    /// Room for exactly the bytes of the output.
    pub bytes: &'a mut [u8],
    /// The shape of the output, filled in by the run.
    pub shape: Option<Shape>,
}
