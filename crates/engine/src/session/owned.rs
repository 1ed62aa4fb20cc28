//! Outputs that the caller keeps.

use super::{RunContext, Scratch, Session};
use crate::error::RunError;
use crate::plan::{Growing, OutputPlace, PlaceSource};
use crate::session::Outputs;
use stead_tensor::{AlignedBuf, DType, Shape, Span, Tensor, TensorError, TensorView};

/// An output that belongs to the caller.
#[derive(Debug)]
pub struct OwnedOutput {
    /// The element type.
    pub dtype: DType,
    /// The shape.
    pub shape: Shape,
    /// The elements, row-major.
    pub elements: Elements,
}

/// What the elements of an [`OwnedOutput`] are.
#[derive(Debug)]
pub enum Elements {
    /// Elements of a fixed size.
    Bytes(AlignedBuf),
    /// One entry for each string.
    Strings(Vec<Vec<u8>>),
}

impl OwnedOutput {
    /// A copy of a tensor.
    pub(super) fn copy_of(view: TensorView<'_>) -> Result<OwnedOutput, RunError> {
        let elements = match view.dtype() {
            DType::String => Elements::Strings(view.strings().to_vec()),
            _ => Elements::Bytes(AlignedBuf::copy_of(view.bytes())?),
        };
        Ok(OwnedOutput { dtype: view.dtype(), shape: view.shape(), elements })
    }

    /// The same as a tensor.
    ///
    /// # Errors
    /// [`TensorError`] when the elements do not fit the shape, which those of a run always do.
    pub fn into_tensor(self) -> Result<Tensor, TensorError> {
        match self.elements {
            Elements::Bytes(buf) => Tensor::from_buffer(self.dtype, self.shape, buf),
            Elements::Strings(strings) => Tensor::from_strings(strings, &self.shape),
        }
    }
}

impl Session {
    /// Runs as [`Session::run_with`] and hands over the outputs at these positions in `model().outputs()`. With
    /// [`SessionOptions::outputs_apart`](super::SessionOptions::outputs_apart) what the run has computed is not copied:
    /// the caller gets the memory that the kernels wrote to, and the next run takes other. Copied are outputs that are
    /// an input, a constant or a part of another value, all but the last of those that are the same value, and
    /// what was computed before the shapes that follow were known.
    ///
    /// # Errors
    /// [`RunError`]; the session stays usable.
    pub fn run_owned(
        &self,
        inputs: &[Option<TensorView<'_>>],
        cx: &RunContext<'_>,
        wanted: &[usize],
    ) -> Result<Vec<OwnedOutput>, RunError> {
        self.check(inputs, &[])?;
        self.run_then(inputs, &[], &mut [], cx, |places, scratch, growing| {
            let mut owned = Vec::with_capacity(wanted.len());
            for (at, &index) in wanted.iter().enumerate() {
                let later = wanted.get(at + 1..).unwrap_or_default();
                let taken = taken(places, scratch, index, later);
                owned.push(match taken {
                    Some(output) => output,
                    None => copied(places, scratch, inputs, growing, index)?,
                });
            }
            Ok(owned)
        })?
    }
}

/// The memory of an output that has a block for itself, unless a later one is the same.
fn taken(
    places: &[OutputPlace],
    scratch: &mut Scratch,
    index: usize,
    later: &[usize],
) -> Option<OwnedOutput> {
    let span_of = |index: usize| -> Option<Span> {
        match places.get(index)?.source {
            PlaceSource::Arena(span) => Some(span),
            _ => None,
        }
    };
    let (place, span) = (places.get(index)?, span_of(index)?);
    let is_apart = span.block >= scratch.path.len();
    // A run of other shapes that failed, or whose outputs nobody took, may have left a larger block.
    let is_whole =
        scratch.blocks.bytes(Span { len: span.len + 1, ..span }).is_none() && span.offset == 0;
    let is_last = !later.iter().any(|&i| span_of(i).is_some_and(|s| s.block == span.block));
    if !is_apart || !is_whole || !is_last {
        return None;
    }
    let elements = Elements::Bytes(scratch.blocks.take(span.block)?);
    Some(OwnedOutput { dtype: place.dtype, shape: place.shape, elements })
}

fn copied(
    places: &[OutputPlace],
    scratch: &Scratch,
    inputs: &[Option<TensorView<'_>>],
    growing: &[Growing],
    index: usize,
) -> Result<OwnedOutput, RunError> {
    OwnedOutput::copy_of(Outputs::new(places, scratch.results(), inputs, growing).get(index)?)
}
