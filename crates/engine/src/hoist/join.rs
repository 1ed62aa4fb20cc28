//! Inputs that are concatenations: the parts become inputs.

use std::sync::Arc;

use super::JoinedInput;
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use crate::model::IoSpec;
use stead_onnx::{AttributeValue, Attributes};

/// Puts a Concat before the graph for each joined input; `inputs` stand for those of the graph and are changed with them.
pub(crate) fn join(
    ir: &mut Ir,
    inputs: &mut Vec<IoSpec>,
    joined: &[JoinedInput],
) -> Result<(), LoadError> {
    for join in joined {
        let place = inputs.iter().position(|spec| spec.name == join.input && !spec.optional);
        let Some(place) = place else {
            return Err(LoadError::Joined(join.input.clone()));
        };
        let whole = ir.body.inputs.remove(place);
        let dtype = inputs.remove(place).dtype;
        let mut parts = Vec::with_capacity(join.parts.len());
        for (name, dims) in &join.parts {
            let id = ir.add_value(dtype);
            ir.declared.insert(id, dims.clone());
            ir.body.inputs.push(id);
            let (name, dims) = (name.clone(), Some(dims.clone()));
            inputs.push(IoSpec { name, dtype, dims, optional: false });
            parts.push(Some(id));
        }
        let label = format!("input \"{}\"", join.input);
        let node = concat(ir, &label.into(), join.axis as i64, parts, whole);
        ir.body.nodes.insert(0, node);
    }
    Ok(())
}

/// A Concat node.
pub(super) fn concat(
    ir: &mut Ir,
    label: &Arc<str>,
    axis: i64,
    parts: Vec<Option<ValueId>>,
    output: ValueId,
) -> Node {
    let mut attributes = Attributes::of(label.to_string());
    attributes.set("axis", AttributeValue::Int(axis));
    ir.node(label, ("Concat", 13), parts, output, attributes)
}
