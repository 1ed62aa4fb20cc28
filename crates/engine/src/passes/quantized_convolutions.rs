//! Lets convolutions of operands that were quantised, and are floats again only for the convolution, run on the bytes.

use super::dequantized::{Dequantized, dequantized, is_one};
use super::pattern::{Matcher, Replacement, activation_of, copied_attributes, rewrite};
use super::{PassCx, last};
use crate::error::LoadError;
use crate::ir::{Ir, Node, ValueId};
use crate::ops::activation;
use stead_tensor::{DType, Tensor};

/// Conv of DequantizeLinear of bytes with one scale, and of DequantizeLinear of constant filters with one scale or one for
/// each: with QuantizeLinear behind it, or behind a Relu or Clip, one QLinearConv, else one node that gives floats. Sums are
/// exact then and rounded once, in the place of a rounding at each step.
///
/// Of channels that stand alone bytes become bytes where the kernel for [channels together](super::last) computes that; else
/// they stay floats, for which their kernel is faster. It must come before constants are folded.
pub(super) fn run(ir: &mut Ir, _: &mut PassCx) -> Result<usize, LoadError> {
    Ok(rewrite(ir, &|m, at, node| to_bytes(m, at, node).or_else(|| to_floats(m, at, node))))
}

/// The operands of a convolution of bytes.
struct Convolution<'a> {
    node: &'a Node,
    x: Dequantized,
    w: Dequantized,
    filters: usize,
    alone: bool,
}

fn convolution<'a>(m: &Matcher<'_>, node: &'a Node) -> Option<Convolution<'a>> {
    if !node.is("Conv") || m.dtype(node.output(0)) != Some(DType::F32) {
        return None;
    }
    let (x, w) = (dequantized(m, node.input(0))?, dequantized(m, node.input(1))?);
    let filters = m.constant(w.bytes)?.shape();
    let rank = filters.rank() as i64;
    let groups = node.attributes.int_or("group", 1).ok()?;
    let alone = groups > 1 && filters.dims().get(1) == Some(&1);
    let count = *filters.dims().first()?;
    let fits = |id: ValueId| {
        let Some(tensor) = m.constant(Some(id)) else { return false };
        let elements = tensor.shape().elements();
        let along = tensor.shape().rank() == 1 && (w.axis == 0 || w.axis == -rank);
        elements == 1 || (elements == count && along)
    };
    let one = x.scale.is_some() && is_one(m, x.scale) && is_one(m, x.zero);
    let right = one && rank > 2 && [w.scale, w.zero].into_iter().flatten().all(fits);
    right.then_some(Convolution { node, x, w, filters: count, alone })
}

/// Whether a convolution of lone channels is computed with channels together.
fn stands_alone(m: &Matcher<'_>, conv: &Convolution<'_>) -> bool {
    let Some(w) = m.constant(conv.w.bytes) else { return false };
    let &[filters, 1, height, width] = w.shape().dims() else { return false };
    let none = no_zero(w.dtype());
    let zero = m.constant(conv.w.zero).or(none.as_ref());
    let groups = conv.node.attributes.int_or("group", 1);
    groups.is_ok_and(|groups| i64::try_from(filters) == Ok(groups))
        && zero.is_some_and(|zero| last::stands_alone(w, zero, height * width))
}

