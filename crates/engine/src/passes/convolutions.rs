//! Folds what follows a convolution into it: batch normalisation, a factor or an addend for each channel, an
//! activation.

use super::PassCx;
use super::pattern::{Matcher, Replacement, activation_of, copied_attributes, rewrite};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use crate::ops::activation;
use stead_tensor::{DType, Tensor};

/// Conv with constant weights takes up the node that follows it, one in a round.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| per_channel(m, at, node).or_else(|| activated(m, at, node))))
}

/// A convolution of `f32` that nobody else reads and that has no activation yet.
fn convolution<'a>(m: &Matcher<'a>, id: Option<ValueId>) -> Option<&'a Node> {
    let node = m.maker(id).filter(|_| m.is_read_once(id))?;
    let fused = node.domain == "stead" && node.op_type == "Conv";
    let is_open = node.attributes.string("activation").ok()?.is_none();
    let is_f32 = m.dtype(id) == Some(DType::F32);
    ((node.is("Conv") || fused) && is_open && is_f32).then_some(node)
}

/// An activation function.
fn activated(m: &Matcher<'_>, at: usize, node: &Node) -> Option<Replacement> {
    let (name, alpha, beta) = activation_of(m, node)?;
    let conv = convolution(m, node.input(0)).or_else(|| of_bytes(m, node.input(0)))?;
    let mut attributes = copied_attributes(conv);
    activation::to_attributes(name, alpha, beta, &mut attributes);
    let inputs = conv.inputs.clone();
    Some(Replacement {
        at,
        domain: "stead",
        op_type: if conv.op_type == OF_BYTES { OF_BYTES } else { "Conv" },
        opset: 1,
        inputs,
        constants: vec![],
        attributes,
    })
}

/// The convolution of bytes that gives floats.
const OF_BYTES: &str = "ConvIntegerToFloat";

/// Such a convolution that nobody else reads and that has no activation yet.
fn of_bytes<'a>(m: &Matcher<'a>, id: Option<ValueId>) -> Option<&'a Node> {
    let node = m.maker(id).filter(|_| m.is_read_once(id))?;
    let is_open = node.attributes.string("activation").ok()?.is_none();
    (node.domain == "stead" && node.op_type == OF_BYTES && is_open).then_some(node)
}

/// What a node does to each channel: `y = factor x + addend`.
struct Affine {
    factor: Vec<f32>,
    addend: Vec<f32>,
}

fn per_channel(m: &Matcher<'_>, at: usize, node: &Node) -> Option<Replacement> {
    let (conv, affine) = batch_norm(m, node).or_else(|| arithmetic(m, node))?;
    let weights = m.constant(conv.input(1))?;
    let channels = weights.shape().first().copied().filter(|&c| c > 0)?;
    if affine.factor.len() != channels || affine.addend.len() != channels {
        return None;
    }
    let bias = match conv.input(2) {
        None => vec![0.0; channels],
        Some(id) => m.constant(Some(id))?.as_slice::<f32>().ok()?.to_vec(),
    };
    let values = weights.as_slice::<f32>().ok()?;
    let per_output = values.len() / channels;
    let scaled: Vec<f32> =
        values.iter().enumerate().map(|(i, w)| w * affine.factor[i / per_output.max(1)]).collect();
    let moved: Vec<f32> = bias
        .iter()
        .zip(affine.factor.iter().zip(&affine.addend))
        .map(|(b, (factor, addend))| b * factor + addend)
        .collect();
    let weights = Tensor::from_slice(&scaled, &weights.shape()).ok()?;
    let bias = Tensor::from_slice(&moved, &[channels]).ok()?;
    Some(Replacement {
        at,
        domain: if conv.domain.is_empty() { "" } else { "stead" },
        op_type: "Conv",
        opset: conv.opset,
        inputs: vec![conv.input(0), None, None],
        constants: vec![(1, weights), (2, bias)],
        attributes: copied_attributes(conv),
    })
}

