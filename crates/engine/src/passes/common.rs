//! Merges nodes that compute the same from the same inputs.

use super::PassCx;
use crate::error::LoadError;
use crate::ir::{Body, Ir, Node, ValueId};
use std::collections::HashMap;

/// Lets readers of a repeated node read the first one. Only nodes of one body are compared: one in a branch
/// may never run.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let mut replaced = HashMap::new();
    let mut body = std::mem::take(&mut ir.body);
    body.each_body_mut(&mut |body| {
        merge(body, &mut replaced);
        Ok::<(), LoadError>(())
    })?;
    let mut changes = 0;
    body.each_use_mut(&mut |id| {
        while let Some(&to) = replaced.get(id) {
            *id = to;
            changes += 1;
        }
    });
    ir.body = body;
    Ok(changes)
}

fn merge(body: &Body, replaced: &mut HashMap<ValueId, ValueId>) {
    let mut seen: HashMap<(&str, Vec<Option<ValueId>>), Vec<&Node>> = HashMap::new();
    for node in &body.nodes {
        if node.is_drawn() || !node.bodies.is_empty() {
            continue;
        }
        let current = |id: &Option<ValueId>| id.map(|id| *replaced.get(&id).unwrap_or(&id));
        let inputs: Vec<_> = node.inputs.iter().map(current).collect();
        let candidates = seen.entry((node.op_type.as_str(), inputs)).or_default();
        match candidates.iter().find(|other| is_same(node, other)) {
            Some(other) => {
                for (a, b) in node.outputs.iter().zip(&other.outputs) {
                    if let (Some(a), Some(b)) = (a, b) {
                        replaced.insert(*a, *b);
                    }
                }
            }
            None => candidates.push(node),
        }
    }
}

/// Whether two nodes with the same inputs compute the same, and the other one has every output that this one
/// has.
fn is_same(node: &Node, other: &Node) -> bool {
    let has_outputs = node.outputs.len() <= other.outputs.len()
        && node.outputs.iter().zip(&other.outputs).all(|(a, b)| a.is_none() || b.is_some());
    let attributes = node.attributes.len() == other.attributes.len()
        && node.attributes.iter().all(|(name, value)| other.attributes.get(name) == Some(value));
    node.domain == other.domain && node.opset == other.opset && has_outputs && attributes
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::DType;

    #[test]
    fn before_and_after() {
        let twice = |start: i64| {
            ModelBuilder::new(17)
                .input("x", DType::F32, &["n", "m"])
                .node("Shape", &["x"], &["a"])
                .node("Shape", &["x"], &["b"])
                .attr("start", start)
                .output("a", DType::I64)
                .output("b", DType::I64)
        };
        check("other attributes", super::run, twice(1), &["Shape", "Shape"]);
        let same = ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "m"])
            .node("Shape", &["x"], &["a"])
            .node("Shape", &["x"], &["b"])
            .output("a", DType::I64)
            .output("b", DType::I64);
        check("the same", super::run, same, &["Shape"]);
    }
}
