//! The state of a sequence: what one step leaves for the next.

use crate::InferResponse;
use crate::states::Slot;
use std::sync::Arc;
use stead_sequence::Weight;
use stead_sequence::durable::decode_state;
use stead_tensor::Tensor;

/// What the allocator and the bookkeeping of one tensor take beside its elements: the tensor itself, the
/// reference counts, and half a cache line of padding on average.
const PER_TENSOR: usize = size_of::<Tensor>() + 64;

/// The values of a model's states and windows in the order of its layout. Clones share; a state that is
/// `None` has not been given yet and is left to the model.
#[derive(Debug, Clone)]
pub(crate) struct State(pub(crate) Arc<[Option<Tensor>]>);

/// A state between two steps.
#[derive(Clone)]
pub(crate) enum Stored {
    /// In memory.
    Here(State),
    /// On disk.
    Away(Arc<Slot>),
}

impl Stored {
    /// The state, read if it is on disk.
    ///
    /// # Errors
    /// In words.
    pub(crate) fn load(&self) -> Result<State, String> {
        match self {
            Stored::Here(state) => Ok(state.clone()),
            Stored::Away(slot) => {
                let lost = |text: String| format!("a state on disk cannot be read: {text}");
                let bytes = slot.get().map_err(|e| lost(e.kind().to_string()))?;
                decode_state(&bytes).map(State).map_err(|e| lost(e.to_string()))
            }
        }
    }
}

impl Weight for Stored {
    fn bytes(&self) -> u64 {
        match self {
            Stored::Here(State(values)) => {
                let bytes = |t: &Tensor| (t.held_bytes() + PER_TENSOR) as u64;
                values.iter().flatten().map(bytes).sum()
            }
            Stored::Away(_) => size_of::<Slot>() as u64,
        }
    }

    fn is_on_disk(&self) -> bool {
        matches!(self, Stored::Away(_))
    }
}

/// The outputs of a step by name, kept for a client that asks again.
#[derive(Debug, Clone)]
pub(crate) struct Kept(pub(crate) Arc<[(String, Tensor)]>);

impl Kept {
    /// The outputs as an answer has them.
    pub(crate) fn outputs(&self) -> Vec<(String, Tensor)> {
        self.0.to_vec()
    }
}

impl From<&InferResponse> for Kept {
    fn from(response: &InferResponse) -> Kept {
        Kept(response.outputs.clone().into())
    }
}

impl Weight for Kept {
    fn bytes(&self) -> u64 {
        let bytes = |(n, t): &(String, Tensor)| (n.len() + t.held_bytes() + PER_TENSOR) as u64;
        self.0.iter().map(bytes).sum()
    }
}
