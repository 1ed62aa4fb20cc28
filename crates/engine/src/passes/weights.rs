//! Keeps weights of 8 bits that small where only they were quantised.

use super::PassCx;
use super::dequantized::{dequantized, has_columns, is_along, product};
use super::pattern::{Replacement, attributes_for, rewrite};
use crate::error::LoadError;
use crate::ir::Ir;
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

/// MatMul or Gemm of floats and DequantizeLinear of a constant matrix of bytes with one scale or one for each column, which
/// nobody else reads, becomes a product by weights of 8 bits with one block for each column.
///
/// It must come behind the pass for products of two quantised operands, and before constants are folded.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let product = product(m, node)?;
        let b = dequantized(m, product.b).filter(|_| m.is_read_once(product.b))?;
        let weight = m.constant(b.bytes)?;
        let &[rows, cols] = weight.shape().dims() else { return None };
        let (k, n, axis) = if product.transposed { (cols, rows, 0) } else { (rows, cols, 1) };
        let bias_fits = product.bias.is_none_or(|bias| has_columns(m, bias, n));
        if k == 0 || n == 0 || !is_along(m, &b, n, axis) || !bias_fits {
            return None;
        }
        let flip = if weight.dtype() == DType::I8 { 0x80 } else { 0 };
        let bytes = weight.bytes();
        let columns: Vec<u8> = match product.transposed {
            true => bytes.iter().map(|byte| byte ^ flip).collect(),
            false => (0..n * k).map(|i| bytes[i % k * n + i / k] ^ flip).collect(),
        };
        let scales = m.constant(b.scale)?.as_slice::<f32>().ok()?;
        let zeros = m.constant(b.zero).map_or(&[0][..], |zero| zero.bytes());
        let of = |i: usize, count: usize| if count == 1 { 0 } else { i };
        let scales: Vec<f32> = (0..n).map(|i| scales[of(i, scales.len())]).collect();
        let zeros: Vec<u8> = (0..n).map(|i| zeros[of(i, zeros.len())] ^ flip).collect();
        let mut constants = vec![
            (1, Tensor::from_slice(&columns, &[n, 1, k]).ok()?),
            (2, Tensor::from_slice(&scales, &[n]).ok()?),
        ];
        // Half of the range is what is meant without zero points.
        if zeros.iter().any(|zero| *zero != 0x80) {
            constants.push((3, Tensor::from_slice(&zeros, &[n]).ok()?));
        }
        let mut attributes = attributes_for(node);
        for (name, value) in [("K", k), ("N", n), ("bits", 8), ("block_size", k)] {
            attributes.set(name, AttributeValue::Int(i64::try_from(value).ok()?));
        }
        Some(Replacement {
            at,
            domain: "stead",
            op_type: "MatMulNBits",
            opset: 1,
            inputs: vec![product.a, None, None, None, None, product.bias],
            constants,
            attributes,
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    /// `x` by a matrix of 3 x 3 whose scales go along `axis`, by `op`, as `p`.
    fn model(op: &str, axis: i64) -> ModelBuilder {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["m", "3"])
            .init("w", Tensor::from_slice(&[1i8; 9], &[3, 3]).unwrap())
            .init("w_scale", Tensor::from_slice(&[0.5f32, 0.25, 1.0], &[3]).unwrap())
            .node("DequantizeLinear", &["w", "w_scale"], &["b"])
            .attr("axis", axis)
            .node(op, &["x", "b"], &["p"])
    }

    #[test]
    fn before_and_after() {
        let small = ["stead.MatMulNBits"];
        let out = |model: ModelBuilder| model.output("p", DType::F32);
        check("by columns", super::run, out(model("MatMul", 1)), &small);
        check("a Gemm", super::run, out(model("Gemm", -1)), &small);
        let turned = out(model("Gemm", 0).attr("transB", 1i64));
        check("transposed, by rows", super::run, turned, &small);
        let all = ["DequantizeLinear", "MatMul"];
        check("by rows", super::run, out(model("MatMul", 0)), &all);
        let twice = out(model("MatMul", 1)).output("b", DType::F32);
        check("read twice", super::run, twice, &all);
    }
}
