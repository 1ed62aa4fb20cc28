//! DynamicQuantizeMatMul, QAttention and QGemm: products of bytes.

use super::{BYTE, BYTES, MICROSOFT, SCALE, bytes, only};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::contrib::attention::{Parts, halves, merged, only_zero, scored};
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const F32: Out = Out::Fixed(DType::F32);
const RIGHT: Param = Param::required(2, BYTES);
const RIGHT_ZERO: Param = Param::optional(2, BYTES);
const ADDED: Param = Param::optional(0, types::F32_ONLY);
const INT: TypeSet = TypeSet::of(&[DType::I32]);

/// DynamicQuantizeMatMul, QAttention, QGemm.
pub const OPS: &[OpDef] = &[
    OpDef::function(
        "DynamicQuantizeMatMul",
        &[Param::required(0, types::F32_ONLY), RIGHT, SCALE, RIGHT_ZERO, ADDED],
        &[F32],
        dynamic,
    )
    .domain(MICROSOFT),
    OpDef::function(
        "QAttention",
        &[
            BYTE,
            RIGHT,
            SCALE,
            SCALE,
            SCALE,
            Param::optional(0, INT),
            Param::optional(1, BYTES),
            RIGHT_ZERO,
            ADDED,
        ],
        &[F32, F32],
        attention,
    )
    .domain(MICROSOFT),
    OpDef::function(
        "QGemm",
        &[
            BYTE,
            SCALE,
            BYTE,
            RIGHT,
            SCALE,
            RIGHT,
            Param::optional(0, INT),
            ADDED,
            Param::optional(3, BYTES),
        ],
        &[F32],
        gemm,
    )
    .domain(MICROSOFT),
];

/// The left operand, quantised by its own range.
fn dynamic(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let a = f.input(0)?;
    let left = f.call_for("DynamicQuantizeLinear", vec![Some(a)], &[], &[true; 3])?;
    let &[a, a_scale, a_zero] = left.as_slice() else {
        return Err(f.refuse("DynamicQuantizeLinear has no result"));
    };
    let inputs =
        vec![a, f.optional(1), a_scale, f.optional(2), a_zero, f.optional(3), f.optional(4)];
    let y = f.call_of((MICROSOFT, "MatMulIntegerToFloat"), inputs, &[])?;
    f.give(0, y);
    Ok(())
}

fn attention(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    only_zero(f, &["do_rotary", "past_present_share_buffer"])?;
    let inputs = [0, 1, 3, 4, 6, 7, 2].map(|index| f.optional(index)).to_vec();
    let product = f.call_of((MICROSOFT, "MatMulIntegerToFloat"), inputs, &[])?;
    let past = match f.optional(8) {
        Some(past) => Some(halves(f, past)?),
        None => None,
    };
    let [q, k, v] = merged(f, product)?;
    let (mask, wants_present) = (f.optional(5), f.wants(1));
    let parts = Parts { q, k, v, past, mask, bias: None, wants_present };
    let (y, present) = scored(f, parts)?;
    f.give(0, y);
    if let Some(present) = present {
        let both = crate::ops::contrib::attention::stacked(f, present)?;
        f.give(1, both);
    }
    Ok(())
}

fn transposed(f: &mut FunctionBody<'_>, x: ValueId, name: &str) -> Result<ValueId, LoadError> {
    match f.attributes().bool_or(name, false)? {
        true => f.call("Transpose", &[x], &[("perm", AttributeValue::Ints(vec![1, 0]))]),
        false => Ok(x),
    }
}

/// `alpha A' B' + C` with `C` in units of the product, to bytes where there is a scale for them.
fn gemm(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (a, b) = (f.input(0)?, f.input(3)?);
    let (a, b) = (transposed(f, a, "transA")?, transposed(f, b, "transB")?);
    let (a_zero, b_zero) = (f.input(2)?, f.input(5)?);
    let alpha = f.attributes().float_or("alpha", 1.0)?;
    let (mut a_scale, b_scale) = (f.input(1)?, f.input(4)?);
    if alpha != 1.0 {
        let alpha = f.scalar(alpha)?;
        a_scale = f.call("Mul", &[a_scale, alpha], &[])?;
    }
    let to = [("to", AttributeValue::Int(DType::F32.onnx_number().into()))];
    let unit = f.call("Mul", &[a_scale, b_scale], &[])?;
    let c = f.optional(6);
    // Added to the sums as floats, where that is a bias of the product's last step.
    let is_bias = |c: ValueId| f.constant(c).is_some_and(|c| c.shape().rank() == 1);
    let y = if c.is_none_or(is_bias) {
        let bias = match c {
            Some(c) => {
                let c = f.call("Cast", &[c], &to)?;
                Some(f.call("Mul", &[c, unit], &[])?)
            }
            None => None,
        };
        let mut inputs: Vec<_> = [a, b, a_scale, b_scale, a_zero, b_zero].map(Some).to_vec();
        inputs.push(bias);
        f.call_of((MICROSOFT, "MatMulIntegerToFloat"), inputs, &[])?
    } else {
        let inputs = [a, b, a_zero, b_zero].map(Some).to_vec();
        let mut sums = only(f, "MatMulInteger", inputs, &[])?;
        if let Some(c) = c {
            sums = f.call("Add", &[sums, c], &[])?;
        }
        let sums = f.call("Cast", &[sums], &to)?;
        f.call("Mul", &[sums, unit], &[])?
    };
    let y = match (f.optional(7), f.optional(8)) {
        (Some(_), Some(like)) => bytes(f, y, [7, 8], like)?,
        (None, None) => y,
        _ => return Err(f.refuse("y_scale and y_zero_point come together or not at all")),
    };
    f.give(0, y);
    Ok(())
}
