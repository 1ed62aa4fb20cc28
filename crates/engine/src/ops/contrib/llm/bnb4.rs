//! MatMulBnb4: a product by weights of four bits that stand for numbers of a table.

use super::MICROSOFT;
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

const F32: Param = Param::required(0, types::F32_ONLY);

/// MatMulBnb4. The weights are widened to `f32` when the model is loaded.
pub const OPS: &[OpDef] = &[OpDef::function(
    "MatMulBnb4",
    &[F32, Param::required(1, TypeSet::of(&[DType::U8])), F32],
    &[Out::Like(0)],
    write,
)
.domain(MICROSOFT)];

/// The numbers of bitsandbytes' type FP4: a sign, two bits of an exponent and one of a fraction, as parts of the largest.
const FP4: [f32; 8] =
    [0.0, 0.005_208_333_3, 0.666_666_7, 1.0, 0.333_333_34, 0.5, 0.166_666_67, 0.25];

/// Those of NF4 (Dettmers and others, "QLoRA: Efficient Finetuning of Quantized LLMs", 2023, appendix E): between them lie equal parts
/// of a normal distribution.
const NF4: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_036,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

fn number(is_normal: bool, code: u8) -> f32 {
    let code = usize::from(code & 15);
    match (is_normal, code) {
        (true, code) => NF4[code],
        (false, 0..8) => FP4[code],
        (false, code) => -FP4[code - 8],
    }
}

fn write(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let is_normal = match f.attributes().int("quant_type")? {
        Some(0) => false,
        Some(1) => true,
        other => return Err(f.refuse(format!("quant_type is {other:?}; supported: 0 and 1"))),
    };
    let b = weights(f, is_normal)?;
    let turned = f.attributes().bool_or("transB", true)?;
    let attributes = [("transB", AttributeValue::Int(turned.into()))];
    let a = f.input(0)?;
    let y = f.call_of(("stead", "MatMul"), vec![Some(a), Some(b)], &attributes)?;
    f.give(0, y);
    Ok(())
}

/// `[N, K]` numbers.
fn weights(f: &mut FunctionBody<'_>, is_normal: bool) -> Result<ValueId, LoadError> {
    let size = |name: &str| {
        let value = f.attributes().int(name)?.unwrap_or(0);
        let size = usize::try_from(value).ok().filter(|&size| size > 0);
        size.ok_or_else(|| f.refuse(format!("{name} is {value}; supported: 1 and more")))
    };
    let (n, k, block) = (size("N")?, size("K")?, size("block_size")?);
    let count = n.checked_mul(k).ok_or_else(|| f.refuse("weights larger than memory"))?;
    let of = |index: usize, name: &str, dtype: DType, elements: usize| {
        let tensor = f.constant(f.input(index)?);
        let tensor = tensor.ok_or_else(|| f.refuse(format!("{name} is no constant")))?;
        let (given, shape) = (tensor.dtype(), tensor.shape());
        if given != dtype || shape.elements() != elements {
            return Err(f.refuse(format!("{name} is {given}{shape}; {elements} expected")));
        }
        Ok(tensor)
    };
    let codes = of(1, "B", DType::U8, count.div_ceil(2))?.bytes();
    let largest = of(2, "absmax", DType::F32, count.div_ceil(block))?.as_slice::<f32>()?;
    // The first of two is in the higher bits.
    let numbers = codes.iter().flat_map(|&byte| [byte >> 4, byte]).take(count).enumerate();
    let numbers: Vec<f32> =
        numbers.map(|(at, code)| number(is_normal, code) * largest[at / block]).collect();
    let tensor = Tensor::from_slice(&numbers, &[n, k])?;
    Ok(f.constant_of(tensor))
}
