//! Normalises the rows of a product in its step.

use super::{FLOATS, Fused, columns, replacement};
use crate::error::LoadError;
use crate::ir::{Ir, Node};
use crate::passes::PassCx;
use crate::passes::pattern::{Matcher, copied_attributes, rewrite};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// LayerNormalization and RMSNormalization of what a product by a constant matrix gives, with all that it has taken up,
/// become part of it: its rows are normalised block by block while they are in the cache.
///
/// The moments are taken in two passes over a row that is complete. Sums of squares in the registers of the product would
/// spare the first pass, a tenth of a percent of the time, and lose digits where the mean is large beside the deviation.
pub(in crate::passes) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| normalised(m, node).map(|fused| replacement(at, fused))))
}

/// LayerNormalization or RMSNormalization of the last axis, of which nobody wants the moments.
fn normalised(m: &Matcher<'_>, node: &Node) -> Option<Fused> {
    let norm = match () {
        () if node.is("LayerNormalization") => "layer",
        () if node.is("RMSNormalization") => "rms",
        () => return None,
    };
    let a = &node.attributes;
    let epsilon = a.float_or("epsilon", 1e-5).ok()?;
    let alone = node.outputs.iter().skip(1).all(Option::is_none);
    let id = node.input(0);
    // The sum may have been activated: the normalisation comes after that in any case.
    let product = m.maker(id).filter(|_| m.is_read_once(id) && m.dtype(id) == Some(DType::F32))?;
    let is_product =
        product.is("MatMul") || product.domain == "stead" && product.op_type == "MatMul";
    if !alone || !is_product || a.int_or("axis", -1).ok()? != -1 || product.attributes.has("norm") {
        return None;
    }
    columns(m, product)?;
    let (mut inputs, mut attributes) = (product.inputs.clone(), copied_attributes(product));
    inputs.resize(inputs.len().max(NORM_SCALE + 2), None);
    (inputs[NORM_SCALE], inputs[NORM_SCALE + 1]) = (Some(node.input(1)?), node.input(2));
    attributes.set("norm", AttributeValue::String(norm.as_bytes().to_vec()));
    attributes.set("epsilon", AttributeValue::Float(epsilon));
    Some((&FLOATS, inputs, attributes))
}

/// The scale of the normalisation among the inputs of the fused product; its bias comes behind it.
const NORM_SCALE: usize = 4;

#[cfg(test)]
mod tests {
    use super::super::super::testing::check;
    use super::*;
    use stead_onnx::ModelBuilder;
    use stead_tensor::Tensor;

    fn normal(axis: i64, wants_mean: bool) -> ModelBuilder {
        let vector = |n: usize| Tensor::from_slice(&vec![1.0f32; n], &[n]).unwrap();
        let model = ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "3"])
            .init("w", Tensor::from_slice(&[1.0f32; 12], &[3, 4]).unwrap())
            .init("scale", vector(4))
            .init("bias", vector(4))
            .node("MatMul", &["x", "w"], &["p"]);
        let outputs: &[&str] = if wants_mean { &["y", "mean"] } else { &["y"] };
        let model = model
            .node("LayerNormalization", &["p", "scale", "bias"], outputs)
            .attr("axis", axis)
            .output("y", DType::F32);
        if wants_mean { model.output("mean", DType::F32) } else { model }
    }

    #[test]
    fn before_and_after() {
        let apart = ["MatMul", "LayerNormalization"];
        check("rows", run, normal(-1, false), &["stead.MatMul"]);
        check("another axis", run, normal(0, false), &apart);
        check("the mean is wanted", run, normal(-1, true), &apart);
        check("the sum is wanted", run, normal(-1, false).output("p", DType::F32), &apart);
        let matrix = ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "3"])
            .input("w", DType::F32, &["3", "4"])
            .init("scale", Tensor::from_slice(&[1.0f32; 4], &[4]).unwrap())
            .node("MatMul", &["x", "w"], &["p"])
            .node("LayerNormalization", &["p", "scale"], &["y"])
            .output("y", DType::F32);
        check("of two activations", run, matrix, &apart);
    }
}
