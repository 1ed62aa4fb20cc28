//! Takes the nodes of the query out of a graph.

use std::collections::HashSet;

use super::Hoisted;
use super::rates::{Rates, each_read};
use crate::ir::{Body, Ir, ValueId};

/// Moves all nodes that depend on the inputs of the query only to a graph of their own.
pub(super) fn run(ir: &mut Ir, inputs: &[ValueId]) -> Hoisted {
    let rates = Rates::new(ir, inputs);
    let nodes = std::mem::take(&mut ir.body.nodes);
    let (query, rest): (Vec<_>, Vec<_>) = nodes.into_iter().partition(|node| rates.node(ir, node));
    let made: HashSet<ValueId> =
        query.iter().flat_map(|node| node.outputs.iter().flatten().copied()).collect();
    // What the rest reads of it, in the order in which it is made.
    let mut read = HashSet::new();
    for node in &rest {
        each_read(node, &mut |id| _ = read.insert(id));
    }
    read.extend(&ir.body.outputs);
    let outputs = query.iter().flat_map(|node| node.outputs.iter().flatten());
    let carried: Vec<ValueId> = outputs.filter(|id| read.contains(id)).copied().collect();
    ir.body.nodes = rest;
    if made.is_empty() || carried.is_empty() {
        return Hoisted::default();
    }
    let mut needed = HashSet::new();
    for node in &query {
        each_read(node, &mut |id| _ = needed.insert(id));
    }
    let query_inputs: Vec<ValueId> =
        inputs.iter().filter(|id| needed.contains(id)).copied().collect();
    let body = Body { inputs: query_inputs.clone(), outputs: carried.clone(), nodes: query };
    let part = Ir { values: ir.values.clone(), body, ..Ir::default() };
    for id in &carried {
        // It is given now, whatever was known of it.
        ir.declared.remove(id);
    }
    let goes_on = |id: &ValueId| !inputs.contains(id) || read.contains(id);
    ir.body.inputs.retain(goes_on);
    ir.body.inputs.extend(&carried);
    Hoisted { query: Some(part), carried, query_inputs, layers: Vec::new() }
}
