//! Splits a model into what depends on some of its inputs only and the rest.
//!
//! Where one query meets many documents, what depends on the query only is the same for all of them. Here it becomes a
//! model of its own that runs once, and the rest takes its results as inputs. Where a layer takes a concatenation of
//! both, as the first of most rankers does, the layer's weight is split along the axis of the concatenation,
//!
//! ```text
//! [q d] W + b  =  d W_d + (q W_q + b)
//! ```
//!
//! and the half in brackets belongs to the query. It happens behind constant folding, by which weights are found, and
//! before all other passes, which know no sums of products.

mod join;
mod products;
mod rates;
mod split;

use crate::error::LoadError;
use crate::ir::{Ir, ValueId};
use crate::model::IoSpec;
use crate::passes;
use stead_kernels::Isa;
use stead_onnx::Dim;

pub(crate) use join::join;

/// Which inputs come with the query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hoist {
    /// Their names. Inputs that have a default stay with the rest.
    pub inputs: Vec<String>,
    /// Inputs that are concatenations of others.
    pub joined: Vec<JoinedInput>,
}

/// An input whose value is a concatenation; its parts become inputs in its stead, behind all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinedInput {
    /// The input.
    pub input: String,
    /// The axis along which the parts stand behind each other.
    pub axis: usize,
    /// The parts: names of inputs that the model does not have yet, with their dimensions.
    pub parts: Vec<(String, Vec<Dim>)>,
}

/// What a split came to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hoisted {
    /// What runs once, if that is anything.
    pub(crate) query: Option<Ir>,
    /// The values that it gives to the rest, in the order of its outputs and of the last inputs of the rest.
    pub(crate) carried: Vec<ValueId>,
    /// The inputs of the query that it takes, and those that the rest goes on taking.
    pub(crate) query_inputs: Vec<ValueId>,
    /// Layers whose weight has been split, as messages call them.
    pub(crate) layers: Vec<String>,
}

/// Splits a graph, which becomes the rest.
pub(crate) fn run(
    ir: &mut Ir,
    inputs: &[IoSpec],
    options: &Hoist,
    isa: Isa,
) -> Result<Hoisted, LoadError> {
    let of_query: Vec<ValueId> = inputs
        .iter()
        .zip(&ir.body.inputs)
        .filter(|(spec, _)| options.inputs.contains(&spec.name) && !spec.optional)
        .map(|(_, id)| *id)
        .collect();
    if of_query.is_empty() || of_query.len() == ir.body.inputs.len() {
        return Ok(Hoisted::default());
    }
    let layers = products::split(ir, &of_query)?;
    if !layers.is_empty() {
        // A concatenation that nobody reads any more must not ask for the inputs of the query.
        passes::remove_dead(ir, isa)?;
    }
    Ok(Hoisted { layers, ..split::run(ir, &of_query) })
}
