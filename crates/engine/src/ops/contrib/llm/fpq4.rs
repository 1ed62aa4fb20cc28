//! MatMulFpQ4: a product by weights of four bits in blocks, each with its scale beside it.

use super::MICROSOFT;
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

/// MatMulFpQ4. The weights are widened to `f32` when the model is loaded.
pub const OPS: &[OpDef] = &[OpDef::function(
    "MatMulFpQ4",
    &[
        Param::required(0, types::F32_ONLY),
        Param::required(1, TypeSet::of(&[DType::U8])),
        Param::required(2, types::I64_ONLY),
    ],
    &[Out::Like(0)],
    write,
)
.domain(MICROSOFT)];

/// Numbers of a column in a block.
const BLOCK: usize = 32;

/// The numbers of a block: its scale, with `has_zero` a zero point of a byte, then codes, the lower halves of whose bytes come before all
/// of the higher ones.
fn widen(bytes: &[u8], has_zero: bool, out: &mut Vec<f32>) {
    let Some((scale, rest)) = bytes.split_first_chunk() else { return };
    let scale = f32::from_le_bytes(*scale);
    let (zero, codes) = match rest.split_first() {
        Some((&zero, codes)) if has_zero => (zero, codes),
        _ => (8, rest),
    };
    let number = |code: u8| f32::from(i16::from(code) - i16::from(zero)) * scale;
    out.extend(codes.iter().map(|byte| number(byte & 15)));
    out.extend(codes.iter().map(|byte| number(byte >> 4)));
}

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    // Blocks of 64 numbers (2) are in the operator's text, and ONNX Runtime 1.31 refuses them.
    let has_zero = match f.attributes().int_or("blk_quant_type", 1)? {
        0 => false,
        1 => true,
        kind => return Err(f.refuse(format!("blk_quant_type is {kind}; supported: 0 and 1"))),
    };
    let b = weights(f, has_zero)?;
    let a = f.input(0)?;
    let attributes = [("transB", AttributeValue::Int(1))];
    let y = f.call_of(("stead", "MatMul"), vec![Some(a), Some(b)], &attributes)?;
    f.give(0, y);
    Ok(())
}

/// `[N, K]` numbers.
fn weights(f: &mut FunctionBody<'_>, has_zero: bool) -> Result<ValueId, LoadError> {
    let constant = |index: usize, name: &str| {
        let tensor = f.constant(f.input(index)?);
        tensor.ok_or_else(|| f.refuse(format!("{name} is no constant")))
    };
    let shape = constant(2, "B_shape")?.as_slice::<i64>()?;
    let size = |value: i64| usize::try_from(value).ok().filter(|&size| size > 0);
    let (k, n) = match *shape {
        [k, n] => size(k).zip(size(n)),
        _ => None,
    }
    .ok_or_else(|| f.refuse(format!("B_shape is {shape:?}; expected: K and N")))?;
    let b = constant(1, "B")?;
    let block = size_of::<f32>() + usize::from(has_zero) + BLOCK / 2;
    let column = k.div_ceil(BLOCK).checked_mul(block);
    let bytes = column.and_then(|column| column.checked_mul(n));
    if bytes != Some(b.bytes().len()) {
        let given = b.shape();
        return Err(f.refuse(format!("B is {given}; {bytes:?} bytes expected for {k} by {n}")));
    }
    let mut numbers = Vec::with_capacity(n * k);
    for column in b.bytes().chunks(column.unwrap_or(1)) {
        let end = numbers.len() + k;
        for bytes in column.chunks(block) {
            widen(bytes, has_zero, &mut numbers);
        }
        numbers.truncate(end);
    }
    let tensor = Tensor::from_slice(&numbers, &[n, k])?;
    Ok(f.constant_of(tensor))
}
