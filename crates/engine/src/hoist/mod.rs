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
//! and the half in brackets belongs to the query. The other half is the same for all queries: what depends on inputs of
//! documents only can become a third model, whose results are kept as long as the document stays what it is. It happens behind constant folding, by which weights are found, and
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
    /// Names of inputs of documents: what depends on nothing else becomes a part of its own.
    pub documents: Vec<String>,
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
    /// What runs once for a query, if that is anything.
    pub(crate) query: Option<Piece>,
    /// What runs once for a document, if that is anything. What it gives stands behind what the query's part gives.
    pub(crate) documents: Option<Piece>,
    /// Layers whose weight has been split, as messages call them.
    pub(crate) layers: Vec<String>,
}

/// A part of a graph that depends on some inputs only.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) ir: Ir,
    /// The values that it gives to the rest, in the order of its outputs and of the last inputs of the rest.
    pub(crate) carried: Vec<ValueId>,
    /// The inputs that it takes.
    pub(crate) inputs: Vec<ValueId>,
    /// The elements of the constants that it reads.
    pub(crate) parameters: usize,
}

/// Splits a graph, which becomes the rest.
pub(crate) fn run(
    ir: &mut Ir,
    inputs: &[IoSpec],
    options: &Hoist,
    isa: Isa,
) -> Result<Hoisted, LoadError> {
    let ids_of = |names: &[String]| -> Vec<ValueId> {
        let inputs = inputs.iter().zip(&ir.body.inputs);
        let named = inputs.filter(|(spec, _)| names.contains(&spec.name) && !spec.optional);
        named.map(|(_, id)| *id).collect()
    };
    // What lies between the parts are tensors.
    if !ir.is_of_tensors() {
        return Ok(Hoisted::default());
    }
    let (of_query, of_documents) = (ids_of(&options.inputs), ids_of(&options.documents));
    let mut hoisted = Hoisted::default();
    if !of_query.is_empty() && of_query.len() < ir.body.inputs.len() {
        hoisted.layers = products::split(ir, &of_query)?;
        if !hoisted.layers.is_empty() {
            // A concatenation that nobody reads any more must not ask for the inputs of the query.
            passes::remove_dead(ir, isa)?;
        }
        hoisted.query = split::run(ir, &of_query);
    }
    if !of_documents.is_empty() {
        hoisted.documents = split::run(ir, &of_documents);
    }
    Ok(hoisted)
}
