//! The largest elements, places, ranges and running sums.

use crate::openvino::cx::{Cx, Lowered, refuse};
use stead_tensor::DType;

pub(in crate::openvino) fn top_k(cx: &mut Cx<'_, '_>) -> Lowered {
    let x = cx.input(0)?;
    let k = cx.as_list(1)?;
    let axis = cx.int("axis")?;
    let largest = cx.one_of("mode", &["max", "min"])? == "max";
    // Sorted by places is another order; without any, the order by values is as good as another.
    if cx.one_of("sort", &["value", "index", "none"])? == "index" && cx.const_int(1).ok() != Some(1)
    {
        return refuse("sort=\"index\"");
    }
    let attributes = [("axis", axis.into()), ("largest", largest.into()), ("sorted", true.into())];
    let mut outputs = cx.make.node_of("TopK", &[&x, &k], 2, &attributes);
    let to = cx.type_of("index_element_type", DType::I32)?;
    if let Some(places) = outputs.get_mut(1)
        && to != DType::I64
    {
        *places = cx.cast(places, to);
    }
    Ok(outputs)
}

pub(in crate::openvino) fn cumulative(cx: &mut Cx<'_, '_>) -> Lowered {
    let (exclusive, reverse) = (cx.flag_or("exclusive", false)?, cx.flag_or("reverse", false)?);
    let (x, axis) = (cx.input(0)?, cx.as_i64(1)?);
    let attributes = [("exclusive", exclusive.into()), ("reverse", reverse.into())];
    Ok(vec![cx.make.node_with("CumSum", &[&x, &axis], &attributes)])
}

pub(in crate::openvino) fn non_zero(cx: &mut Cx<'_, '_>) -> Lowered {
    let places = cx.same("NonZero", &[])?.remove(0);
    Ok(match cx.type_of("output_type", DType::I64)? {
        DType::I64 => vec![places],
        other => vec![cx.cast(&places, other)],
    })
}

pub(in crate::openvino) fn range(cx: &mut Cx<'_, '_>) -> Lowered {
    let to = cx.type_of("output_type", cx.output_dtype()?)?;
    let mut inputs = Vec::new();
    for at in 0..3 {
        let from = cx.dtype(at)?;
        if from.is_float() && !to.is_float() {
            return refuse(format!("a range of {from} as {to}"));
        }
        let value = cx.input(at)?;
        let value = if from == to { value } else { cx.cast(&value, to) };
        // One element may come as a list.
        let scalar = cx.make.ints(&[])?;
        let is_scalar = cx.rank(at)? == 0;
        inputs.push(if is_scalar { value } else { cx.make.node("Reshape", &[&value, &scalar]) });
    }
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    Ok(vec![cx.make.node("Range", &inputs)])
}

/// A negative index is nowhere, unless `negative_indices_mode` says that it counts from the end, as in ONNX.
pub(in crate::openvino) fn one_hot(cx: &mut Cx<'_, '_>) -> Lowered {
    let mut indices = cx.as_i64(0)?;
    let depth = cx.as_i64(1)?;
    let (on, off) = (cx.input(2)?, cx.input(3)?);
    let axis = cx.int_or("axis", -1)?;
    if cx.one_of("negative_indices_mode", &["ignore_negative", "normalize"])? == "ignore_negative" {
        let zero = cx.make.number(DType::I64, 0.0)?;
        let negative = cx.make.node("Less", &[&indices, &zero]);
        indices = cx.make.node("Where", &[&negative, &depth, &indices]);
    }
    let (on, off) = (cx.unsqueeze(&on, &[0])?, cx.unsqueeze(&off, &[0])?);
    let values = cx.make.node_with("Concat", &[&off, &on], &[("axis", 0i64.into())]);
    Ok(vec![cx.make.node_with("OneHot", &[&indices, &depth, &values], &[("axis", axis.into())])])
}
