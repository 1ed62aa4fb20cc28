//! Lays images of bytes out with their channels together, `[batch, height, width, channels]`, region by region: rows of
//! products then, and vectors of what is no product, lie as they are needed.
//!
//! A region begins at a QLinearConv and takes up what follows as long as the order of dimensions does not matter to it, or
//! can be told: pools, element-wise functions, sums, and what makes floats of bytes and bytes of floats. At its borders stand
//! transpositions; two that meet are views and cost nothing.
//!
//! It happens once, when a session is made, before other images are laid out in [blocks](super::blocks).

use super::blocks::is_over_pixels;
use super::pattern::copied_attributes;
use super::{PassCx, dead};
use crate::error::LoadError;
use crate::ir::{Body, Ir, Node, NodeMaker, ValueId};
use crate::ops;
use std::collections::{HashMap, HashSet};
use stead_kernels::Isa;
use stead_kernels::conv::integer::lone;
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

/// Where each dimension of an image with its channels together comes from, and the way back.
const TO_LAST: [i64; 4] = [0, 2, 3, 1];
const FROM_LAST: [i64; 4] = [0, 3, 1, 2];

/// What a node becomes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// An operator of `stead` of this name.
    Own(&'static str),
    /// The same operator.
    Same,
    /// Concat of channels.
    Concat,
    /// ReduceMean of whole images to one pixel.
    Mean,
}

/// Lays out the regions of a model, and tells how many nodes are computed with channels together.
pub(crate) fn run(ir: &mut Ir, isa: Isa) -> Result<usize, LoadError> {
    let mut body = std::mem::take(&mut ir.body);
    let mut nodes = 0;
    let done: Result<(), LoadError> = body.each_body_mut(&mut |body| {
        let mut forms = choose(ir, body);
        drop_last(body, &mut forms);
        nodes += forms.iter().flatten().count();
        apply(ir, body, &forms)
    });
    ir.body = body;
    done?;
    if nodes > 0 {
        dead::run(ir, &mut PassCx { isa, fold_bytes: 0 })?;
    }
    Ok(nodes)
}

/// What nodes of a body could become, by position.
fn choose(ir: &Ir, body: &Body) -> Vec<Option<Form>> {
    let mut last = HashSet::new();
    let form = |node: &Node| {
        let form = form(ir, &last, node)?;
        last.extend(node.output(0));
        Some(form)
    };
    body.nodes.iter().map(form).collect()
}

/// What a node could become behind those whose results are in `last`.
fn form(ir: &Ir, last: &HashSet<ValueId>, node: &Node) -> Option<Form> {
    let is_single = node.outputs.iter().skip(1).all(Option::is_none);
    if !is_single || !node.bodies.is_empty() || node.output(0).is_none() {
        return None;
    }
    let is_last = |index: usize| node.input(index).is_some_and(|id| last.contains(&id));
    if node.op_type == "QLinearConv" {
        return is_convolution(ir, node).then_some(Form::Own("QLinearConvLast"));
    }
    if node.domain == "stead" {
        let right = match node.op_type.as_str() {
            "QLinearAdd" => is_last(0) && is_last(3),
            "ByteTable" => is_last(0),
            _ => false,
        };
        return right.then_some(Form::Same);
    }
    if !node.domain.is_empty() {
        return None;
    }
    let is_number = |id: &ValueId| {
        ir.constant(Some(*id)).is_some_and(|t| t.shape().elements() == 1 && t.shape().rank() <= 4)
    };
    let mut inputs = node.inputs.iter().flatten();
    let right = match node.op_type.as_str() {
        "MaxPool" => {
            let dtype = ir.value(node.input(0)?).dtype;
            let fits = is_last(0) && matches!(dtype, DType::U8 | DType::I8);
            return fits.then_some(Form::Own("MaxPoolLast"));
        }
        "Concat" => {
            let is_channels = matches!(node.attributes.int("axis"), Ok(Some(1 | -3)));
            let all = inputs.all(|id| last.contains(id));
            return (is_channels && all).then_some(Form::Concat);
        }
        "ReduceMean" => {
            let keeps = node.attributes.bool_or("keepdims", true).ok()?;
            return (keeps && is_last(0) && is_over_pixels(ir, node)).then_some(Form::Mean);
        }
        "QuantizeLinear" | "DequantizeLinear" => is_last(0) && inputs.skip(1).all(is_number),
        op if ops::is_elementwise(op) => {
            let any = inputs.clone().any(|id| last.contains(id));
            any && inputs.all(|id| last.contains(id) || is_number(id))
        }
        _ => false,
    };
    right.then_some(Form::Same)
}

