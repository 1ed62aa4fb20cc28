//! Puts a product into the step of the product that takes its rows.

use super::{FLOATS, Fused, columns, replacement};
use crate::error::LoadError;
use crate::ir::{Ir, Node};
use crate::passes::pattern::{Matcher, copied_attributes, rewrite};
use crate::passes::{PassCx, dead};
use stead_tensor::DType;

/// Two products by constant matrices of which the second takes what the first gives, with its bias and activation, become one: the
/// plan computes both block by block, so that what lies between them stays in the cache. Of three in a row the last two do.
///
/// Other passes do not know such products, so that this one runs when they are done.
pub(in crate::passes) fn run(ir: &mut Ir, cx: &mut PassCx) -> Result<usize, LoadError> {
    let changes = rewrite(ir, &|m, at, node| joined(m, node).map(|fused| replacement(at, fused)));
    dead::run(ir, cx)?;
    Ok(changes)
}

/// Where the matrix of the inner product stands among the inputs; its bias comes behind it.
const INNER: usize = 7;

/// Attributes of a product that its step can do before another.
const ATTRIBUTES: [&str; 5] =
    ["transB", "alpha", "activation", "activation_alpha", "activation_beta"];

fn joined(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    let is_product =
        |node: &Node| node.is("MatMul") || node.domain == "stead" && node.op_type == "MatMul";
    let turned = |node: &Node| node.attributes.bool_or("transA", false).unwrap_or(true);
    let id = node.input(0);
    if !is_product(node) || turned(node) || m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    let inner = m.maker(id).filter(|_| m.is_read_once(id) && m.dtype(id) == Some(DType::F32))?;
    let is_open = (3..inner.inputs.len()).all(|index| inner.input(index).is_none())
        && inner.attributes.iter().all(|(name, _)| ATTRIBUTES.contains(&name));
    if !is_product(inner) || !is_open || node.input(INNER).is_some() {
        return None;
    }
    columns(m, node)?;
    columns(m, inner)?;
    let (mut inputs, mut attributes) = (node.inputs.clone(), copied_attributes(node));
    inputs.resize(INNER + 2, None);
    inputs[0] = inner.input(0);
    (inputs[INNER], inputs[INNER + 1]) = (inner.input(1), inner.input(2));
    for (name, value) in inner.attributes.iter() {
        attributes.set(&format!("inner_{name}"), value.clone());
    }
    Some((&FLOATS, inputs, attributes))
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::check;
    use super::*;
    use stead_onnx::ModelBuilder;
    use stead_tensor::Tensor;

    /// Two products with a function between them.
    fn two(function: &str) -> ModelBuilder {
        let matrix =
            |k: usize, n: usize| Tensor::from_slice(&vec![1.0f32; k * n], &[k, n]).unwrap();
        ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "3"])
            .init("v", matrix(3, 8))
            .init("w", matrix(8, 3))
            .node("MatMul", &["x", "v"], &["p"])
            .node(function, &["p"], &["a"])
            .node("MatMul", &["a", "w"], &["y"])
            .output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let both = |ir: &mut Ir, cx: &mut PassCx| {
            super::super::run(ir, cx)?;
            dead::run(ir, cx)?;
            run(ir, cx)
        };
        check("with an activation", both, two("Relu"), &["stead.MatMul"]);
        check("with another function", both, two("Softmax"), &["MatMul", "Softmax", "MatMul"]);
        let wanted = two("Relu").output("a", DType::F32);
        check("what is between is wanted", both, wanted, &["stead.MatMul", "MatMul"]);
    }
}
