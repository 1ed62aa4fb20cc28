//! DynamicQuantizeLSTM.

use super::{BYTES, MICROSOFT, SCALE};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

const X: Param = Param::required(0, types::F32_ONLY);
const MAYBE: Param = Param::optional(0, types::F32_ONLY);
const WEIGHT: Param = Param::required(1, BYTES);
const F32: Out = Out::Fixed(DType::F32);

/// DynamicQuantizeLSTM: the inputs of LSTM, and scales and zero points of its weights and recurrent weights.
pub const OPS: &[OpDef] = &[OpDef::function(
    "DynamicQuantizeLSTM",
    &[
        X,
        WEIGHT,
        WEIGHT,
        MAYBE,
        Param::optional(0, TypeSet::of(&[DType::I32])),
        MAYBE,
        MAYBE,
        MAYBE,
        SCALE,
        WEIGHT,
        SCALE,
        WEIGHT,
    ],
    &[F32, F32, F32],
    write,
)
.domain(MICROSOFT)];

/// LSTM by the numbers that the bytes stand for. Inputs and states stay floats: ONNX Runtime rounds them to bytes in every
/// step, which is what its results are less exact by.
fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let weights = weights(f, 1, 8)?;
    let recurrent = self::weights(f, 2, 10)?;
    let mut inputs: Vec<_> = (0..8).map(|index| f.optional(index)).collect();
    inputs[1] = Some(weights);
    inputs[2] = Some(recurrent);
    const OWN: [&str; 7] = [
        "activation_alpha",
        "activation_beta",
        "activations",
        "clip",
        "direction",
        "hidden_size",
        "input_forget",
    ];
    let given = f.attributes();
    let attributes: Vec<_> =
        OWN.iter().filter_map(|name| Some((*name, given.get(name)?.clone()))).collect();
    let wanted = [f.wants(0), f.wants(1), f.wants(2)];
    let results = f.call_for("LSTM", inputs, &attributes, &wanted)?;
    for (output, value) in results.into_iter().enumerate() {
        if let Some(value) = value {
            f.give(output, value);
        }
    }
    Ok(())
}

/// Input `at`, `[directions, rows, gates]` of bytes, as `[directions, gates, rows]` of numbers. Scales and zero points are one for
/// each direction or one for each of its gates.
fn weights(f: &mut FunctionBody<'_>, at: usize, scale: usize) -> Result<ValueId, LoadError> {
    let (x, zero, scale) = (f.input(at)?, f.input(scale + 1)?, f.input(scale)?);
    if let Some(rows) = rows(f, [x, scale, zero])? {
        return Ok(rows);
    }
    let Some(directions) = f.constant(scale).and_then(|s| s.shape().first().copied()) else {
        return Err(f.refuse("a scale of weights is no constant vector"));
    };
    let shape = f.ints(&[directions as i64, 1, -1])?;
    let to = [("to", AttributeValue::Int(DType::F32.onnx_number().into()))];
    let x = f.call("Cast", &[x], &to)?;
    let zero = f.call("Cast", &[zero], &to)?;
    let zero = f.call("Reshape", &[zero, shape], &[])?;
    let scale = f.call("Reshape", &[scale, shape], &[])?;
    let moved = f.call("Sub", &[x, zero], &[])?;
    let numbers = f.call("Mul", &[moved, scale], &[])?;
    f.call("Transpose", &[numbers], &[("perm", AttributeValue::Ints(vec![0, 2, 1]))])
}

/// The same of constants: bytes turned as LSTM has them, and DequantizeLinear with a scale for each row of each direction, so
/// that layers whose weights stay bytes are known by one form.
fn rows(
    f: &mut FunctionBody<'_>,
    [x, scale, zero]: [ValueId; 3],
) -> Result<Option<ValueId>, LoadError> {
    let [Some(bytes), Some(scales), Some(zeros)] = [x, scale, zero].map(|id| f.constant(id)) else {
        return Ok(None);
    };
    let &[directions, k, gates] = bytes.shape().dims() else { return Ok(None) };
    let all = directions * gates;
    let each = scales.shape().elements();
    let fits = bytes.shape().elements() > 0
        && [directions, all].contains(&each)
        && zeros.shape().elements() == each
        && zeros.dtype() == bytes.dtype();
    if !fits {
        return Ok(None);
    }
    // From any row to the number that is its own, or its direction's.
    let of = |row: usize| row / (all / each);
    let scales = scales.as_slice::<f32>()?;
    let scales: Vec<f32> = (0..all).map(|row| scales[of(row)]).collect();
    let turned = |values: &[u8]| -> Vec<u8> {
        let at = |i: usize| (i / k / gates * k + i % k) * gates + i / k % gates;
        (0..all * k).map(|i| values[at(i)]).collect()
    };
    let zeros: Vec<u8> = (0..all).map(|row| zeros.bytes()[of(row)]).collect();
    let bytes_of = |values: Vec<u8>, dims: &[usize]| match bytes.dtype() {
        DType::I8 => Tensor::from_slice(bytemuck::cast_slice::<u8, i8>(&values), dims),
        _ => Tensor::from_slice(&values, dims),
    };
    let (bytes, zeros) = (bytes_of(turned(bytes.bytes()), &[all, k])?, bytes_of(zeros, &[all])?);
    let scales = Tensor::from_slice(&scales, &[all])?;
    let operands = [bytes, scales, zeros].map(|tensor| f.constant_of(tensor));
    let numbers = f.call("DequantizeLinear", &operands, &[("axis", AttributeValue::Int(0))])?;
    let shape = f.ints(&[directions, gates, k].map(|n| n as i64))?;
    f.call("Reshape", &[numbers, shape], &[]).map(Some)
}
