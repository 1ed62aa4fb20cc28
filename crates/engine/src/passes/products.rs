//! Makes one node of a matrix product, its bias, a residual and an activation.

use super::PassCx;
use super::pattern::{Matcher, Replacement, activation_of, copied_attributes, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use crate::ops::activation;
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::DType;

/// MatMul and Gemm take up what follows them, one step in a round: a bias, then an activation.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        gemm(m, node)
            .or_else(|| bias(m, node))
            .or_else(|| residual(m, node))
            .or_else(|| scale(m, node))
            .or_else(|| activated(m, node))
            .map(|(inputs, attributes)| Replacement {
                at,
                domain: "stead",
                op_type: "MatMul",
                opset: 1,
                inputs,
                constants: vec![],
                attributes,
            })
    }))
}

type Fused = (Vec<Option<ValueId>>, Attributes);

/// A product of `f32` that could take up more, with its attributes as those of the fused node.
fn product<'a>(m: &Matcher<'a>, id: Option<ValueId>) -> Option<(&'a Node, Attributes)> {
    let node = m.maker(id).filter(|_| m.is_read_once(id))?;
    let is_f32 = m.dtype(id) == Some(DType::F32);
    let fused = node.domain == "stead" && node.op_type == "MatMul";
    let takes_more = node.attributes.string("activation").ok()?.is_none();
    if is_f32 && (node.is("MatMul") || fused) && takes_more {
        Some((node, copied_attributes(node)))
    } else {
        None
    }
}

fn with_input(node: &Node, index: usize, id: ValueId) -> Vec<Option<ValueId>> {
    let mut inputs = node.inputs.clone();
    inputs.resize(inputs.len().max(index + 1), None);
    inputs[index] = Some(id);
    inputs
}

/// The columns of a product whose right operand is one constant matrix.
fn columns(m: &Matcher<'_>, node: &Node) -> Option<usize> {
    let shape = m.constant(node.input(1))?.shape();
    let transposed = node.attributes.bool_or("transB", false).ok()?;
    match shape.dims() {
        &[k, n] => Some(if transposed { k } else { n }),
        _ => None,
    }
}

/// Gemm with a constant right operand and at most a bias for each column.
fn gemm(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    if !node.is("Gemm") || m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    let n = columns(m, node)?;
    let attributes = copied_attributes(node);
    if let Some(c) = node.input(2) {
        let bias = m.constant(Some(c))?.shape();
        let unscaled = attributes.float_or("beta", 1.0).ok()? == 1.0;
        if bias.elements() != n || bias.rank() > 2 || bias.last() != Some(&n) || !unscaled {
            return None;
        }
    }
    let mut attributes = attributes;
    attributes.remove("beta");
    Some((node.inputs.clone(), attributes))
}

/// Add of a constant vector with one number for each column.
fn bias(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    if !node.is("Add") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(id, bias)| {
        let (product, attributes) = product(m, id)?;
        let n = columns(m, product)?;
        let shape = m.constant(bias)?.shape();
        // A vector of N numbers adds no dimension to the result, whatever its rank.
        let is_vector = shape.rank() == 1 && shape.elements() == n && n > 1;
        if product.input(2).is_some() || product.input(3).is_some() || !is_vector {
            return None;
        }
        Some((with_input(product, 2, bias?), attributes))
    })
}

/// Add of something that is no constant: the residual of a transformer's layer. The plan adds it in registers
/// where it has the shape of the product, as it mostly has.
fn residual(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    if !node.is("Add") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(id, other)| {
        let (product, attributes) = product(m, id)?;
        // Only behind a constant matrix: the product of two activations is more likely masked than added to.
        columns(m, product)?;
        if product.input(3).is_some() || m.constant(other).is_some() || other == id {
            return None;
        }
        Some((with_input(product, 3, other?), attributes))
    })
}

/// Mul or Div by a number, before anything is added.
fn scale(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    let (id, factor) = if node.is("Div") {
        (node.input(0), 1.0 / scalar(m, node.input(1))?)
    } else if node.is("Mul") {
        m.either_way(node).into_iter().find_map(|(id, by)| Some((id, scalar(m, by)?)))?
    } else {
        return None;
    };
    let (product, mut attributes) = product(m, id)?;
    if product.input(2).is_some() || product.input(3).is_some() || !factor.is_finite() {
        return None;
    }
    let alpha = attributes.float_or("alpha", 1.0).ok()?;
    attributes.set("alpha", AttributeValue::Float(alpha * factor));
    Some((product.inputs.clone(), attributes))
}

/// A number of rank 0 or 1, which adds no dimension to a matrix.
fn scalar(m: &Matcher<'_>, id: Option<ValueId>) -> Option<f32> {
    m.number(id).filter(|_| m.constant(id).is_some_and(|t| t.shape().rank() <= 1))
}

/// An activation function.
fn activated(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    let (name, alpha, beta) = activation_of(m, node)?;
    let (product, mut attributes) = product(m, node.input(0))?;
    activation::to_attributes(name, alpha, beta, &mut attributes);
    Some((product.inputs.clone(), attributes))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{lowered, ops};
    use super::*;
    use crate::passes::dead;
    use stead_kernels::Isa;
    use stead_onnx::ModelBuilder;
    use stead_tensor::Tensor;

    fn check(label: &str, builder: ModelBuilder, expected: &[&str]) {
        let mut ir = lowered(builder);
        let mut cx = PassCx { isa: Isa::detect(), fold_bytes: 0 };
        for _ in 0..4 {
            run(&mut ir, &mut cx).unwrap();
            dead::run(&mut ir, &mut cx).unwrap();
        }
        assert_eq!(ops(&ir), expected, "{label}");
    }

    fn linear(bias: &[usize]) -> ModelBuilder {
        let values = vec![1.0f32; bias.iter().product()];
        ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "3"])
            .init("w", Tensor::from_slice(&[1.0f32; 12], &[3, 4]).unwrap())
            .init("b", Tensor::from_slice(&values, bias).unwrap())
            .node("MatMul", &["x", "w"], &["p"])
            .node("Add", &["b", "p"], &["s"])
    }

    #[test]
    fn before_and_after() {
        let relu = |b: ModelBuilder| b.node("Relu", &["s"], &["y"]).output("y", DType::F32);
        check("bias and activation", relu(linear(&[4])), &["stead.MatMul"]);
        let twice = linear(&[4])
            .input("r", DType::F32, &["n", "4"])
            .node("Add", &["r", "s"], &["t"])
            .node("Relu", &["t"], &["y"])
            .output("y", DType::F32);
        check("bias, residual and activation", twice, &["stead.MatMul"]);
        check("a bias for each row", relu(linear(&[1, 1, 4])), &["MatMul", "Add", "Relu"]);
        let shared = relu(linear(&[4])).output("p", DType::F32);
        check("the product is an output", shared, &["MatMul", "Add", "Relu"]);
    }
}
