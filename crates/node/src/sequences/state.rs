//! The state of a sequence: what one step leaves for the next.

use crate::InferResponse;
use std::sync::Arc;
use stead_sequence::Weight;
use stead_tensor::Tensor;

/// What the allocator and the bookkeeping of one tensor take beside its elements: the tensor itself, the
/// reference counts, and half a cache line of padding on average.
const PER_TENSOR: usize = size_of::<Tensor>() + 64;

/// The values of a model's states and windows in the order of its layout. Clones share; a state that is
/// `None` has not been given yet and is left to the model.
#[derive(Debug, Clone)]
pub(crate) struct State(pub(crate) Arc<[Option<Tensor>]>);

impl Weight for State {
    fn bytes(&self) -> u64 {
        self.0.iter().flatten().map(|t| (size_of_elements(t) + PER_TENSOR) as u64).sum()
    }
}

fn size_of_elements(tensor: &Tensor) -> usize {
    tensor.bytes().len() + tensor.view().strings().iter().map(Vec::len).sum::<usize>()
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
        let bytes = |(n, t): &(String, Tensor)| (n.len() + size_of_elements(t) + PER_TENSOR) as u64;
        self.0.iter().map(bytes).sum()
    }
}
