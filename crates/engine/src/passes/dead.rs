//! Removes nodes whose results nobody uses.

use super::PassCx;
use crate::error::LoadError;
use crate::ir::Ir;

/// Removes unused nodes, drops outputs that nobody reads, and frees unused constants.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let mut removed = 0;
    loop {
        let uses = ir.uses();
        let before = ir.node_count();
        let mut body = std::mem::take(&mut ir.body);
        body.each_body_mut(&mut |body| {
            for output in body.nodes.iter_mut().flat_map(|n| &mut n.outputs) {
                *output = output.filter(|id| uses[id.index()] > 0);
            }
            body.nodes.retain(|n| n.outputs.iter().any(Option::is_some));
            Ok::<(), LoadError>(())
        })?;
        ir.body = body;
        let now = before - ir.node_count();
        removed += now;
        if now == 0 {
            let inputs: std::collections::HashSet<_> = ir.body.inputs.iter().copied().collect();
            for (index, value) in ir.values.iter_mut().enumerate() {
                let id = crate::ir::ValueId(index as u32);
                if uses[index] == 0 && !inputs.contains(&id) {
                    value.constant = None;
                }
            }
            return Ok(removed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::DType;

    #[test]
    fn before_and_after() {
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .node("Shape", &["x"], &["unused"])
            .node("Shape", &["unused"], &["also unused"])
            .node("Shape", &["x"], &["y"])
            .output("y", DType::I64);
        check("a chain that nobody reads", super::run, model, &["Shape"]);
    }
}