/// Whether a convolution is one that the kernels for channels together compute: of constant filters over two dimensions,
/// its channels all mixed or each alone.
fn is_convolution(ir: &Ir, node: &Node) -> bool {
    let (Some(w), Some(zero)) = (ir.constant(node.input(3)), ir.constant(node.input(5))) else {
        return false;
    };
    let &[filters, channels, height, width] = w.shape().dims() else { return false };
    let zeros = zero.shape().elements();
    if w.shape().elements() == 0 || (zeros != 1 && zeros != filters) {
        return false;
    }
    match node.attributes.int_or("group", 1) {
        Ok(1) => true,
        Ok(groups) => {
            let each = channels == 1 && i64::try_from(filters) == Ok(groups);
            each && stands_alone(w, zero, height * width)
        }
        Err(_) => false,
    }
}

/// Whether the kernel for lone channels computes with these filters of so many taps.
pub(super) fn stands_alone(w: &Tensor, zero: &Tensor, taps: usize) -> bool {
    let fits = match w.dtype() {
        DType::U8 => w
            .as_slice()
            .ok()
            .zip(zero.as_slice().ok())
            .map(|(w, zero)| lone::fits::<u8>(taps, w, zero)),
        _ => w
            .as_slice()
            .ok()
            .zip(zero.as_slice().ok())
            .map(|(w, zero)| lone::fits::<i8>(taps, w, zero)),
    };
    taps <= lone::TAPS && fits == Some(true)
}

/// Leaves out what only stands between a region and readers outside of it: they read bytes sooner than floats.
fn drop_last(body: &Body, forms: &mut [Option<Form>]) {
    let mut read = HashSet::new();
    for (node, form) in body.nodes.iter().zip(forms.iter_mut()).rev() {
        let is_read = node.output(0).is_some_and(|id| read.contains(&id));
        if matches!(form, Some(Form::Same | Form::Concat)) && !is_read {
            *form = None;
        }
        if form.is_some() {
            read.extend(node.inputs.iter().flatten().copied());
        }
    }
}

