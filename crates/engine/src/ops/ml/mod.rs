//! Operators of `ai.onnx.ml`: what `skl2onnx` and `onnxmltools` make of pipelines of scikit-learn, XGBoost and LightGBM.
//!
//! Where the text of the standard leaves something open, results are those of ONNX Runtime. What becomes of products and
//! element-wise operators is a function; trees, support vectors and tables of keys have operators of their own.

mod categories;
mod encode;
mod labels;
mod linear;
mod maps;
mod post;
mod rescale;
mod select;
mod svm;
mod trees;

use super::cast::cast_step;
use super::{OpDef, Operand, PlanCx, TypeSet};
use crate::error::PlanError;
use stead_tensor::DType::*;

/// The domain.
const ML: &str = "ai.onnx.ml";

/// Types of features.
const FEATURES: TypeSet = TypeSet::of(&[F32, F64, I32, I64]);

/// The tables of this family.
pub const TABLES: [&[OpDef]; 9] = [
    categories::OPS,
    encode::OPS,
    linear::OPS,
    maps::OPS,
    post::OPS,
    rescale::OPS,
    select::OPS,
    svm::OPS,
    trees::OPS,
];

/// An input as contiguous `f32`, as which nearly all operators of the domain compute.
fn single(cx: &mut PlanCx<'_>, index: usize) -> Result<Operand, PlanError> {
    let (dtype, count) = (cx.dtype(index)?, cx.shape(index)?.elements());
    let given = cx.input(index)?;
    if dtype == F32 {
        return Ok(given);
    }
    let slot = cx.temp_of::<f32>(count);
    cast_step(cx, given, dtype, slot, F32, count)?;
    Ok(cx.read_back(slot))
}

/// Rows and features of an input; a vector is one row.
fn table(cx: &PlanCx<'_>, index: usize) -> Result<(usize, usize), PlanError> {
    let shape = cx.shape(index)?;
    match *shape.dims() {
        [features] => Ok((1, features)),
        [rows, features] => Ok((rows, features)),
        _ => Err(PlanError::shape(format!(
            "features of shape {shape}; supported: [rows, features] and [features]"
        ))),
    }
}
