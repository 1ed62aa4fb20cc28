//! Normalisation and rounding to few levels.

use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use stead_onnx::AttributeValue;

/// opset1 has scale and shift before the data, opset5 behind it.
pub(in crate::openvino) fn batch(cx: &mut Cx<'_, '_>) -> Lowered {
    let order = if cx.layer.opset == Some(1) { [2, 0, 1, 3, 4] } else { [0, 1, 2, 3, 4] };
    let epsilon = cx.float_or("epsilon", cx.float_or("eps", 0.0)?)? as f32;
    let inputs: Vec<String> = order.iter().map(|&at| cx.input(at)).collect::<Result<_, _>>()?;
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    Ok(vec![cx.make.node_with("BatchNormalization", &inputs, &[("epsilon", epsilon.into())])])
}

pub(in crate::openvino) fn group(cx: &mut Cx<'_, '_>) -> Lowered {
    let groups = cx.int("num_groups")?;
    let epsilon = cx.float_or("epsilon", 0.0)? as f32;
    cx.same("GroupNormalization", &[("num_groups", groups.into()), ("epsilon", epsilon.into())])
}

/// Over the axes of the second input (opset6), or all but the batch and perhaps the channels (opset2).
pub(in crate::openvino) fn mvn(cx: &mut Cx<'_, '_>) -> Lowered {
    let x = cx.input(0)?;
    let axes = if cx.layer.opset == Some(6) {
        cx.as_list(1)?
    } else {
        let first = if cx.flag_or("across_channels", true)? { 1 } else { 2 };
        let rank = cx.rank(0)? as i64;
        cx.make.ints(&(first..rank).collect::<Vec<_>>())?
    };
    let mode = cx.one_of("eps_mode", &["inside_sqrt", "outside_sqrt"])?;
    let eps = cx.float_or("eps", 1e-9)?;
    let eps = cx.number(0, eps)?;
    let mean = cx.make.node("ReduceMean", &[&x, &axes]);
    let centred = cx.make.node("Sub", &[&x, &mean]);
    if !cx.flag_or("normalize_variance", true)? {
        return Ok(vec![centred]);
    }
    let squares = cx.make.node("Mul", &[&centred, &centred]);
    let variance = cx.make.node("ReduceMean", &[&squares, &axes]);
    let deviation = if mode == "outside_sqrt" {
        let root = cx.make.node("Sqrt", &[&variance]);
        cx.make.node("Add", &[&root, &eps])
    } else {
        let sum = cx.make.node("Add", &[&variance, &eps]);
        cx.make.node("Sqrt", &[&sum])
    };
    Ok(vec![cx.make.node("Div", &[&centred, &deviation])])
}

pub(in crate::openvino) fn l2(cx: &mut Cx<'_, '_>) -> Lowered {
    let x = cx.input(0)?;
    let axes = cx.as_list(1)?;
    let join = match cx.one_of("eps_mode", &["add", "max"])? {
        "max" => "Max",
        _ => "Add",
    };
    let eps = cx.float_or("eps", 0.0)?;
    let eps = cx.number(0, eps)?;
    let squares = cx.make.node("Mul", &[&x, &x]);
    // No axes: every element by itself.
    let whole = [("noop_with_empty_axes", AttributeValue::Int(1))];
    let sum = cx.make.node_with("ReduceSum", &[&squares, &axes], &whole);
    let sum = cx.make.node(join, &[&sum, &eps]);
    let norm = cx.make.node("Sqrt", &[&sum]);
    Ok(vec![cx.make.node("Div", &[&x, &norm])])
}

pub(in crate::openvino) fn lrn(cx: &mut Cx<'_, '_>) -> Lowered {
    let axes = cx.const_ints(1)?;
    if axes != [1] {
        return refuse(format!("axes {axes:?}, only [1] is read"));
    }
    let x = cx.input(0)?;
    let float = |name: &str, default: f64| -> Result<AttributeValue, Refusal> {
        Ok((cx.float_or(name, default)? as f32).into())
    };
    let attributes = [
        ("alpha", float("alpha", 1e-4)?),
        ("beta", float("beta", 0.75)?),
        ("bias", float("bias", 1.0)?),
        ("size", cx.int("size")?.into()),
    ];
    Ok(vec![cx.make.node_with("LRN", &[&x], &attributes)])
}

/// `round((clip(x, il, ih) - il) / (ih - il) (levels - 1)) / (levels - 1) (oh - ol) + ol`, halves to even.
pub(in crate::openvino) fn fake_quantize(cx: &mut Cx<'_, '_>) -> Lowered {
    let levels = cx.int("levels")?;
    if levels < 2 {
        return refuse(format!("{levels} levels"));
    }
    let steps = cx.number(0, (levels - 1) as f64)?;
    let [x, low, high, out_low, out_high] =
        [cx.input(0)?, cx.input(1)?, cx.input(2)?, cx.input(3)?, cx.input(4)?];
    let make = &mut cx.make;
    let clipped = make.node("Max", &[&x, &low]);
    let clipped = make.node("Min", &[&clipped, &high]);
    let from_low = make.node("Sub", &[&clipped, &low]);
    let range = make.node("Sub", &[&high, &low]);
    let ratio = make.node("Div", &[&from_low, &range]);
    let scaled = make.node("Mul", &[&ratio, &steps]);
    let level = make.node("Round", &[&scaled]);
    let level = make.node("Div", &[&level, &steps]);
    let out_range = make.node("Sub", &[&out_high, &out_low]);
    let scaled = make.node("Mul", &[&level, &out_range]);
    Ok(vec![make.node("Add", &[&scaled, &out_low])])
}
