//! Makes one node of a matrix product, its bias, a residual and an activation.

mod inner;
mod normal;
mod seen;

pub(super) use inner::run as join;
pub(super) use normal::run as normalise;

use super::PassCx;
use super::pattern::{Matcher, Replacement, activation_of, copied_attributes, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use crate::ops::activation;
use seen::unseen;
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::DType;

/// MatMul and Gemm take up what follows them, one step in a round: a bias, then a residual and an activation. So does the
/// product of bytes that becomes one of floats.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        gemm(m, node)
            .or_else(|| bias(m, node))
            .or_else(|| residual(m, node))
            .or_else(|| scale(m, node))
            .or_else(|| activated(m, node))
            .map(|fused| replacement(at, fused))
    }))
}

/// The fused node in the place of the last one that it takes up.
fn replacement(at: usize, (kind, inputs, attributes): Fused) -> Replacement {
    let (domain, op_type) = ("stead", kind.op_type);
    Replacement { at, domain, op_type, opset: 1, inputs, constants: vec![], attributes }
}

/// A fused product: its operator, and where its bias and residual stand.
struct Kind {
    op_type: &'static str,
    bias: usize,
    residual: usize,
}

const FLOATS: Kind = Kind { op_type: "MatMul", bias: 2, residual: 3 };
const BYTES: Kind = Kind { op_type: "MatMulIntegerToFloat", bias: 6, residual: 7 };

type Fused = (&'static Kind, Vec<Option<ValueId>>, Attributes);

/// A product with a result of `f32` that could take up more.
struct Product<'a> {
    kind: &'static Kind,
    node: &'a Node,
}

impl Product<'_> {
    fn bias(&self) -> Option<ValueId> {
        self.node.input(self.kind.bias)
    }

    fn residual(&self) -> Option<ValueId> {
        self.node.input(self.kind.residual)
    }

    /// The fused node, with one more input.
    fn with_input(&self, index: usize, id: ValueId) -> Fused {
        let mut inputs = self.node.inputs.clone();
        inputs.resize(inputs.len().max(index + 1), None);
        inputs[index] = Some(id);
        (self.kind, inputs, copied_attributes(self.node))
    }
}

fn product<'a>(m: &Matcher<'a>, id: Option<ValueId>) -> Option<Product<'a>> {
    let node = m.maker(id).filter(|_| m.is_read_once(id))?;
    let is_f32 = m.dtype(id) == Some(DType::F32);
    let fused = |kind: &Kind| node.domain == "stead" && node.op_type == kind.op_type;
    let has = |name: &str| node.attributes.has(name);
    let takes_more = !has("activation") && !has("norm");
    let kind = match () {
        () if node.is("MatMul") || fused(&FLOATS) => &FLOATS,
        () if fused(&BYTES) => &BYTES,
        () => return None,
    };
    (is_f32 && takes_more).then_some(Product { kind, node })
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
    Some((&FLOATS, node.inputs.clone(), attributes))
}

/// Add of a constant vector with one number for each column.
fn bias(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    if !node.is("Add") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(id, bias)| {
        let product = product(m, id)?;
        let n = columns(m, product.node)?;
        let shape = m.constant(bias)?.shape();
        // A vector of N numbers adds no dimension to the result, whatever its rank.
        let is_vector = shape.rank() == 1 && shape.elements() == n;
        if product.bias().is_some() || product.residual().is_some() || !is_vector {
            return None;
        }
        Some(product.with_input(product.kind.bias, bias?))
    })
}

/// Add of something that is no constant: the residual of a transformer's layer. The plan adds it in registers
/// where it has the shape of the product, as it mostly has, or that in which the product is seen.
fn residual(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    if !node.is("Add") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(id, other)| {
        let (id, seen) = unseen(m, id)?;
        let product = product(m, id)?;
        // Only behind a constant matrix: the product of two activations is more likely masked than added to.
        columns(m, product.node)?;
        if product.residual().is_some() || m.constant(other).is_some() || other == id {
            return None;
        }
        let (kind, mut inputs, mut attributes) = product.with_input(product.kind.residual, other?);
        if !seen.is_plain() {
            if kind.op_type != FLOATS.op_type {
                return None;
            }
            seen.note(&mut inputs, &mut attributes);
        }
        Some((kind, inputs, attributes))
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
    let product = product(m, id).filter(|p| p.kind.op_type == FLOATS.op_type)?;
    if product.bias().is_some() || product.residual().is_some() || !factor.is_finite() {
        return None;
    }
    let mut attributes = copied_attributes(product.node);
    let alpha = attributes.float_or("alpha", 1.0).ok()?;
    attributes.set("alpha", AttributeValue::Float(alpha * factor));
    Some((product.kind, product.node.inputs.clone(), attributes))
}

/// A number of rank 0 or 1, which adds no dimension to a matrix.
fn scalar(m: &Matcher<'_>, id: Option<ValueId>) -> Option<f32> {
    m.number(id).filter(|_| m.constant(id).is_some_and(|t| t.shape().rank() <= 1))
}

/// An activation function.
fn activated(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    let (name, alpha, beta) = activation_of(m, node)?;
    let product = product(m, node.input(0))?;
    let mut attributes = copied_attributes(product.node);
    activation::to_attributes(name, alpha, beta, &mut attributes);
    Some((product.kind, product.node.inputs.clone(), attributes))
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

    #[test]
    fn residuals_behind_changes_of_shape() {
        let seen = |model: ModelBuilder| {
            let shape = Tensor::from_slice(&[-1i64, 1, 4], &[3]).unwrap();
            model
                .init("shape", shape)
                .input("r", DType::F32, &["1", "n", "4"])
                .node("Reshape", &["s", "shape"], &["a"])
                .node("Transpose", &["a"], &["t"])
                .attr("perm", vec![1i64, 0, 2])
                .node("Add", &["r", "t"], &["y"])
                .output("y", DType::F32)
        };
        check("both", seen(linear(&[4])), &["stead.MatMul"]);
        let apart = ["stead.MatMul", "Reshape", "Transpose", "Add"];
        check("an output between", seen(linear(&[4])).output("t", DType::F32), &apart);
        let before = seen(linear(&[4])).output("s", DType::F32);
        check("the product is an output", before, &apart);
    }
}
