//! Arithmetic, casts and matrix products.

use crate::error::Refusal;
use crate::openvino::cx::{Cx, Lowered, refuse};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// The operator of the same meaning. What broadcasts otherwise than ONNX does is refused.
pub(in crate::openvino) fn same(cx: &mut Cx<'_, '_>, op: &str) -> Lowered {
    broadcasts_as_numpy(cx)?;
    cx.same(op, &[])
}

/// Refuses `auto_broadcast="pdpd"`, which aligns dimensions from an axis.
pub(super) fn broadcasts_as_numpy(cx: &Cx<'_, '_>) -> Result<(), Refusal> {
    cx.one_of("auto_broadcast", &["numpy", "none", "explicit"]).map(drop)
}

fn two(cx: &Cx<'_, '_>) -> Result<(String, String), Refusal> {
    broadcasts_as_numpy(cx)?;
    Ok((cx.input(0)?, cx.input(1)?))
}

/// Integers are divided as in Python, rounding down, unless the layer says otherwise.
pub(in crate::openvino) fn divide(cx: &mut Cx<'_, '_>) -> Lowered {
    let (a, b) = two(cx)?;
    if cx.dtype(0)?.is_int() && cx.flag_or("m_pythondiv", true)? {
        // What is left by the division that rounds down, so that the one of ONNX is exact.
        let left = cx.make.node("Mod", &[&a, &b]);
        let whole = cx.make.node("Sub", &[&a, &left]);
        return Ok(vec![cx.make.node("Div", &[&whole, &b])]);
    }
    Ok(vec![cx.make.node("Div", &[&a, &b])])
}

pub(in crate::openvino) fn floor_mod(cx: &mut Cx<'_, '_>) -> Lowered {
    let (a, b) = two(cx)?;
    if cx.dtype(0)?.is_int() {
        return Ok(vec![cx.make.node("Mod", &[&a, &b])]);
    }
    let ratio = cx.make.node("Div", &[&a, &b]);
    let whole = cx.make.node("Floor", &[&ratio]);
    let whole = cx.make.node("Mul", &[&whole, &b]);
    Ok(vec![cx.make.node("Sub", &[&a, &whole])])
}

/// The rest with the sign of the dividend.
pub(in crate::openvino) fn truncated_mod(cx: &mut Cx<'_, '_>) -> Lowered {
    let (a, b) = two(cx)?;
    Ok(vec![cx.make.node_with("Mod", &[&a, &b], &[("fmod", 1i64.into())])])
}

pub(in crate::openvino) fn squared_difference(cx: &mut Cx<'_, '_>) -> Lowered {
    let (a, b) = two(cx)?;
    let difference = cx.make.node("Sub", &[&a, &b]);
    Ok(vec![cx.make.node("Mul", &[&difference, &difference])])
}

pub(in crate::openvino) fn convert(cx: &mut Cx<'_, '_>) -> Lowered {
    let value = cx.input(0)?;
    if cx.text("destination_type").is_none() {
        return refuse("attribute destination_type is missing");
    }
    let to = cx.type_of("destination_type", DType::F32)?;
    Ok(vec![cx.cast(&value, to)])
}

pub(in crate::openvino) fn mat_mul(cx: &mut Cx<'_, '_>) -> Lowered {
    let mut operands = Vec::new();
    for (at, name) in ["transpose_a", "transpose_b"].into_iter().enumerate() {
        let mut value = cx.input(at)?;
        let rank = cx.rank(at)? as i64;
        // A vector is never transposed.
        if cx.flag_or(name, false)? && rank > 1 {
            let mut order: Vec<i64> = (0..rank).collect();
            order.swap(rank as usize - 1, rank as usize - 2);
            let perm = AttributeValue::Ints(order);
            value = cx.make.node_with("Transpose", &[&value], &[("perm", perm)]);
        }
        operands.push(value);
    }
    let operands: Vec<&str> = operands.iter().map(String::as_str).collect();
    Ok(vec![cx.make.node("MatMul", &operands)])
}
