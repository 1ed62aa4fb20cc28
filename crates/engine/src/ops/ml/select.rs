//! ArrayFeatureExtractor: elements of the last axis.

use super::ML;
use crate::error::LoadError;
use crate::ir::FunctionBody;
use crate::ops::{OpDef, Out, Param, types};
use stead_onnx::AttributeValue;

/// ArrayFeatureExtractor.
pub const OPS: &[OpDef] = &[OpDef::function(
    "ArrayFeatureExtractor",
    &[Param::required(0, types::ANY), Param::required(0, types::I64_ONLY)],
    &[Out::Like(0)],
    extract,
)
.domain(ML)];

/// Gather along the last axis; of a vector, `[1, indices]`.
fn extract(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (x, indices) = (f.input(0)?, f.input(1)?);
    let one = f.ints(&[1])?;
    let (end, axis, flat) = (f.ints(&[i64::MAX])?, f.ints(&[0])?, f.ints(&[-1])?);
    let shape = f.call("Shape", &[x], &[])?;
    let rank = f.call("Shape", &[shape], &[])?;
    // What a shape with a 1 before it loses again, unless it is that of a vector.
    let extra = f.call("Sub", &[rank, one], &[])?;
    let extra = f.call("Min", &[extra, one], &[])?;
    let longer = f.call("Concat", &[one, shape], &[("axis", AttributeValue::Int(0))])?;
    let rows = f.call("Slice", &[longer, extra, end, axis], &[])?;
    let x = f.call("Reshape", &[x, rows], &[])?;
    let indices = f.call("Reshape", &[indices, flat], &[])?;
    let y = f.call("Gather", &[x, indices], &[("axis", AttributeValue::Int(-1))])?;
    f.give(0, y);
    Ok(())
}
