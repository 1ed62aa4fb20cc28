//! Computes nodes whose inputs are all constants.

use super::{PassCx, dead};
use crate::compile::compile_node;
use crate::error::LoadError;
use crate::ir::{Body, Ir, Node};
use crate::ops::PackCache;
use crate::plan::{Fact, Facts, fold_node};
use stead_tensor::Tensor;

/// Replaces nodes whose inputs are constants by their results, within the budget. A node that fails stays: it
/// may stand in a branch that is never taken.
pub(super) fn run(ir: &mut Ir, cx: &mut PassCx) -> Result<usize, LoadError> {
    // Weights whose bytes an earlier pass has taken would become floats of four times the size, for nobody.
    dead::run(ir, cx)?;
    run_but(ir, cx, &|_| false)
}

/// The same for all nodes but those that are `kept`, and what needs them.
pub(super) fn run_but(
    ir: &mut Ir,
    cx: &mut PassCx,
    kept: &dyn Fn(&Node) -> bool,
) -> Result<usize, LoadError> {
    let mut facts = Facts::new(vec![0; ir.values.len()], [].into());
    for index in 0..ir.values.len() {
        let id = crate::ir::ValueId(index as u32);
        if let Some(tensor) = ir.constant(Some(id)) {
            facts.set(id, Fact::constant(tensor.clone()));
        }
    }
    let mut body = std::mem::take(&mut ir.body);
    let folded = body.each_body_mut(&mut |body| fold_body(body, ir, &mut facts, cx, kept));
    ir.body = body;
    folded?;
    let mut results = Vec::new();
    collect_results(&ir.body, &facts, &mut results);
    let changes = results.len();
    for (id, tensor) in results {
        ir.values[id.index()].constant = Some(tensor);
    }
    ir.body.each_body_mut(&mut |body| {
        let known = |id: &crate::ir::ValueId| ir_constant(&ir.values, *id);
        body.nodes.retain(|n| n.outputs.is_empty() || !n.outputs.iter().flatten().all(known));
        Ok::<(), LoadError>(())
    })?;
    Ok(changes)
}

fn ir_constant(values: &[crate::ir::Value], id: crate::ir::ValueId) -> bool {
    values[id.index()].constant.is_some()
}

fn fold_body(
    body: &mut Body,
    ir: &Ir,
    facts: &mut Facts,
    cx: &mut PassCx,
    kept: &dyn Fn(&Node) -> bool,
) -> Result<(), LoadError> {
    for node in &body.nodes {
        let known = |id: &crate::ir::ValueId| facts.get(*id).is_some_and(|f| f.known().is_some());
        // Folded it would be gone before lifting makes a state of it.
        let is_kept = node.is_variable() || kept(node);
        if is_kept || !node.bodies.is_empty() || !node.inputs.iter().flatten().all(known) {
            continue;
        }
        let Ok(compiled) = compile_node(node, ir, &PackCache::default(), cx.isa) else { continue };
        if let Ok(true) = fold_node(facts, &compiled, cx.isa, cx.fold_bytes) {
            let outputs = node.outputs.iter().flatten();
            let bytes: usize =
                outputs.filter_map(|id| facts.get(*id)?.known().map(|t| t.bytes().len())).sum();
            cx.fold_bytes = cx.fold_bytes.saturating_sub(bytes);
        }
    }
    Ok(())
}

fn collect_results(body: &Body, facts: &Facts, results: &mut Vec<(crate::ir::ValueId, Tensor)>) {
    for node in &body.nodes {
        for &id in node.outputs.iter().flatten() {
            if let Some(tensor) = facts.get(id).and_then(Fact::known) {
                results.push((id, tensor.clone()));
            }
        }
        node.bodies.iter().for_each(|(_, inner)| collect_results(inner, facts, results));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    #[test]
    fn before_and_after() {
        let model = |constant_input: bool| {
            let b = ModelBuilder::new(17);
            let b = if constant_input {
                b.init("x", Tensor::from_slice(&[1.0f32; 6], &[2, 3]).unwrap())
            } else {
                b.input("x", DType::F32, &["2", "3"])
            };
            b.init("to", Tensor::from_slice(&[6i64], &[1]).unwrap())
                .node("Reshape", &["x", "to"], &["y"])
                .output("y", DType::F32)
        };
        check("all known", super::run, model(true), &[]);
        check("an input is not", super::run, model(false), &["Reshape"]);
    }
}