/// Batch normalisation outside of training.
fn batch_norm<'a>(m: &Matcher<'a>, node: &Node) -> Option<(&'a Node, Affine)> {
    let training = node.attributes.bool_or("training_mode", false).ok()?;
    let only_y = node.outputs.iter().skip(1).all(Option::is_none);
    if !node.is("BatchNormalization") || training || !only_y {
        return None;
    }
    let conv = convolution(m, node.input(0))?;
    let list = |i: usize| m.constant(node.input(i))?.as_slice::<f32>().ok();
    let (scale, bias, mean, variance) = (list(1)?, list(2)?, list(3)?, list(4)?);
    let epsilon = node.attributes.float_or("epsilon", 1e-5).ok()?;
    let factor: Vec<f32> =
        scale.iter().zip(variance).map(|(s, v)| s / (v + epsilon).sqrt()).collect();
    let addend = bias.iter().zip(mean.iter().zip(&factor)).map(|(b, (m, f))| b - m * f).collect();
    Some((conv, Affine { factor, addend }))
}

/// Mul or Add of one constant for each channel.
fn arithmetic<'a>(m: &Matcher<'a>, node: &Node) -> Option<(&'a Node, Affine)> {
    let is_mul = node.is("Mul");
    if !is_mul && !node.is("Add") {
        return None;
    }
    m.either_way(node).into_iter().find_map(|(id, by)| {
        let conv = convolution(m, id)?;
        let rank = m.constant(conv.input(1))?.shape().rank();
        let tensor = m.constant(by)?;
        // [C, 1, 1] or [1, C, 1, 1] beside an output of [N, C, H, W]: anything else adds a dimension or
        // differs along an image.
        let shape = tensor.shape();
        let spatial = rank.checked_sub(2)?;
        let dims = match shape.rank().checked_sub(spatial)? {
            1 => shape.dims(),
            2 if shape[0] == 1 => &shape.dims()[1..],
            _ => return None,
        };
        if dims[1..].iter().any(|&d| d != 1) {
            return None;
        }
        let values = tensor.as_slice::<f32>().ok()?.to_vec();
        let n = values.len();
        let affine = if is_mul {
            Affine { factor: values, addend: vec![0.0; n] }
        } else {
            Affine { factor: vec![1.0; n], addend: values }
        };
        Some((conv, affine))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::ModelBuilder;
    use stead_tensor::{DType, Tensor};

    fn conv() -> ModelBuilder {
        let list = |v: f32| Tensor::from_slice(&[v, v + 1.0], &[2]).unwrap();
        ModelBuilder::new(17)
            .input("x", DType::F32, &["1", "1", "4", "4"])
            .init("w", Tensor::from_slice(&[0.5f32; 18], &[2, 1, 3, 3]).unwrap())
            .init("scale", list(1.0))
            .init("bias", list(2.0))
            .init("mean", list(3.0))
            .init("var", list(4.0))
            .init("channel", Tensor::from_slice(&[1.0f32, 2.0], &[2, 1, 1]).unwrap())
            .init("row", Tensor::from_slice(&[1.0f32, 2.0], &[1, 1, 2]).unwrap())
            .node("Conv", &["x", "w"], &["c"])
    }

    #[test]
    fn before_and_after() {
        let norm = conv()
            .node("BatchNormalization", &["c", "scale", "bias", "mean", "var"], &["y"])
            .output("y", DType::F32);
        check("batch normalisation", super::run, norm, &["Conv"]);
        let relu = conv().node("Relu", &["c"], &["y"]).output("y", DType::F32);
        check("activation", super::run, relu, &["stead.Conv"]);
        let add = conv().node("Add", &["c", "channel"], &["y"]).output("y", DType::F32);
        check("a number for each channel", super::run, add, &["Conv"]);
        let row = conv().node("Add", &["c", "row"], &["y"]).output("y", DType::F32);
        check("a number for each column", super::run, row, &["Conv", "Add"]);
    }
}
