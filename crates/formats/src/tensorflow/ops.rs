//! How nodes become nodes of ONNX.

use super::op::{Lowered, Op, refuse};
use crate::error::Refusal;
use stead_onnx::AttributeValue;
use stead_tensor::DType;

pub(super) fn mat_mul(op: &mut Op<'_>) -> Lowered {
    let mut operands = Vec::new();
    for (at, name) in ["transpose_a", "transpose_b"].into_iter().enumerate() {
        let value = op.input(at)?;
        operands.push(if op.flag(name) { op.transpose(&value, &[1, 0]) } else { value });
    }
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    Ok(vec![op.make.node("MatMul", &operands)])
}

/// The ranks of batched products are not in the file: where one is transposed it goes by Einsum.
pub(super) fn batch_mat_mul(op: &mut Op<'_>) -> Lowered {
    let equation = match (op.flag("adj_x"), op.flag("adj_y")) {
        (false, false) => return op.same("MatMul", &[]),
        (false, true) => "...ij,...kj->...ik",
        (true, false) => "...ji,...jk->...ik",
        (true, true) => "...ji,...kj->...ik",
    };
    op.same("Einsum", &[("equation", equation.into())])
}

/// The value with channels second, or as it is where they are already.
fn channels_second(op: &mut Op<'_>, value: &str) -> Result<(String, bool), Refusal> {
    match op.text("data_format").as_str() {
        "" | "NHWC" => Ok((op.transpose(value, &[0, 3, 1, 2]), true)),
        "NCHW" => Ok((value.to_owned(), false)),
        other => refuse(format!("data_format {other:?}")),
    }
}

fn back(op: &mut Op<'_>, value: String, moved: bool) -> Vec<String> {
    vec![if moved { op.transpose(&value, &[0, 2, 3, 1]) } else { value }]
}

