//! Lets operators whose operands and results are quantised run on the bytes.

use super::PassCx;
use super::dequantized::{dequantized, is_one};
use super::pattern::{
    Matcher, Replacement, activation_of, attributes_for, copied_attributes, rewrite,
};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use crate::ops::activation;
use stead_tensor::DType;

/// QuantizeLinear of what one operator makes of DequantizeLinear: MaxPool and operators that only move elements, with the same
/// scale on both sides, and Add, which a Relu or Clip may follow. Each result is the same byte.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| {
        let result = result(m, node)?;
        let inner = m.maker(node.input(0)).filter(|_| m.is_read_once(node.input(0)))?;
        moved(m, at, inner, &result).or_else(|| sum(m, at, inner, &result))
    }))
}

/// Scale, zero point and type of QuantizeLinear by one constant scale.
struct Bytes {
    scale: Option<ValueId>,
    zero: Option<ValueId>,
    dtype: DType,
}

fn result(m: &Matcher<'_>, node: &Node) -> Option<Bytes> {
    let (scale, zero) = (node.input(1), node.input(2));
    let dtype = m.dtype(node.output(0)).filter(|t| matches!(t, DType::U8 | DType::I8))?;
    let f32 = Some(DType::F32);
    let right = node.is("QuantizeLinear") && m.dtype(scale) == f32 && m.dtype(node.input(0)) == f32;
    let one = m.constant(scale).is_some() && is_one(m, scale) && is_one(m, zero);
    let blocked = node.attributes.int_or("block_size", 0).ok()? != 0;
    (right && one && !blocked).then_some(Bytes { scale, zero, dtype })
}

/// The bytes behind an operand with one constant scale.
fn operand(m: &Matcher<'_>, id: Option<ValueId>, dtype: DType) -> Option<[Option<ValueId>; 3]> {
    let of = dequantized(m, id)?;
    let one = of.scale.is_some() && is_one(m, of.scale) && is_one(m, of.zero);
    (one && m.dtype(of.bytes) == Some(dtype)).then_some([of.bytes, of.scale, of.zero])
}

/// Whether two constants of one element are the same; an absent zero point is 0.
fn same(m: &Matcher<'_>, a: Option<ValueId>, b: Option<ValueId>) -> bool {
    let bytes = |id| match id {
        None => Some(&[0u8][..]),
        id => m.constant(id).map(|tensor| tensor.bytes()),
    };
    bytes(a).is_some() && bytes(a) == bytes(b)
}

/// Operators that compute the same of any type, by their first input.
const MOVES: [&str; 6] = ["MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze"];

fn moved(m: &Matcher<'_>, at: usize, node: &Node, to: &Bytes) -> Option<Replacement> {
    let op_type = *MOVES.iter().find(|op| node.is(op))?;
    let [bytes, scale, zero] = operand(m, node.input(0), to.dtype)?;
    let only = node.outputs.iter().skip(1).all(Option::is_none);
    if !only || !same(m, scale, to.scale) || !same(m, zero, to.zero) {
        return None;
    }
    let mut inputs = node.inputs.clone();
    *inputs.first_mut()? = bytes;
    Some(Replacement {
        at,
        domain: "",
        op_type,
        opset: node.opset,
        inputs,
        constants: vec![],
        attributes: copied_attributes(node),
    })
}

fn sum(m: &Matcher<'_>, at: usize, node: &Node, to: &Bytes) -> Option<Replacement> {
    let function = activation_of(m, node).filter(|(name, ..)| matches!(*name, "Relu" | "Clip"));
    let node = match function {
        Some(_) => m.only_made_by(node.input(0), "Add")?,
        None => node,
    };
    if !node.is("Add") {
        return None;
    }
    let (a, b) = (operand(m, node.input(0), to.dtype)?, operand(m, node.input(1), to.dtype)?);
    let mut attributes = attributes_for(node);
    if let Some((name, alpha, beta)) = function {
        activation::to_attributes(name, alpha, beta, &mut attributes);
    }
    Some(Replacement {
        at,
        domain: "stead",
        op_type: "QLinearAdd",
        opset: 1,
        inputs: [&a[..], &b, &[to.scale, to.zero]].concat(),
        constants: vec![],
        attributes,
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::{AttributeValue, ModelBuilder};
    use stead_tensor::{DType, Tensor};

    /// Two images of bytes, as `a` and `b`, with scales of their own.
    fn operands() -> ModelBuilder {
        let scalar = |x: f32| Tensor::scalar(x).unwrap();
        ModelBuilder::new(17)
            .input("x", DType::U8, &["n", "3", "8", "8"])
            .input("y", DType::U8, &["n", "3", "8", "8"])
            .init("x_scale", scalar(0.5))
            .init("y_scale", scalar(0.25))
            .init("zero", Tensor::scalar(3u8).unwrap())
            .init("none", Tensor::scalar(0u8).unwrap())
            .node("DequantizeLinear", &["x", "x_scale", "zero"], &["a"])
            .node("DequantizeLinear", &["y", "y_scale"], &["b"])
    }

    fn quantized(model: ModelBuilder, by: &[&str]) -> ModelBuilder {
        let inputs = [&["c"], by].concat();
        model.node("QuantizeLinear", &inputs, &["z"]).output("z", DType::U8)
    }

    #[test]
    fn before_and_after() {
        let pool = |from| {
            operands()
                .node("MaxPool", &[from], &["c"])
                .attr("kernel_shape", AttributeValue::Ints(vec![2, 2]))
        };
        let pass = super::run;
        check("a pool", pass, quantized(pool("a"), &["x_scale", "zero"]), &["MaxPool"]);
        check("a zero point of 0", pass, quantized(pool("b"), &["y_scale", "none"]), &["MaxPool"]);
        let all = ["DequantizeLinear", "MaxPool", "QuantizeLinear"];
        check("another scale", pass, quantized(pool("a"), &["y_scale", "zero"]), &all);
        check("another zero point", pass, quantized(pool("a"), &["x_scale"]), &all);
        let sum = || operands().node("Add", &["a", "b"], &["c"]);
        check("a sum", pass, quantized(sum(), &["x_scale", "zero"]), &["stead.QLinearAdd"]);
        let limited = operands().node("Add", &["a", "b"], &["s"]).node("Relu", &["s"], &["c"]);
        check("an activation", pass, quantized(limited, &["x_scale"]), &["stead.QLinearAdd"]);
        let read = quantized(sum(), &["x_scale"]).output("c", DType::F32);
        let all = ["DequantizeLinear", "DequantizeLinear", "Add", "QuantizeLinear"];
        check("read twice", pass, read, &all);
    }
}
