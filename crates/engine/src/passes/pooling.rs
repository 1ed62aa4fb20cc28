//! Recognises pooling by attention: the mean of rows, weighted by a softmax of their products by one vector.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use super::ranks::Ranks;
use super::rows::ints;
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// `ReduceSum(Softmax(x w + b) * v)` over the rows of tensors of three dimensions becomes one node, which is attention with
/// one query. A number `b` is left out, for a softmax is the same with it.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    let ranks = Ranks::new(ir);
    Ok(rewrite(ir, &|m, at, node| {
        let found = find(m, &ranks, node)?;
        let mut attributes = attributes_for(node);
        attributes.set("keepdims", AttributeValue::Int(found.keeps.into()));
        Some(Replacement {
            at,
            domain: "stead",
            op_type: "Pooling",
            opset: 1,
            inputs: vec![Some(found.x), Some(found.w), Some(found.v)],
            constants: vec![],
            attributes,
        })
    }))
}

struct Found {
    x: ValueId,
    w: ValueId,
    v: ValueId,
    keeps: bool,
}

fn find(m: &Matcher<'_>, ranks: &Ranks, node: &Node) -> Option<Found> {
    if !node.is("ReduceSum") || m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    let is_three = |id: Option<ValueId>| ranks.of(m.ir, id) == Some(3);
    let keeps = node.attributes.bool_or("keepdims", true).ok()?;
    if !matches!(ints(m, node, "axes", 1)?[..], [1 | -2]) {
        return None;
    }
    let product = m.only_made_by(node.input(0), "Mul")?;
    m.either_way(product).into_iter().find_map(|(weights, v)| {
        let softmax = m.only_made_by(weights, "Softmax")?;
        // Before opset 13 a softmax was over all that came behind its axis.
        let axis = softmax.attributes.int_or("axis", -1).ok()?;
        if softmax.opset < 13 || !matches!(axis, 1 | -2) || !is_three(v) {
            return None;
        }
        let scores = unshifted(m, softmax.input(0));
        let product = m.only_made_by(scores, "MatMul")?;
        let (x, w) = (product.input(0)?, product.input(1)?);
        let is_vector = matches!(m.constant(Some(w))?.shape().dims(), [_, 1]);
        (is_vector && is_three(Some(x))).then_some(Found { x, w, v: v?, keeps })
    })
}

/// Scores before a number was added to all of them.
fn unshifted(m: &Matcher<'_>, id: Option<ValueId>) -> Option<ValueId> {
    let sum = m.only_made_by(id, "Add");
    let before = sum.and_then(|sum| {
        let ways = m.either_way(sum).into_iter();
        ways.filter(|(_, by)| {
            // One of more dimensions would add some to the scores.
            let fits = m.constant(*by).is_some_and(|by| by.shape().rank() <= 3);
            fits && m.number(*by).is_some_and(f32::is_finite)
        })
        .map(|(scores, _)| scores)
        .next()
    });
    before.unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use stead_onnx::ModelBuilder;
    use stead_tensor::Tensor;

    fn pooling(columns: usize, softmax: i64, sum: i64) -> ModelBuilder {
        let w = vec![0.5f32; 4 * columns];
        ModelBuilder::new(17)
            .input("x", DType::F32, &["b", "n", "4"])
            .input("v", DType::F32, &["b", "n", "m"])
            .init("w", Tensor::from_slice(&w, &[4, columns]).unwrap())
            .init("b", Tensor::from_slice(&[0.1f32], &[1]).unwrap())
            .init("axes", Tensor::from_slice(&[sum], &[1]).unwrap())
            .node("MatMul", &["x", "w"], &["p"])
            .node("Add", &["p", "b"], &["s"])
            .node("Softmax", &["s"], &["a"])
            .attr("axis", softmax)
            .node("Mul", &["a", "v"], &["av"])
            .node("ReduceSum", &["av", "axes"], &["y"])
            .attr("keepdims", 0i64)
            .output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let apart = ["MatMul", "Add", "Softmax", "Mul", "ReduceSum"];
        check("of rows", run, pooling(1, 1, 1), &["stead.Pooling"]);
        check("counted from the end", run, pooling(1, -2, -2), &["stead.Pooling"]);
        check("weights for each column", run, pooling(4, 1, 1), &apart);
        check("a softmax of one number", run, pooling(1, -1, 1), &apart);
        check("the sum of columns", run, pooling(1, 1, 2), &apart);
        check("weights are wanted", run, pooling(1, 1, 1).output("a", DType::F32), &apart);
    }
}
