//! Lets products of operands that were quantised, and are floats again only for the product, run on the bytes.

use super::PassCx;
use super::pattern::{Matcher, Replacement, attributes_for, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use stead_onnx::Attributes;
use stead_tensor::{DType, Element, Tensor};

/// MatMul or Gemm of DequantizeLinear of bytes with one scale, and DequantizeLinear of a constant matrix of bytes with one
/// scale or one for each column. The sums are exact then, and rounded once.
///
/// It must come before constants are folded, which would leave floats of the weights.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let product = product(m, node)?;
        let a = dequantized(m, product.a)?;
        let b = dequantized(m, product.b)?;
        let weight = m.constant(b.bytes)?;
        let &[rows, cols] = weight.shape().dims() else { return None };
        let (n, axis) = if product.transposed { (rows, 0) } else { (cols, 1) };
        if !is_one(m, a.scale) || !is_one(m, a.zero) || !is_along(m, &b, n, axis) {
            return None;
        }
        if !product.bias.is_none_or(|bias| has_columns(m, bias, n)) {
            return None;
        }
        let mut constants = vec![];
        if product.transposed {
            constants.push((1, transposed(weight)?));
        }
        Some(Replacement {
            at,
            domain: "stead",
            op_type: "MatMulIntegerToFloat",
            opset: 1,
            inputs: vec![a.bytes, b.bytes, a.scale, b.scale, a.zero, b.zero, product.bias],
            constants,
            attributes: attributes_for(node),
        })
    }))
}

pub(super) struct Product {
    pub a: Option<ValueId>,
    pub b: Option<ValueId>,
    pub bias: Option<ValueId>,
    pub transposed: bool,
}

/// The operands of a product of floats without factors.
pub(super) fn product(m: &Matcher<'_>, node: &Node) -> Option<Product> {
    if m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    let (a, b, bias) = (node.input(0), node.input(1), node.input(2));
    if node.is("MatMul") {
        return Some(Product { a, b, bias: None, transposed: false });
    }
    let of: &Attributes = &node.attributes;
    let plain = of.float_or("alpha", 1.0).ok()? == 1.0
        && (bias.is_none() || of.float_or("beta", 1.0).ok()? == 1.0)
        && !of.bool_or("transA", false).ok()?;
    let transposed = of.bool_or("transB", false).ok()?;
    (node.is("Gemm") && plain).then_some(Product { a, b, bias, transposed })
}

/// Bytes with scales and zero points.
pub(super) struct Dequantized {
    pub bytes: Option<ValueId>,
    pub scale: Option<ValueId>,
    pub zero: Option<ValueId>,
    pub axis: i64,
}

pub(super) fn dequantized(m: &Matcher<'_>, id: Option<ValueId>) -> Option<Dequantized> {
    let node = m.made_by(id, "DequantizeLinear")?;
    let [bytes, scale, zero] = std::array::from_fn(|i| node.input(i));
    let is_byte = matches!(m.dtype(bytes)?, DType::U8 | DType::I8);
    let is_f32 = m.dtype(scale) == Some(DType::F32);
    let is_blocked = node.attributes.int_or("block_size", 0).ok()? != 0;
    let axis = node.attributes.int_or("axis", 1).ok()?;
    (is_byte && is_f32 && !is_blocked).then_some(Dequantized { bytes, scale, zero, axis })
}

/// Whether a scale or zero point is one constant number, or absent.
pub(super) fn is_one(m: &Matcher<'_>, id: Option<ValueId>) -> bool {
    id.is_none() || m.constant(id).is_some_and(|tensor| tensor.shape().elements() == 1)
}

/// Whether scales and zero points of a constant matrix are one number, or one for each of its `n` columns.
pub(super) fn is_along(m: &Matcher<'_>, b: &Dequantized, n: usize, axis: i64) -> bool {
    let fits = |id: ValueId| {
        let Some(tensor) = m.constant(Some(id)) else { return false };
        let count = tensor.shape().elements();
        count == 1 || (count == n && tensor.shape().rank() == 1 && b.axis.rem_euclid(2) == axis)
    };
    [b.scale, b.zero].into_iter().flatten().all(fits)
}

/// Whether a bias is a vector of `n` numbers: a constant, or one that was quantised.
pub(super) fn has_columns(m: &Matcher<'_>, bias: ValueId, n: usize) -> bool {
    let behind = m.made_by(Some(bias), "DequantizeLinear").and_then(|node| node.input(0));
    let constant = m.constant(Some(bias)).or_else(|| m.constant(behind));
    m.dtype(Some(bias)) == Some(DType::F32)
        && constant.is_some_and(|t| t.shape().rank() == 1 && t.shape().elements() == n)
}

/// The transpose of a matrix of bytes.
fn transposed(matrix: &Tensor) -> Option<Tensor> {
    match matrix.dtype() {
        DType::U8 => transposed_of::<u8>(matrix),
        _ => transposed_of::<i8>(matrix),
    }
}

fn transposed_of<T: Element>(matrix: &Tensor) -> Option<Tensor> {
    let &[rows, cols] = matrix.shape().dims() else { return None };
    let from = matrix.as_slice::<T>().ok()?;
    let mut to = vec![T::zeroed(); from.len()];
    for (row, values) in from.chunks_exact(cols.max(1)).enumerate() {
        values.iter().enumerate().for_each(|(col, value)| to[col * rows + row] = *value);
    }
    Tensor::from_slice(&to, &[cols, rows]).ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn floats(values: &[f32], dims: &[usize]) -> Tensor {
        Tensor::from_slice(values, dims).unwrap()
    }

    /// `a` and `b` as floats: of bytes from outside with this scale, and of a matrix of 3 x 3 by columns or rows.
    fn operands(a_scale: Tensor, axis: i64) -> ModelBuilder {
        ModelBuilder::new(17)
            .input("x", DType::U8, &["m", "3"])
            .init("a_scale", a_scale)
            .init("w", Tensor::from_slice(&[1i8; 9], &[3, 3]).unwrap())
            .init("w_scale", floats(&[0.5, 0.25, 1.0], &[3]))
            .node("DequantizeLinear", &["x", "a_scale"], &["a"])
            .node("DequantizeLinear", &["w", "w_scale"], &["b"])
            .attr("axis", axis)
    }

    fn product(axis: i64, op: &str) -> ModelBuilder {
        operands(floats(&[0.5], &[]), axis).node(op, &["a", "b"], &["y"]).output("y", DType::F32)
    }

    #[test]
    fn before_and_after() {
        let one = ["stead.MatMulIntegerToFloat"];
        let all = |op: &'static str| ["DequantizeLinear", "DequantizeLinear", op];
        check("by columns", super::run, product(1, "MatMul"), &one);
        check("counted from the end", super::run, product(-1, "MatMul"), &one);
        check("by rows", super::run, product(0, "MatMul"), &all("MatMul"));
        check("a Gemm", super::run, product(1, "Gemm"), &one);
        let gemm = |axis, factor| product(axis, "Gemm").attr("transB", 1i64).attr("alpha", factor);
        check("transposed, by rows", super::run, gemm(0, 1.0f32), &one);
        check("transposed, by columns", super::run, gemm(1, 1.0f32), &all("Gemm"));
        check("with a factor", super::run, gemm(0, 2.0f32), &all("Gemm"));
        let rows = operands(floats(&[0.5; 3], &[3]), 1).node("MatMul", &["a", "b"], &["y"]);
        check("a scale for each of k", super::run, rows.output("y", DType::F32), &all("MatMul"));
    }
}
