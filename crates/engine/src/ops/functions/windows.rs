//! HannWindow, HammingWindow, BlackmanWindow: weights that fade a stretch of a signal in and out.

use crate::error::{BuildError, LoadError};
use crate::ir::FunctionBody;
use crate::ops::cast::dtype_of;
use crate::ops::{OpDef, Out, Param, types};
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::DType;

const SIZE: &[Param] = &[Param::required(0, types::INDEX)];
const RESULT: &[Out] = &[Out::Of(result_type)];

/// HannWindow, HammingWindow, BlackmanWindow.
pub const OPS: &[OpDef] = &[
    OpDef::function("HannWindow", SIZE, RESULT, |f| window(f, [0.5, 0.5, 0.0])).since(17),
    // 25/46 and 21/46, which the standard writes out.
    OpDef::function("HammingWindow", SIZE, RESULT, |f| {
        window(f, [25.0 / 46.0, 1.0 - 25.0 / 46.0, 0.0])
    })
    .since(17),
    OpDef::function("BlackmanWindow", SIZE, RESULT, |f| window(f, [0.42, 0.5, 0.08])).since(17),
];

fn result_type(attributes: &Attributes, _: &[Option<DType>]) -> Result<DType, BuildError> {
    dtype_of(attributes.int_or("output_datatype", 1)?, "output_datatype")
}

/// `a0 - a1 cos(i t) + a2 cos(2 i t)` for `i` below the size `n`, where `t` is a full turn over `n`, or over `n - 1` for
/// a window that is not periodic.
fn window(f: &mut FunctionBody<'_>, [a0, a1, a2]: [f32; 3]) -> Result<(), LoadError> {
    let periodic = f.attributes().bool_or("periodic", true)?;
    let to = f.attributes().int_or("output_datatype", 1)?;
    if let Err(reason) = dtype_of(to, "output_datatype") {
        return Err(f.refuse(reason.to_string()));
    }
    let size = f.input(0)?;
    let single = AttributeValue::Int(DType::F32.onnx_number().into());
    let count = f.call("Cast", &[size], &[("to", single)])?;
    let [zero, one] = [f.scalar(0f32)?, f.scalar(1f32)?];
    let span = if periodic { count } else { f.call("Sub", &[count, one], &[])? };
    let turn = f.scalar(std::f32::consts::TAU)?;
    let step = f.call("Div", &[turn, span], &[])?;
    let places = f.call("Range", &[zero, count, one], &[])?;
    let angles = f.call("Mul", &[places, step], &[])?;
    let wave = f.call("Cos", &[angles], &[])?;
    let factor = f.scalar(-a1)?;
    let wave = f.call("Mul", &[wave, factor], &[])?;
    let level = f.scalar(a0)?;
    let mut sum = f.call("Add", &[wave, level], &[])?;
    if a2 != 0.0 {
        let two = f.scalar(2f32)?;
        let doubled = f.call("Mul", &[angles, two], &[])?;
        let wave = f.call("Cos", &[doubled], &[])?;
        let factor = f.scalar(a2)?;
        let wave = f.call("Mul", &[wave, factor], &[])?;
        sum = f.call("Add", &[sum, wave], &[])?;
    }
    let result = f.call("Cast", &[sum], &[("to", AttributeValue::Int(to))])?;
    f.give(0, result);
    Ok(())
}
