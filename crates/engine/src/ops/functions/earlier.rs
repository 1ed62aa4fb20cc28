//! Operators as they were before opset 7, by those of today.
//!
//! Until then operands were broadcast only where `broadcast` said so, from an `axis` on, and attributes told which inputs
//! memory may be taken from (`consumed_inputs`, of no meaning here) and whether a layer is trained (`is_test`). Operators
//! that have not changed since are read as those of opset 7; the others that are not here are refused.

use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

const fn float() -> Param {
    Param::required(1, types::FLOAT)
}

const fn maybe() -> Param {
    Param::optional(1, types::FLOAT)
}

/// The operators.
pub const OPS: &[OpDef] = &[
    binary("Add", &[Param::required(1, types::NUMERIC), Param::required(1, types::NUMERIC)]),
    binary("Sub", &[Param::required(1, types::NUMERIC), Param::required(1, types::NUMERIC)]),
    binary("Mul", &[Param::required(1, types::NUMERIC), Param::required(1, types::NUMERIC)]),
    binary("Div", &[Param::required(1, types::NUMERIC), Param::required(1, types::NUMERIC)]),
    binary("Pow", &[float(), float()]),
    test("And", &[Param::required(1, types::BOOL), Param::required(1, types::BOOL)]),
    test("Or", &[Param::required(1, types::BOOL), Param::required(1, types::BOOL)]),
    test("Xor", &[Param::required(1, types::BOOL), Param::required(1, types::BOOL)]),
    test("Greater", &[float(), float()]),
    test("Less", &[float(), float()]),
    test("Equal", &[Param::required(1, COMPARED), Param::required(1, COMPARED)]),
    until(6, OpDef::function("PRelu", &[float(), float()], &[Out::Like(0)], prelu)),
    until(6, OpDef::function("Gemm", &[float(), float(), float()], &[Out::Like(0)], same)),
    until(6, OpDef::function("AveragePool", &[float()], &[Out::Like(0)], same)),
    until(6, OpDef::function("BatchNormalization", &NORMALISED, &[Out::Like(0)], batch_norm))
        .variadic_outputs(),
    until(6, OpDef::function("Dropout", &[float()], &[Out::Like(0), Out::Like(0)], dropout)),
    until(6, OpDef::function("Upsample", &[float()], &[Out::Like(0)], upsample)),
    until(6, OpDef::function("RNN", LAYER.split_at(6).0, OUTPUTS.split_at(2).0, same)),
    until(6, OpDef::function("GRU", LAYER.split_at(6).0, OUTPUTS.split_at(2).0, same)),
    until(6, OpDef::function("LSTM", &LAYER, &OUTPUTS, same)),
    until(5, OpDef::function("Clip", &[float()], &[Out::Like(0)], clip)),
    until(5, OpDef::function("Selu", &[float()], &[Out::Like(0)], selu)),
    until(4, OpDef::function("Reshape", &[float()], &[Out::Like(0)], reshape)),
    until(
        3,
        OpDef::function("Concat", &[Param::variadic(1, types::FLOAT)], &[Out::Like(0)], concat),
    ),
    until(
        5,
        OpDef::function(
            "InstanceNormalization",
            &[float(), float(), float()],
            &[Out::Like(0)],
            same,
        ),
    ),
    unary("Abs"),
    unary("Ceil"),
    unary("Elu"),
    unary("Exp"),
    unary("Floor"),
    unary("HardSigmoid"),
    unary("LeakyRelu"),
    unary("Log"),
    unary("Neg"),
    unary("Reciprocal"),
    unary("Relu"),
    unary("Sigmoid"),
    unary("Sqrt"),
    unary("Tanh"),
    several("Max"),
    several("Mean"),
    several("Min"),
    several("Sum"),
];

