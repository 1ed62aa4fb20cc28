//! States that the file names itself: ReadValue and Assign of a variable.

use super::rewrite::{Found, Lifter, unsupported};
use super::{LiftedState, StateInit};
use crate::error::{BuildError, LoadError};
use crate::ir::{Body, Node, ValueId};
use std::collections::BTreeMap;
use stead_onnx::Dim;

impl Lifter<'_> {
    /// The variables of the main graph, in the order in which they are read. One that is read but never written keeps its
    /// initial value and is no state.
    pub(super) fn variables(&mut self, body: &mut Body) -> Result<Vec<Found>, LoadError> {
        let mut written: BTreeMap<String, ValueId> = BTreeMap::new();
        for node in &body.nodes {
            if let Some(inner) = node.bodies.iter().find_map(|(_, inner)| variable_in(inner)) {
                return Err(unsupported(inner, "a variable inside the body of another node"));
            }
            if is(node, "Assign")
                && let Some(last) = node.input(0)
                && written.insert(name_of(node)?, last).is_some()
            {
                return Err(unsupported(node, "a second Assign to one variable"));
            }
        }
        let mut found = Vec::new();
        for at in 0..body.nodes.len() {
            let Some(node) = body.nodes.get(at).filter(|node| is(node, "ReadValue")) else {
                continue;
            };
            let name = name_of(node)?;
            let (Some(first), Some(output)) = (node.input(0), node.output(0)) else { continue };
            let Some(last) = written.get(&name).copied() else { continue };
            let dtype = self.ir.value(first).dtype;
            if self.ir.value(last).dtype != dtype {
                return Err(unsupported(node, "a variable that is written in another type"));
            }
            if !self.take(&name) {
                let text = format!("an input, an output or another state is called {name:?} too");
                return Err(unsupported(node, text));
            }
            let label = node.label.clone();
            let constant = self.ir.value(first).constant.clone();
            let dims = self.ir.declared.get(&output).cloned();
            let dims = dims.or_else(|| {
                let shape = constant.as_ref()?.shape();
                Some(shape.iter().map(|&n| Dim::Known(n)).collect())
            });
            let batch = self.batch.as_ref();
            let batch_axis = dims.as_ref().and_then(|d| d.iter().position(|d| Some(d) == batch));
            let state = self.ir.add_value(dtype);
            self.ir.values[state.index()].overridable = true;
            let mut begin = self.state_node(&label, vec![Some(state), Some(first)]);
            begin.outputs = vec![Some(output)];
            body.nodes[at] = begin;
            let init = match constant {
                _ if self.zero_init => StateInit::Zeros,
                Some(tensor) => StateInit::Constant(tensor),
                None => StateInit::Computed,
            };
            let (input, after) = (name.clone(), format!("{name}_next"));
            let lifted = LiftedState { name, input, output: after, init, batch_axis, dims, dtype };
            found.push(Found { state: lifted, input: state, last, first: Some(first) });
        }
        Ok(found)
    }
}

fn is(node: &Node, op: &str) -> bool {
    node.domain == "stead" && node.op_type == op
}

fn name_of(node: &Node) -> Result<String, LoadError> {
    let at_node = |reason| LoadError::Node { node: node.label.to_string(), reason };
    let missing = || BuildError::from(node.attributes.missing("variable"));
    let name = node.attributes.string("variable").map_err(|e| at_node(e.into()))?;
    Ok(name.ok_or_else(missing).map_err(at_node)?.to_owned())
}

/// The first node of a variable in a body or the bodies in it, whose depth the reader has limited.
fn variable_in(body: &Body) -> Option<&Node> {
    let here = body.nodes.iter().find(|node| node.is_variable());
    here.or_else(|| {
        body.nodes.iter().flat_map(|n| &n.bodies).find_map(|(_, inner)| variable_in(inner))
    })
}
