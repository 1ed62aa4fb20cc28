//! Reductions and sums of products.

use crate::openvino::cx::{Cx, Lowered};
use stead_tensor::DType;

fn reduce(cx: &mut Cx<'_, '_>, op: &str) -> Lowered {
    let value = cx.input(0)?;
    reduced(cx, op, &value)
}

fn reduced(cx: &mut Cx<'_, '_>, op: &str, value: &str) -> Lowered {
    let axes = cx.as_list(1)?;
    let keep = i64::from(cx.flag_or("keep_dims", false)?);
    // No axes change nothing, where ONNX reduces all of them by default.
    let attributes = [("keepdims", keep.into()), ("noop_with_empty_axes", 1i64.into())];
    Ok(vec![cx.make.node_with(op, &[value, &axes], &attributes)])
}

pub(in crate::openvino) fn mean(cx: &mut Cx<'_, '_>) -> Lowered {
    reduce(cx, "ReduceMean")
}

pub(in crate::openvino) fn sum(cx: &mut Cx<'_, '_>) -> Lowered {
    reduce(cx, "ReduceSum")
}

pub(in crate::openvino) fn product(cx: &mut Cx<'_, '_>) -> Lowered {
    reduce(cx, "ReduceProd")
}

pub(in crate::openvino) fn max(cx: &mut Cx<'_, '_>) -> Lowered {
    reduce(cx, "ReduceMax")
}

pub(in crate::openvino) fn min(cx: &mut Cx<'_, '_>) -> Lowered {
    reduce(cx, "ReduceMin")
}

pub(in crate::openvino) fn l1(cx: &mut Cx<'_, '_>) -> Lowered {
    reduce(cx, "ReduceL1")
}

pub(in crate::openvino) fn l2(cx: &mut Cx<'_, '_>) -> Lowered {
    reduce(cx, "ReduceL2")
}

/// Truth values are reduced as numbers.
fn truth(cx: &mut Cx<'_, '_>, op: &str) -> Lowered {
    let value = cx.input(0)?;
    let value = cx.cast(&value, DType::I32);
    let result = reduced(cx, op, &value)?.remove(0);
    Ok(vec![cx.cast(&result, DType::Bool)])
}

pub(in crate::openvino) fn all(cx: &mut Cx<'_, '_>) -> Lowered {
    truth(cx, "ReduceMin")
}

pub(in crate::openvino) fn any(cx: &mut Cx<'_, '_>) -> Lowered {
    truth(cx, "ReduceMax")
}

pub(in crate::openvino) fn einsum(cx: &mut Cx<'_, '_>) -> Lowered {
    let equation = cx.text("equation").unwrap_or_default().to_owned();
    cx.same("Einsum", &[("equation", equation.as_str().into())])
}
