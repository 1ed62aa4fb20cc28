//! Takes the nodes out of a graph that depend on some inputs only: those of the query, or of documents.

use std::collections::HashSet;

use super::Piece;
use super::rates::{Rates, each_read};
use crate::ir::{Body, Ir, ValueId};

/// Moves all nodes that depend on these inputs only to a graph of their own; nothing if there are none.
pub(super) fn run(ir: &mut Ir, inputs: &[ValueId]) -> Option<Piece> {
    let rates = Rates::new(ir, inputs);
    let nodes = std::mem::take(&mut ir.body.nodes);
    let (own, rest): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| rates.node(ir, node));
    let made: HashSet<ValueId> =
        own.iter().flat_map(|node| node.outputs.iter().flatten().copied()).collect();
    // What the rest reads of it, in the order in which it is made.
    let mut read = HashSet::new();
    for node in &rest {
        each_read(node, &mut |id| _ = read.insert(id));
    }
    read.extend(&ir.body.outputs);
    let outputs = own.iter().flat_map(|node| node.outputs.iter().flatten());
    let carried: Vec<ValueId> = outputs.filter(|id| read.contains(id)).copied().collect();
    ir.body.nodes = rest;
    if made.is_empty() || carried.is_empty() {
        return None;
    }
    let mut needed = HashSet::new();
    for node in &own {
        each_read(node, &mut |id| _ = needed.insert(id));
    }
    let taken: Vec<ValueId> = inputs.iter().filter(|id| needed.contains(id)).copied().collect();
    let constants = needed.iter().filter_map(|id| ir.constant(Some(*id)));
    let parameters = constants.map(|constant| constant.shape().elements()).sum();
    let body = Body { inputs: taken.clone(), outputs: carried.clone(), nodes: own };
    let part = Ir { values: ir.values.clone(), body, ..Ir::default() };
    for id in &carried {
        // It is given now, whatever was known of it.
        ir.declared.remove(id);
    }
    let goes_on = |id: &ValueId| !inputs.contains(id) || read.contains(id);
    ir.body.inputs.retain(goes_on);
    ir.body.inputs.extend(&carried);
    Some(Piece { ir: part, carried, inputs: taken, parameters })
}
