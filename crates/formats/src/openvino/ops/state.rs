//! Variables: memory that lasts from one request of a sequence to the next.

use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use crate::openvino::net::shape;
use stead_onnx::Dim;

fn variable(cx: &Cx<'_, '_>) -> Result<String, Refusal> {
    match cx.text("variable_id") {
        Some(name) if !name.is_empty() => Ok(name.to_owned()),
        _ => refuse("attribute variable_id is missing"),
    }
}

/// Without an initial value a variable begins with zeros, of no elements where its shape is open.
pub(in crate::openvino) fn read_value(cx: &mut Cx<'_, '_>) -> Lowered {
    let name = variable(cx)?;
    let dtype = cx.output_dtype()?;
    let port = cx.layer.outputs.first();
    let declared = cx.text("variable_shape").map(shape).transpose();
    let declared = declared.map_err(|e| Refusal(e.to_string()))?.flatten();
    let dims = declared.unwrap_or_else(|| {
        let of_port = port.map(|port| port.dims.as_slice()).unwrap_or_default();
        of_port.iter().map(|d| d.map_or(Dim::Unknown, Dim::Known)).collect()
    });
    let first = match cx.optional(0) {
        Some(first) => first,
        None => {
            let size = |d: &Dim| d.known().and_then(|n| i64::try_from(n).ok()).unwrap_or(0);
            let sizes: Vec<i64> = dims.iter().map(size).collect();
            cx.zeros(dtype, &sizes)?
        }
    };
    let value = cx.make.node_with("ReadValue", &[&first], &[("variable", name.as_str().into())]);
    cx.make.as_state();
    cx.make.declare(&value, dtype, Some(dims));
    Ok(vec![value])
}

pub(in crate::openvino) fn assign(cx: &mut Cx<'_, '_>) -> Lowered {
    let name = variable(cx)?;
    let last = cx.input(0)?;
    let value = cx.make.node_with("Assign", &[&last], &[("variable", name.as_str().into())]);
    cx.make.as_state();
    Ok(vec![value])
}