type Attributes = Vec<(&'static str, AttributeValue)>;

/// Two numbers for height and width of a list for all four dimensions.
fn plane(op: &Op<'_>, name: &str, moved: bool) -> Result<Vec<i64>, Refusal> {
    let all = op.ints(name);
    match (all.as_slice(), moved) {
        ([], _) => Ok(vec![1, 1]),
        ([1, a, b, 1], true) | ([1, 1, a, b], false) => Ok(vec![*a, *b]),
        _ => refuse(format!("{name} {all:?}")),
    }
}

fn padding(op: &Op<'_>, moved: bool) -> Result<(&'static str, AttributeValue), Refusal> {
    match op.text("padding").as_str() {
        "SAME" => Ok(("auto_pad", "SAME_UPPER".into())),
        "VALID" => Ok(("auto_pad", "VALID".into())),
        "EXPLICIT" => match (op.ints("explicit_paddings").as_slice(), moved) {
            (&[0, 0, a, b, c, d, 0, 0], true) | (&[0, 0, 0, 0, a, b, c, d], false) => {
                Ok(("pads", AttributeValue::Ints(vec![a, c, b, d])))
            }
            (other, _) => refuse(format!("explicit_paddings {other:?}")),
        },
        other => refuse(format!("padding {other:?}")),
    }
}

fn window(op: &Op<'_>, moved: bool) -> Result<Attributes, Refusal> {
    let strides = AttributeValue::Ints(plane(op, "strides", moved)?);
    Ok(vec![("strides", strides), padding(op, moved)?])
}

pub(super) fn convolution(op: &mut Op<'_>) -> Lowered {
    let (x, filters) = (op.input(0)?, op.input(1)?);
    let (x, moved) = channels_second(op, &x)?;
    let mut attributes = window(op, moved)?;
    attributes.push(("dilations", AttributeValue::Ints(plane(op, "dilations", moved)?)));
    if let Some(dims) = op.make.known(&filters).map(stead_tensor::Tensor::shape)
        && let [h, w, ..] = *dims.dims()
    {
        attributes.push(("kernel_shape", AttributeValue::Ints(vec![h as i64, w as i64])));
    }
    let filters = op.transpose(&filters, &[3, 2, 0, 1]);
    let y = op.make.node_with("Conv", &[&x, &filters], &attributes);
    Ok(back(op, y, moved))
}

/// Filters `[height, width, channels, multiplier]`.
pub(super) fn depthwise(op: &mut Op<'_>) -> Lowered {
    let (x, filters) = (op.input(0)?, op.input(1)?);
    let shape = op.make.known(&filters).map(stead_tensor::Tensor::shape);
    let sizes = shape.as_ref().map(|s| s.dims().to_vec()).unwrap_or_default();
    let &[h, w, channels, multiplier] = sizes.as_slice() else {
        return refuse("filters that are computed");
    };
    let (x, moved) = channels_second(op, &x)?;
    let mut attributes = window(op, moved)?;
    attributes.push(("dilations", AttributeValue::Ints(plane(op, "dilations", moved)?)));
    attributes.push(("group", (channels as i64).into()));
    let filters = op.transpose(&filters, &[2, 3, 0, 1]);
    let wanted = op.make.ints(&[(channels * multiplier) as i64, 1, h as i64, w as i64])?;
    let filters = op.make.node("Reshape", &[&filters, &wanted]);
    let y = op.make.node_with("Conv", &[&x, &filters], &attributes);
    Ok(back(op, y, moved))
}

fn pool(op: &mut Op<'_>, kind: &str) -> Lowered {
    let x = op.input(0)?;
    let (x, moved) = channels_second(op, &x)?;
    let mut attributes = window(op, moved)?;
    attributes.push(("kernel_shape", AttributeValue::Ints(plane(op, "ksize", moved)?)));
    let y = op.make.node_with(kind, &[&x], &attributes);
    Ok(back(op, y, moved))
}

pub(super) fn max_pool(op: &mut Op<'_>) -> Lowered {
    pool(op, "MaxPool")
}

/// Padding does not count.
pub(super) fn avg_pool(op: &mut Op<'_>) -> Lowered {
    pool(op, "AveragePool")
}

pub(super) fn bias_add(op: &mut Op<'_>) -> Lowered {
    if op.text("data_format") == "NCHW" {
        return refuse("data_format \"NCHW\"");
    }
    op.same("Add", &[])
}

/// Scale, shift, mean and variance for each channel.
pub(super) fn batch_norm(op: &mut Op<'_>) -> Lowered {
    if op.flag("is_training") {
        return refuse("is_training: freeze the model for inference");
    }
    let x = op.input(0)?;
    let (x, moved) = channels_second(op, &x)?;
    let rest: Vec<String> = (1..5).map(|at| op.input(at)).collect::<Result<_, _>>()?;
    let mut inputs = vec![x.as_str()];
    inputs.extend(rest.iter().map(String::as_str));
    let epsilon = op.float_or("epsilon", 1e-4);
    let y = op.make.node_with("BatchNormalization", &inputs, &[("epsilon", epsilon.into())]);
    Ok(back(op, y, moved))
}

pub(super) fn relu6(op: &mut Op<'_>) -> Lowered {
    let x = op.input(0)?;
    let (zero, six) = (op.number(0.0)?, op.number(6.0)?);
    Ok(vec![op.make.node("Clip", &[&x, &zero, &six])])
}

pub(super) fn leaky_relu(op: &mut Op<'_>) -> Lowered {
    let alpha = op.float_or("alpha", 0.2);
    op.same("LeakyRelu", &[("alpha", alpha.into())])
}

pub(super) fn selu(op: &mut Op<'_>) -> Lowered {
    op.same("Selu", &[])
}

pub(super) fn softmax(op: &mut Op<'_>) -> Lowered {
    op.same("Softmax", &[("axis", (-1i64).into())])
}

pub(super) fn log_softmax(op: &mut Op<'_>) -> Lowered {
    op.same("LogSoftmax", &[("axis", (-1i64).into())])
}

pub(super) fn square(op: &mut Op<'_>) -> Lowered {
    let x = op.input(0)?;
    Ok(vec![op.make.node("Mul", &[&x, &x])])
}

pub(super) fn rsqrt(op: &mut Op<'_>) -> Lowered {
    let root = op.same("Sqrt", &[])?.remove(0);
    let one = op.number(1.0)?;
    Ok(vec![op.make.node("Div", &[&one, &root])])
}

pub(super) fn squared_difference(op: &mut Op<'_>) -> Lowered {
    let difference = op.same("Sub", &[])?.remove(0);
    Ok(vec![op.make.node("Mul", &[&difference, &difference])])
}

pub(super) fn not_equal(op: &mut Op<'_>) -> Lowered {
    let equal = op.same("Equal", &[])?.remove(0);
    Ok(vec![op.make.node("Not", &[&equal])])
}

pub(super) fn cast(op: &mut Op<'_>) -> Lowered {
    let (x, to) = (op.input(0)?, op.dtype("DstT")?);
    Ok(vec![op.cast(&x, to)])
}

pub(super) fn shape(op: &mut Op<'_>) -> Lowered {
    let shape = op.same("Shape", &[])?.remove(0);
    let to = op.dtype("out_type").unwrap_or(DType::I32);
    Ok(vec![if to == DType::I64 { shape } else { op.cast(&shape, to) }])
}

/// A 0 is a dimension of no elements.
pub(super) fn reshape(op: &mut Op<'_>) -> Lowered {
    let (x, shape) = (op.input(0)?, op.list(1)?);
    Ok(vec![op.make.node_with("Reshape", &[&x, &shape], &[("allowzero", 1i64.into())])])
}

pub(super) fn squeeze(op: &mut Op<'_>) -> Lowered {
    let (x, axes) = (op.input(0)?, op.ints("squeeze_dims"));
    if axes.is_empty() {
        return Ok(vec![op.make.node("Squeeze", &[&x])]);
    }
    let axes = op.make.ints(&axes)?;
    Ok(vec![op.make.node("Squeeze", &[&x, &axes])])
}

pub(super) fn expand_dims(op: &mut Op<'_>) -> Lowered {
    let (x, axis) = (op.input(0)?, op.list(1)?);
    Ok(vec![op.make.node("Unsqueeze", &[&x, &axis])])
}

pub(super) fn transpose(op: &mut Op<'_>) -> Lowered {
    let (x, order) = (op.input(0)?, op.const_ints(1)?);
    Ok(vec![op.transpose(&x, &order)])
}

/// The only element of a constant input.
fn one(op: &Op<'_>, at: usize) -> Result<i64, Refusal> {
    match op.const_ints(at)?.as_slice() {
        [one] => Ok(*one),
        many => refuse(format!("input {at} has {} elements, one expected", many.len())),
    }
}

pub(super) fn concat(op: &mut Op<'_>) -> Lowered {
    let Some(last) = op.inputs.len().checked_sub(1) else { return refuse("no inputs") };
    let axis = one(op, last)?;
    let inputs: Vec<&str> = op.inputs.iter().take(last).map(String::as_str).collect();
    Ok(vec![op.make.node_with("Concat", &inputs, &[("axis", axis.into())])])
}

pub(super) fn pack(op: &mut Op<'_>) -> Lowered {
    let axis = op.int_or("axis", 0);
    let axes = op.make.ints(&[axis])?;
    let inputs = op.inputs.clone();
    let rows: Vec<String> = inputs.iter().map(|x| op.make.node("Unsqueeze", &[x, &axes])).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    Ok(vec![op.make.node_with("Concat", &rows, &[("axis", axis.into())])])
}

pub(super) fn split(op: &mut Op<'_>) -> Lowered {
    let (axis, x, count) = (one(op, 0)?, op.input(1)?, op.int("num_split")?);
    let outputs = usize::try_from(count).ok().filter(|n| (1..=1 << 16).contains(n));
    let Some(outputs) = outputs else { return refuse(format!("num_split {count}")) };
    let attributes = [("axis", axis.into()), ("num_outputs", count.into())];
    Ok(op.make.node_of("Split", &[&x], outputs, &attributes))
}

pub(super) fn gather(op: &mut Op<'_>) -> Lowered {
    if op.int_or("batch_dims", 0) != 0 {
        return refuse("batch_dims other than 0");
    }
    let axis = if op.inputs.len() > 2 { one(op, 2)? } else { 0 };
    let (x, indices) = (op.input(0)?, op.input(1)?);
    Ok(vec![op.make.node_with("Gather", &[&x, &indices], &[("axis", axis.into())])])
}

pub(super) fn tile(op: &mut Op<'_>) -> Lowered {
    let (x, repeats) = (op.input(0)?, op.list(1)?);
    Ok(vec![op.make.node("Tile", &[&x, &repeats])])
}

/// Pads `[[before, after], ...]`.
pub(super) fn pad(op: &mut Op<'_>) -> Lowered {
    let x = op.input(0)?;
    let pairs = op.const_ints(1)?;
    let before = pairs.iter().step_by(2);
    let pads: Vec<i64> = before.chain(pairs.iter().skip(1).step_by(2)).copied().collect();
    let pads = op.make.ints(&pads)?;
    let fill = op.inputs.get(2).cloned();
    let inputs: Vec<&str> =
        [Some(x.as_str()), Some(&pads), fill.as_deref()].into_iter().flatten().collect();
    Ok(vec![op.make.node("Pad", &inputs)])
}

/// NumPy's indexing with constants, without new axes and dots.
pub(super) fn strided_slice(op: &mut Op<'_>) -> Lowered {
    if op.int_or("ellipsis_mask", 0) != 0 || op.int_or("new_axis_mask", 0) != 0 {
        return refuse("new axes and dots");
    }
    let x = op.input(0)?;
    let (begin, end, strides) = (op.const_ints(1)?, op.const_ints(2)?, op.const_ints(3)?);
    let set = |mask: &str, at: usize| op.int_or(mask, 0) >> at.min(63) & 1 == 1;
    let (mut starts, mut stops, mut steps, mut removed) = (vec![], vec![], vec![], vec![]);
    for (at, ((&from, &to), &step)) in begin.iter().zip(&end).zip(&strides).enumerate() {
        if set("shrink_axis_mask", at) {
            removed.push(at as i64);
            starts.push(from);
            stops.push(if from == -1 { i64::MAX } else { from.saturating_add(1) });
            steps.push(1);
            continue;
        }
        let (first, last) = if step < 0 { (i64::MAX, i64::MIN) } else { (0, i64::MAX) };
        starts.push(if set("begin_mask", at) { first } else { from });
        stops.push(if set("end_mask", at) { last } else { to });
        steps.push(step);
    }
    let axes: Vec<i64> = (0..starts.len() as i64).collect();
    let (starts, stops) = (op.make.ints(&starts)?, op.make.ints(&stops)?);
    let (axes, steps) = (op.make.ints(&axes)?, op.make.ints(&steps)?);
    let y = op.make.node("Slice", &[&x, &starts, &stops, &axes, &steps]);
    if removed.is_empty() {
        return Ok(vec![y]);
    }
    let removed = op.make.ints(&removed)?;
    Ok(vec![op.make.node("Squeeze", &[&y, &removed])])
}

fn reduce(op: &mut Op<'_>, kind: &str) -> Lowered {
    let (x, axes) = (op.input(0)?, op.list(1)?);
    let keep = op.flag("keep_dims");
    // No axes change nothing, where ONNX reduces all of them by default.
    let attributes = [("keepdims", keep.into()), ("noop_with_empty_axes", 1i64.into())];
    Ok(vec![op.make.node_with(kind, &[&x, &axes], &attributes)])
}

pub(super) fn mean(op: &mut Op<'_>) -> Lowered {
    reduce(op, "ReduceMean")
}

pub(super) fn sum(op: &mut Op<'_>) -> Lowered {
    reduce(op, "ReduceSum")
}

pub(super) fn product(op: &mut Op<'_>) -> Lowered {
    reduce(op, "ReduceProd")
}

pub(super) fn max(op: &mut Op<'_>) -> Lowered {
    reduce(op, "ReduceMax")
}

pub(super) fn min(op: &mut Op<'_>) -> Lowered {
    reduce(op, "ReduceMin")
}

pub(super) fn arg_max(op: &mut Op<'_>) -> Lowered {
    let (x, axis) = (op.input(0)?, one(op, 1)?);
    let attributes = [("axis", axis.into()), ("keepdims", 0i64.into())];
    let best = op.make.node_with("ArgMax", &[&x], &attributes);
    let to = op.dtype("output_type").unwrap_or(DType::I64);
    Ok(vec![if to == DType::I64 { best } else { op.cast(&best, to) }])
}