const COMPARED: TypeSet = TypeSet::of(&[DType::Bool, DType::I32, DType::I64]);
const ONE: [Param; 1] = [float()];
const SEVERAL: [Param; 1] = [Param::variadic(1, types::FLOAT)];
const NORMALISED: [Param; 5] = [float(), float(), float(), float(), float()];
const OUTPUTS: [Out; 3] = [Out::Like(0), Out::Like(0), Out::Like(0)];
const LAYER: [Param; 8] = [
    float(),
    float(),
    float(),
    maybe(),
    Param::optional(0, TypeSet::of(&[DType::I32])),
    maybe(),
    maybe(),
    maybe(),
];

const fn until(last: i64, def: OpDef) -> OpDef {
    def.since(1).until(last)
}

const fn binary(name: &'static str, inputs: &'static [Param]) -> OpDef {
    until(6, OpDef::function(name, inputs, &[Out::Like(0)], broadcast))
}

const fn test(name: &'static str, inputs: &'static [Param]) -> OpDef {
    until(6, OpDef::function(name, inputs, &[Out::Fixed(DType::Bool)], broadcast))
}

const fn unary(name: &'static str) -> OpDef {
    until(5, OpDef::function(name, &ONE, &[Out::Like(0)], same))
}

const fn several(name: &'static str) -> OpDef {
    until(5, OpDef::function(name, &SEVERAL, &[Out::Like(0)], same))
}

/// Attributes that have no meaning any more where nothing is trained. Without `broadcast` operands had the same shape, which
/// broadcasts too; `output_sequence` told that the first output of a recurrent layer is wanted.
const DROPPED: [&str; 5] = ["consumed_inputs", "broadcast", "axis", "is_test", "output_sequence"];

/// An operator of today in the place of the call, with its attributes.
fn put(
    f: &mut FunctionBody<'_>,
    inputs: Vec<Option<ValueId>>,
    dropped: &[&str],
) -> Result<(), LoadError> {
    let op_type = f.op_type().to_owned();
    let given = f.attributes().iter().filter(|(name, _)| !dropped.contains(name));
    let given: Vec<_> = given.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let attributes: Vec<_> = given.iter().map(|(name, value)| (&**name, value.clone())).collect();
    let wanted: Vec<bool> = (0..f.output_count()).map(|output| f.wants(output)).collect();
    let results = f.call_for(&op_type, inputs, &attributes, &wanted)?;
    for (output, value) in results.into_iter().enumerate() {
        if let Some(value) = value {
            f.give(output, value);
        }
    }
    Ok(())
}

fn inputs(f: &FunctionBody<'_>) -> Vec<Option<ValueId>> {
    (0..f.input_count()).map(|input| f.optional(input)).collect()
}

/// What takes the same attributes today, but for [those](DROPPED) that are gone.
fn same(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    put(f, inputs(f), &DROPPED)
}

/// The second operand begins at an axis of the first, or ends with it.
fn broadcast(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (a, b) = (f.input(0)?, f.input(1)?);
    let axis = f.attributes().int("axis")?.filter(|_| f.attributes().has("broadcast"));
    let b = match axis {
        Some(axis) => beginning_at(f, a, b, axis)?,
        None => b,
    };
    put(f, vec![Some(a), Some(b)], &DROPPED)
}

/// `b` with dimensions of 1 behind its own, so that its first is that of `a` at an axis.
fn beginning_at(
    f: &mut FunctionBody<'_>,
    a: ValueId,
    b: ValueId,
    axis: i64,
) -> Result<ValueId, LoadError> {
    if axis < 0 {
        return Err(f.refuse(format!("axis {axis}; supported: 0 and more")));
    }
    // All of it is known when shapes are: the lists of sizes are no values at run time.
    let (sizes, own) = (f.call("Shape", &[a], &[])?, f.call("Shape", &[b], &[])?);
    let (end, rank) = (f.call("Shape", &[sizes], &[])?, f.call("Shape", &[own], &[])?);
    let axis = f.ints(&[axis])?;
    let begin = f.call("Add", &[axis, rank], &[])?;
    let behind = f.call("Slice", &[sizes, begin, end], &[])?;
    let count = f.call("Shape", &[behind], &[])?;
    let one = AttributeValue::Tensor(Tensor::from_slice(&[1_i64], &[1])?);
    let ones = f.call("ConstantOfShape", &[count], &[("value", one)])?;
    let shape = f.call("Concat", &[own, ones], &[("axis", AttributeValue::Int(0))])?;
    f.call("Reshape", &[b, shape], &[("allowzero", AttributeValue::Int(1))])
}

