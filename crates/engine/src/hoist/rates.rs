//! Which values depend on the inputs of the query only.

use crate::ir::{Body, Ir, Node, ValueId};

/// By value, whether it depends on inputs of the query and on no others. Constants do not.
pub(super) struct Rates {
    of_query: Vec<bool>,
}

impl Rates {
    pub(super) fn new(ir: &Ir, inputs: &[ValueId]) -> Rates {
        let mut rates = Rates { of_query: vec![false; ir.values.len()] };
        inputs.iter().for_each(|id| rates.of_query[id.index()] = true);
        for node in &ir.body.nodes {
            rates.note(ir, node);
        }
        rates
    }

    /// Takes a node, behind those that make its inputs.
    pub(super) fn note(&mut self, ir: &Ir, node: &Node) {
        self.of_query.resize(ir.values.len(), false);
        let is_of_query = self.node(ir, node);
        for id in node.outputs.iter().flatten() {
            self.of_query[id.index()] = is_of_query;
        }
    }

    pub(super) fn is_of_query(&self, id: ValueId) -> bool {
        self.of_query.get(id.index()).copied().unwrap_or(false)
    }

    /// Whether all that a node reads is of the query or constant, and anything is of the query.
    pub(super) fn node(&self, ir: &Ir, node: &Node) -> bool {
        let mut own = Vec::new();
        node.bodies.iter().for_each(|(_, body)| defined(body, &mut own));
        let (mut any, mut all) = (false, true);
        each_read(node, &mut |id| {
            if self.is_of_query(id) {
                any = true;
            } else if ir.constant(Some(id)).is_none() && !own.contains(&id) {
                all = false;
            }
        });
        // What is drawn for each document must not become one draw for all of them.
        any && all && !node.is_drawn()
    }
}

/// Calls `f` for every value that a node reads, in its bodies too.
pub(super) fn each_read(node: &Node, f: &mut dyn FnMut(ValueId)) {
    node.inputs.iter().flatten().for_each(|id| f(*id));
    node.bodies.iter().for_each(|(_, body)| body.each_use(f));
}

/// The values that are made inside a body.
fn defined(body: &Body, own: &mut Vec<ValueId>) {
    own.extend(&body.inputs);
    for node in &body.nodes {
        own.extend(node.outputs.iter().flatten());
        node.bodies.iter().for_each(|(_, inner)| defined(inner, own));
    }
}