/// The integers behind a bias whose scale is that of the sums, as quantisation writes it.
fn whole_bias(m: &Matcher<'_>, conv: &Convolution<'_>) -> Option<ValueId> {
    let node = m.made_by(conv.node.input(2), "DequantizeLinear")?;
    let integers = m.constant(node.input(0))?;
    let of = |id| m.constant(id)?.as_slice::<f32>().ok();
    let (scale, x, w) = (of(node.input(1))?, of(conv.x.scale)?, of(conv.w.scale)?);
    let at = |list: &[f32], i: usize| list.get(if list.len() == 1 { 0 } else { i }).copied();
    let same = (0..conv.filters).all(|i| {
        let (Some(scale), Some(x), Some(w)) = (at(scale, i), at(x, 0), at(w, i)) else {
            return false;
        };
        // Writers compute the product in single or double precision.
        (scale - x * w).abs() <= 1e-6 * scale.abs()
    });
    let zeros = match node.input(2) {
        None => true,
        zero => m.constant(zero)?.as_slice::<i32>().ok()?.iter().all(|zero| *zero == 0),
    };
    let fits = integers.dtype() == DType::I32 && integers.shape().dims() == [conv.filters];
    (fits && same && zeros).then_some(node.input(0)?)
}

/// The zero point of a type of bytes that has none.
fn no_zero(dtype: DType) -> Option<Tensor> {
    match dtype {
        DType::U8 => Tensor::scalar(0u8).ok(),
        DType::I8 => Tensor::scalar(0i8).ok(),
        _ => None,
    }
}

fn to_bytes(m: &Matcher<'_>, at: usize, node: &Node) -> Option<Replacement> {
    let dtype = m.dtype(node.output(0))?;
    let (scale, zero) = (node.input(1), node.input(2));
    let blocked = node.attributes.int_or("block_size", 0).ok()? != 0;
    let of_floats = m.dtype(scale) == Some(DType::F32) && m.dtype(node.input(0)) == m.dtype(scale);
    let one = m.constant(scale).is_some() && is_one(m, scale) && is_one(m, zero);
    if !node.is("QuantizeLinear") || !one || !of_floats || blocked {
        return None;
    }
    let zero_of_result = no_zero(dtype)?;
    let inner = m.maker(node.input(0)).filter(|_| m.is_read_once(node.input(0)))?;
    let function = activation_of(m, inner).filter(|(name, ..)| matches!(*name, "Relu" | "Clip"));
    let inner = match function {
        Some(_) => m.only_made_by(inner.input(0), "Conv")?,
        None => inner,
    };
    let conv = convolution(m, inner)?;
    if conv.alone && (function.is_some() || !stands_alone(m, &conv)) {
        return None;
    }
    let bias = match conv.node.input(2) {
        None => None,
        Some(_) => Some(whole_bias(m, &conv)?),
    };
    let Convolution { x, w, .. } = &conv;
    let mut constants = vec![];
    for (index, zero, tensor) in [
        (2, x.zero, no_zero(m.dtype(x.bytes)?)?),
        (5, w.zero, no_zero(m.dtype(w.bytes)?)?),
        (7, zero, zero_of_result),
    ] {
        if zero.is_none() {
            constants.push((index, tensor));
        }
    }
    let mut attributes = copied_attributes(conv.node);
    if let Some((name, alpha, beta)) = function {
        activation::to_attributes(name, alpha, beta, &mut attributes);
    }
    Some(Replacement {
        at,
        domain: "stead",
        op_type: "QLinearConv",
        opset: 1,
        inputs: vec![x.bytes, x.scale, x.zero, w.bytes, w.scale, w.zero, scale, zero, bias],
        constants,
        attributes,
    })
}