/// A slope for each channel, or one for all.
fn prelu(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (x, slope) = (f.input(0)?, f.input(1)?);
    let slope = beginning_at(f, x, slope, 1)?;
    put(f, vec![Some(x), Some(slope)], &DROPPED)
}

/// In training the statistics were outputs, and those of the batch were used.
fn batch_norm(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    if (1..f.output_count()).any(|output| f.wants(output)) {
        return Err(f.refuse("outputs of training; supported: the first"));
    }
    if f.attributes().int_or("spatial", 1)? != 1 {
        return Err(f.refuse("spatial 0; supported: 1"));
    }
    put(f, inputs(f), &["consumed_inputs", "is_test", "spatial"])
}

fn dropout(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    if !f.attributes().bool_or("is_test", false)? {
        return Err(f.refuse("is_test 0: elements are dropped at random; supported: 1"));
    }
    if f.wants(1) {
        return Err(f.refuse("the mask; supported: the first output"));
    }
    let x = f.input(0)?;
    let y = f.call("Identity", &[x], &[])?;
    f.give(0, y);
    Ok(())
}

/// Factors of height and width, in attributes.
fn upsample(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let factor = |name| f.attributes().float(name)?.ok_or_else(|| f.attributes().missing(name));
    let scales = [1.0, 1.0, factor("height_scale")?, factor("width_scale")?];
    let mode = match f.attributes().string_or("mode", "nearest")? {
        "nearest" => "nearest",
        "bilinear" => "linear",
        other => return Err(f.refuse(format!("mode {other}; supported: nearest, bilinear"))),
    };
    let text = |text: &str| AttributeValue::String(text.as_bytes().to_vec());
    let attributes = [
        ("mode", text(mode)),
        ("coordinate_transformation_mode", text("asymmetric")),
        ("nearest_mode", text("floor")),
    ];
    let x = f.input(0)?;
    let scales = f.constant_of(Tensor::from_slice(&scales, &[4])?);
    let y = f.call_for("Resize", vec![Some(x), None, Some(scales)], &attributes, &[true])?;
    let y = y.into_iter().next().flatten().ok_or_else(|| f.refuse("Resize has no result"))?;
    f.give(0, y);
    Ok(())
}

/// Bounds are attributes.
fn clip(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let x = f.input(0)?;
    let bounds = [f.attributes().float("min")?, f.attributes().float("max")?];
    let mut inputs = vec![Some(x)];
    for bound in bounds {
        let bound = bound.map(|bound| f.number(bound.into(), x)).transpose()?;
        inputs.push(bound);
    }
    put(f, inputs, &["consumed_inputs", "min", "max"])
}

/// With fewer digits than later.
fn selu(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let alpha = f.attributes().float_or("alpha", 1.6732)?;
    let gamma = f.attributes().float_or("gamma", 1.0507)?;
    let x = f.input(0)?;
    let attributes =
        [("alpha", AttributeValue::Float(alpha)), ("gamma", AttributeValue::Float(gamma))];
    let y = f.call("Selu", &[x], &attributes)?;
    f.give(0, y);
    Ok(())
}

/// The shape is an attribute.
fn reshape(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let shape = f.attributes().ints("shape")?.ok_or_else(|| f.attributes().missing("shape"))?;
    let shape = shape.to_vec();
    let (x, shape) = (f.input(0)?, f.ints(&shape)?);
    put(f, vec![Some(x), Some(shape)], &["consumed_inputs", "shape"])
}

/// Along the second axis where none is said.
fn concat(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let axis = f.attributes().int_or("axis", 1)?;
    let given: Vec<_> = inputs(f).into_iter().flatten().collect();
    let y = f.call("Concat", &given, &[("axis", AttributeValue::Int(axis))])?;
    f.give(0, y);
    Ok(())
}
