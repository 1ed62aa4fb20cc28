//! QuantizeLinear and DequantizeLinear, which are those of the standard with types that these got later.

use super::MICROSOFT;
use crate::error::LoadError;
use crate::ir::FunctionBody;
use crate::ops::{OpDef, Out, Param, TypeSet};
use stead_tensor::DType;

const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16]);
const QUANTIZED: TypeSet = TypeSet::of(&[DType::I8, DType::U8, DType::I16, DType::U16]);
const DEQUANTIZED: TypeSet = QUANTIZED.or(TypeSet::of(&[DType::I32]));

/// QuantizeLinear, DequantizeLinear.
pub const OPS: &[OpDef] = &[
    OpDef::function(
        "QuantizeLinear",
        &[Param::required(1, REAL), Param::required(1, REAL), Param::optional(2, QUANTIZED)],
        &[Out::Like(2)],
        |f| same(f, "QuantizeLinear"),
    )
    .domain(MICROSOFT),
    OpDef::function(
        "DequantizeLinear",
        &[
            Param::required(1, DEQUANTIZED),
            Param::required(2, REAL),
            Param::optional(1, DEQUANTIZED),
        ],
        &[Out::Like(1)],
        |f| same(f, "DequantizeLinear"),
    )
    .domain(MICROSOFT),
];

fn same(f: &mut FunctionBody<'_>, op: &str) -> Result<(), LoadError> {
    let mut inputs: Vec<_> = (0..3).map(|index| f.optional(index)).collect();
    if !f.attributes().has("axis") {
        // One scale for all; a vector of one number says so too.
        for input in inputs.iter_mut().skip(1).flatten() {
            *input = super::scalar(f, *input)?;
        }
    }
    let y = crate::ops::contrib::product::with_attributes(f, op, inputs, &["axis"])?;
    f.give(0, y);
    Ok(())
}