/// Replaces the chosen nodes. Behind each stands a transposition of its result under the name that it had; those that
/// nobody reads fall to dead code removal.
fn apply(ir: &mut Ir, body: &mut Body, forms: &[Option<Form>]) -> Result<(), LoadError> {
    let mut last: HashMap<ValueId, ValueId> = HashMap::new();
    let mut nodes = Vec::with_capacity(body.nodes.len());
    for (mut node, form) in std::mem::take(&mut body.nodes).into_iter().zip(forms) {
        let (Some(form), Some(output)) = (form, node.output(0)) else {
            nodes.push(node);
            continue;
        };
        let mut maker = NodeMaker::new(ir, &node.label);
        // Of operators of their own, only the first is an image.
        let images = if matches!(form, Form::Own(_) | Form::Mean) { 1 } else { node.inputs.len() };
        for input in node.inputs.iter_mut().take(images).flatten() {
            if maker.ir.constant(Some(*input)).is_some() {
                continue;
            }
            *input = *last.entry(*input).or_insert_with(|| {
                let image = maker.ir.add_value(maker.ir.value(*input).dtype);
                maker.transpose_into(*input, TO_LAST.to_vec(), image);
                image
            });
        }
        let mut attributes = copied_attributes(&node);
        match *form {
            Form::Own(op) => {
                (node.domain, node.op_type, node.opset) = ("stead".to_owned(), op.to_owned(), 1);
            }
            Form::Same => {}
            Form::Concat => {
                attributes.set("axis", AttributeValue::Int(3));
            }
            Form::Mean if node.input(1).is_some() => {
                let axes = maker.ints(&[1, 2])?;
                node.inputs = vec![node.input(0), Some(axes)];
            }
            Form::Mean => {
                attributes.set("axes", AttributeValue::Ints(vec![1, 2]));
            }
        }
        node.attributes = attributes;
        let image = maker.ir.add_value(maker.ir.value(output).dtype);
        node.outputs = vec![Some(image)];
        last.insert(output, image);
        let before = std::mem::take(&mut maker.nodes);
        maker.transpose_into(image, FROM_LAST.to_vec(), output);
        nodes.extend(before);
        nodes.push(node);
        nodes.append(&mut maker.nodes);
    }
    body.nodes = nodes;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{lowered, ops};
    use stead_kernels::Isa;
    use stead_onnx::{AttributeValue, ModelBuilder};
    use stead_tensor::{DType, Tensor};

    /// An image of bytes `x`, what convolutions of it need, and the convolution `c` of it with so many channels a group.
    fn convolved(channels: usize) -> ModelBuilder {
        let w = Tensor::from_slice(&vec![1i8; 36 * channels], &[4, channels, 3, 3]).unwrap();
        let b = ModelBuilder::new(17)
            .input("x", DType::U8, &["n", "4", "h", "w"])
            .init("w", w)
            .init("scale", Tensor::scalar(0.5f32).unwrap())
            .init("zero", Tensor::scalar(3u8).unwrap())
            .init("w_zero", Tensor::scalar(0i8).unwrap());
        conv(b, "x", "c").attr("group", AttributeValue::Int(4 / channels as i64))
    }

    fn conv(b: ModelBuilder, from: &str, to: &str) -> ModelBuilder {
        let inputs = [from, "scale", "zero", "w", "scale", "w_zero", "scale", "zero"];
        b.node("QLinearConv", &inputs, &[to])
    }

    fn check(label: &str, builder: ModelBuilder, expected: &[&str]) {
        let mut ir = lowered(builder);
        super::run(&mut ir, Isa::Scalar).unwrap();
        assert_eq!(ops(&ir), expected, "{label}");
    }

    #[test]
    fn before_and_after() {
        let last = "stead.QLinearConvLast";
        let one = ["Transpose", last, "Transpose"];
        check("one", convolved(4).output("c", DType::U8), &one);
        check("lone channels", convolved(1).output("c", DType::U8), &one);
        check("groups", convolved(2).output("c", DType::U8), &["QLinearConv"]);
        let pooled =
            convolved(4).node("MaxPool", &["c"], &["p"]).attr("kernel_shape", vec![2i64, 2]);
        let want = ["Transpose", last, "stead.MaxPoolLast", last, "Transpose"];
        check("a pool", conv(pooled, "p", "y").output("y", DType::U8), &want);
        let gated = || {
            convolved(4)
                .node("DequantizeLinear", &["c", "scale", "zero"], &["f"])
                .node("ReduceMean", &["f"], &["m"])
                .attr("axes", vec![2i64, 3])
                .node("Mul", &["f", "m"], &["g"])
        };
        let want = [
            "Transpose",
            last,
            "DequantizeLinear",
            "ReduceMean",
            "Mul",
            "QuantizeLinear",
            last,
            "Transpose",
        ];
        let back = gated().node("QuantizeLinear", &["g", "scale", "zero"], &["q"]);
        check("means of channels", conv(back, "q", "y").output("y", DType::U8), &want);
        // Bytes leave the region, and floats are made of them behind it.
        let floats = convolved(4).node("DequantizeLinear", &["c", "scale", "zero"], &["f"]);
        let want = ["Transpose", last, "Transpose", "DequantizeLinear", "Relu"];
        check("floats", floats.node("Relu", &["f"], &["y"]).output("y", DType::F32), &want);
    }
}
