//! Removes nodes that only pass a value on: Identity, Dropout outside of training, Cast to the same type.

use super::PassCx;
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use std::collections::HashMap;

/// Lets readers of such a node read its input instead. The nodes themselves fall to dead code removal.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let mut replaced: HashMap<ValueId, ValueId> = HashMap::new();
    let mut body = std::mem::take(&mut ir.body);
    body.each_body_mut(&mut |body| {
        for node in &body.nodes {
            if let (true, Some(from), Some(to)) =
                (passes_on(node, ir), node.output(0), node.input(0))
            {
                replaced.insert(from, to);
            }
        }
        Ok::<(), LoadError>(())
    })?;
    let mut changes = 0;
    body.each_use_mut(&mut |id| {
        // Chains of such nodes are as long as the file makes them; each hop is a definition further up.
        while let Some(&to) = replaced.get(id) {
            *id = to;
            changes += 1;
        }
    });
    ir.body = body;
    Ok(changes)
}

fn passes_on(node: &Node, ir: &Ir) -> bool {
    let mask_unused = node.output(1).is_none();
    let training = node.input(2).is_some();
    let same_type = || match (node.input(0), node.output(0)) {
        (Some(x), Some(y)) => ir.value(x).dtype == ir.value(y).dtype,
        _ => false,
    };
    node.is("Identity")
        || (node.is("Dropout") && mask_unused && !training)
        || (node.is("Cast") && same_type())
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::DType;

    #[test]
    fn before_and_after() {
        let chain = ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .node("Identity", &["x"], &["a"])
            .node("Identity", &["a"], &["b"])
            .node("Shape", &["b"], &["y"])
            .output("y", DType::I64);
        check("a chain", super::run, chain, &["Shape"]);
        let output = ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .node("Identity", &["x"], &["y"])
            .output("y", DType::F32);
        check("an input that is an output", super::run, output, &[]);
    }
}
