//! QLinearAdd, QLinearConcat, QLinearLeakyRelu, QLinearMul, QLinearSigmoid, QLinearSoftmax and QLinearWhere.

use super::{BYTE, BYTES, MICROSOFT, SCALE, ZERO, bytes, only, real, real_of};
use crate::error::LoadError;
use crate::ir::FunctionBody;
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const LIKE: &[Out] = &[Out::Like(0)];
const UNARY: &[Param] = &[BYTE, SCALE, ZERO, SCALE, ZERO];
const BINARY: &[Param] = &[BYTE, SCALE, ZERO, BYTE, SCALE, ZERO, SCALE, ZERO];

/// QLinearAdd, QLinearConcat, QLinearLeakyRelu, QLinearMul, QLinearSigmoid, QLinearSoftmax, QLinearWhere.
pub const OPS: &[OpDef] = &[
    OpDef::function("QLinearAdd", BINARY, LIKE, |f| binary(f, "Add")).domain(MICROSOFT),
    OpDef::function("QLinearMul", BINARY, LIKE, |f| binary(f, "Mul")).domain(MICROSOFT),
    OpDef::function("QLinearSigmoid", UNARY, LIKE, |f| unary(f, "Sigmoid", &[])).domain(MICROSOFT),
    OpDef::function("QLinearLeakyRelu", UNARY, LIKE, |f| unary(f, "LeakyRelu", &["alpha"]))
        .domain(MICROSOFT),
    OpDef::function("QLinearSoftmax", UNARY, LIKE, softmax).domain(MICROSOFT),
    OpDef::function(
        "QLinearConcat",
        // Scale and zero point of the result, then bytes, scale and zero point of each part.
        &[SCALE, BYTE, Param::any_number(BYTES.or(TypeSet::of(&[DType::F32])))],
        &[Out::Like(1)],
        concat,
    )
    .domain(MICROSOFT),
    OpDef::function(
        "QLinearWhere",
        &[Param::required(0, types::BOOL), BYTE, SCALE, BYTE, BYTE, SCALE, BYTE, SCALE, BYTE],
        &[Out::Like(1)],
        select,
    )
    .domain(MICROSOFT),
];

fn binary(f: &mut FunctionBody<'_>, op: &str) -> Result<(), LoadError> {
    let (a, b) = (real(f, [0, 1, 2])?, real(f, [3, 4, 5])?);
    let c = f.call(op, &[a, b], &[])?;
    let like = f.input(0)?;
    let c = bytes(f, c, [6, 7], like)?;
    f.give(0, c);
    Ok(())
}

fn unary(f: &mut FunctionBody<'_>, op: &str, own: &[&str]) -> Result<(), LoadError> {
    let x = real(f, [0, 1, 2])?;
    let y = crate::ops::contrib::product::with_attributes(f, op, vec![Some(x)], own)?;
    let like = f.input(0)?;
    let y = bytes(f, y, [3, 4], like)?;
    f.give(0, y);
    Ok(())
}

/// `opset` says whether the softmax is one over all dimensions from the axis on, as it was before 13.
fn softmax(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let attributes = f.attributes();
    let axis = attributes.int_or("axis", -1)?;
    let opset = attributes.int("opset")?.ok_or_else(|| attributes.missing("opset"))?;
    let x = real(f, [0, 1, 2])?;
    let last = [("axis", AttributeValue::Int(axis))];
    let y = if opset >= 13 || axis == -1 {
        f.call("Softmax", &[x], &last)?
    } else {
        let rows = f.call("Flatten", &[x], &last)?;
        let shares = f.call("Softmax", &[rows], &[("axis", AttributeValue::Int(-1))])?;
        let shape = f.call("Shape", &[x], &[])?;
        f.call("Reshape", &[shares, shape], &[])?
    };
    let like = f.input(0)?;
    let y = bytes(f, y, [3, 4], like)?;
    f.give(0, y);
    Ok(())
}

fn concat(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let attributes = f.attributes();
    let axis = attributes.int("axis")?.ok_or_else(|| attributes.missing("axis"))?;
    if f.input_count() < 5 || !(f.input_count() - 2).is_multiple_of(3) {
        let text = format!("{} inputs; two and three for each part expected", f.input_count());
        return Err(f.refuse(text));
    }
    let mut parts = Vec::new();
    for at in (2..f.input_count()).step_by(3) {
        let (x, scale) = (f.input(at)?, f.input(at + 1)?);
        let zero = f.optional(at + 2);
        parts.push(real_of(f, x, scale, zero)?);
    }
    let y = f.call("Concat", &parts, &[("axis", AttributeValue::Int(axis))])?;
    let like = f.input(1)?;
    let y = bytes(f, y, [0, 1], like)?;
    f.give(0, y);
    Ok(())
}

fn select(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (x, y) = (real(f, [1, 2, 3])?, real(f, [4, 5, 6])?);
    let condition = f.input(0)?;
    let z = only(f, "Where", vec![Some(condition), Some(x), Some(y)], &[])?;
    let like = f.input(1)?;
    let z = bytes(f, z, [7, 8], like)?;
    f.give(0, z);
    Ok(())
}
