//! States inside the branches of an `If`.

use super::rewrite::{Found, Lifter};
use crate::error::{BuildError, LoadError};
use crate::ir::{Body, Node, ValueId};
use std::sync::Arc;
use stead_tensor::{Shape, Tensor};

impl Lifter<'_> {
    /// Both branches give the states of either: one that a branch does not touch passes through it.
    pub(super) fn branches(&mut self, node: &mut Node) -> Result<Vec<Found>, LoadError> {
        let wanted = node.outputs.len();
        if let Some((name, body)) = node.bodies.iter().find(|(_, b)| b.outputs.len() < wanted) {
            let text = format!("{name} has {} outputs, {wanted} expected", body.outputs.len());
            let (node, reason) = (node.label.to_string(), BuildError::Arity(text));
            return Err(LoadError::Node { node, reason });
        }
        self.depth += 1;
        let mut inside = Vec::new();
        for (_, body) in &mut node.bodies {
            body.outputs.truncate(wanted);
            inside.push(self.body(body)?);
        }
        self.depth -= 1;
        let mut result = Vec::new();
        for (owner, found) in inside.into_iter().enumerate() {
            for mut found in found {
                found.first = found.first.filter(|&id| {
                    let defines = |n: &Node| n.outputs.contains(&Some(id));
                    let own = node.bodies[owner].1.nodes.iter().any(defines);
                    !own || self.ir.value(id).constant.is_some()
                });
                for (index, (_, body)) in node.bodies.iter_mut().enumerate() {
                    let last = if index == owner {
                        found.last
                    } else {
                        self.pass_through(&node.label, body, &found)?
                    };
                    body.outputs.push(last);
                }
                found.last = self.ir.add_value(found.state.dtype);
                node.outputs.push(Some(found.last));
                result.push(found);
            }
        }
        Ok(result)
    }

    /// The state as it was before the step; on the first one its initial value, or a tensor of no elements
    /// where that cannot be computed here.
    fn pass_through(
        &mut self,
        label: &Arc<str>,
        body: &mut Body,
        found: &Found,
    ) -> Result<ValueId, LoadError> {
        let first = match (found.first, &found.state.dims) {
            (Some(first), _) => first,
            (None, dims) => {
                let sizes = dims.as_ref().map_or(vec![0], |dims| {
                    dims.iter().map(|dim| dim.known().unwrap_or(0)).collect()
                });
                let shape = Shape::new(&sizes)?;
                self.ir.add_constant(Tensor::zeros(found.state.dtype, shape)?)
            }
        };
        let node = self.state_node(label, vec![Some(found.input), Some(first)]);
        let last = node.output(0).unwrap_or(found.input);
        body.nodes.push(node);
        Ok(last)
    }
}