fn to_floats(m: &Matcher<'_>, at: usize, node: &Node) -> Option<Replacement> {
    let conv = convolution(m, node).filter(|conv| !conv.alone)?;
    let Convolution { x, w, .. } = &conv;
    Some(Replacement {
        at,
        domain: "stead",
        op_type: "ConvIntegerToFloat",
        opset: 1,
        inputs: vec![x.bytes, w.bytes, x.scale, w.scale, x.zero, w.zero, node.input(2)],
        constants: vec![],
        attributes: copied_attributes(node),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use stead_onnx::{AttributeValue, ModelBuilder};
    use stead_tensor::{DType, Tensor};

    fn floats(values: &[f32], dims: &[usize]) -> Tensor {
        Tensor::from_slice(values, dims).unwrap()
    }

    /// A convolution of `x` by four filters of `channels` with scales along `axis`, as `c`.
    fn conv(channels: usize, axis: i64, bias_scale: f32) -> ModelBuilder {
        let filters = Tensor::from_slice(&vec![1i8; 36 * channels], &[4, channels, 3, 3]).unwrap();
        ModelBuilder::new(17)
            .input("x", DType::U8, &["n", "4", "9", "9"])
            .init("x_scale", floats(&[0.5], &[]))
            .init("w", filters)
            .init("w_scale", floats(&[0.5, 0.25, 1.0, 2.0], &[4]))
            .init("b", Tensor::from_slice(&[1i32, 2, 3, 4], &[4]).unwrap())
            .init("b_scale", floats(&[0.25, 0.125, 0.5, bias_scale], &[4]))
            .init("y_scale", floats(&[0.5], &[]))
            .init("y_scales", floats(&[0.5; 4], &[4]))
            .node("DequantizeLinear", &["x", "x_scale"], &["a"])
            .node("DequantizeLinear", &["w", "w_scale"], &["v"])
            .attr("axis", axis)
            .node("DequantizeLinear", &["b", "b_scale"], &["bias"])
            .attr("axis", 0i64)
            .node("Conv", &["a", "v", "bias"], &["c"])
            .attr("group", AttributeValue::Int(4 / channels as i64))
    }

    fn quantized(model: ModelBuilder, from: &str, scale: &str) -> ModelBuilder {
        model.node("QuantizeLinear", &[from, scale], &["y"]).output("y", DType::U8)
    }

    #[test]
    fn before_and_after() {
        let bytes = ["stead.QLinearConv"];
        let float = ["DequantizeLinear", "stead.ConvIntegerToFloat"];
        let none = ["DequantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv"];
        let then = |ops: &[&'static str], op| [ops, &[op]].concat();
        let pass = super::run;
        check("to bytes", pass, quantized(conv(4, 0, 1.0), "c", "y_scale"), &bytes);
        check("from the end", pass, quantized(conv(4, -4, 1.0), "c", "y_scale"), &bytes);
        check("groups", pass, quantized(conv(2, 0, 1.0), "c", "y_scale"), &bytes);
        let relu = quantized(conv(4, 0, 1.0).node("Relu", &["c"], &["r"]), "r", "y_scale");
        check("an activation", pass, relu, &bytes);
        let tanh = quantized(conv(4, 0, 1.0).node("Tanh", &["c"], &["r"]), "r", "y_scale");
        let want = then(&then(&float, "Tanh"), "QuantizeLinear");
        check("another activation", pass, tanh, &want);
        check("floats", pass, conv(4, 0, 1.0).output("c", DType::F32), &float);
        let odd = quantized(conv(4, 0, 1.5), "c", "y_scale");
        check("a bias in other units", pass, odd, &then(&float, "QuantizeLinear"));
        let by_channel = quantized(conv(4, 0, 1.0), "c", "y_scales");
        check("scales of results", pass, by_channel, &then(&float, "QuantizeLinear"));
        let wrong = quantized(conv(4, 1, 1.0), "c", "y_scale");
        check("scales of inputs", pass, wrong, &then(&none, "QuantizeLinear"));
        let alone = quantized(conv(1, 0, 1.0), "c", "y_scale");
        check("lone channels", pass, alone, &bytes);
        let alone = conv(1, 0, 1.0).node("Relu", &["c"], &["r"]);
        let want = then(&then(&none, "Relu"), "QuantizeLinear");
        check("lone channels and an activation", pass, quantized(alone, "r", "y_scale"), &want);
        let floats = conv(1, 0, 1.0).output("c", DType::F32);
        check("lone channels to floats", pass, floats, &none);
        let both = quantized(conv(4, 0, 1.0), "c", "y_scale").output("c", DType::F32);
        check("read twice", pass, both, &then(&float, "QuantizeLinear"));
    }
}
