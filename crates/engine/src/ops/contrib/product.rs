//! FusedConv, FusedGemm, FusedMatMul and TransposeMatMul: products with what was behind or before them.

use super::MICROSOFT;
use super::activation::activated;
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, TypeSet, types};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

const LIKE: &[Out] = &[Out::Like(0)];
const F32: Param = Param::required(1, types::F32_ONLY);
/// What Conv and Gemm are computed for.
const REAL: TypeSet = TypeSet::of(&[DType::F32, DType::F16, DType::BF16]);
const X: Param = Param::required(1, REAL);
const ADDED: Param = Param::optional(1, REAL);

/// FusedConv, FusedGemm, FusedMatMul, TransposeMatMul.
pub const OPS: &[OpDef] = &[
    OpDef::function("FusedMatMul", &[F32, F32], LIKE, matmul).domain(MICROSOFT),
    OpDef::function("TransposeMatMul", &[F32, F32], LIKE, matmul).domain(MICROSOFT),
    OpDef::function("FusedGemm", &[X, X, ADDED], LIKE, gemm).domain(MICROSOFT),
    OpDef::function("FusedConv", &[X, X, ADDED, ADDED], LIKE, conv).domain(MICROSOFT),
];

/// `alpha A' B'`.
fn matmul(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let (a, b) = (f.input(0)?, f.input(1)?);
    for name in ["transBatchA", "transBatchB"] {
        let value = f.attributes().int_or(name, 0)?;
        if value != 0 {
            return Err(f.refuse(format!("{name} is {value}; supported: 0")));
        }
    }
    let alpha = f.attributes().float_or("alpha", 1.0)?;
    let trans_a = f.attributes().bool_or("transA", false)?;
    let trans_b = f.attributes().bool_or("transB", false)?;
    let y = if alpha == 1.0 && !trans_a && !trans_b {
        f.call("MatMul", &[a, b], &[])?
    } else {
        let attributes = [
            ("transA", AttributeValue::Int(trans_a.into())),
            ("transB", AttributeValue::Int(trans_b.into())),
            ("alpha", AttributeValue::Float(alpha)),
        ];
        f.call_of(("stead", "MatMul"), vec![Some(a), Some(b)], &attributes)?
    };
    f.give(0, y);
    Ok(())
}

fn gemm(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let inputs = (0..3).map(|index| f.optional(index)).collect();
    let own = ["transA", "transB", "alpha", "beta"];
    let y = with_attributes(f, "Gemm", inputs, &own)?;
    let name = f.attributes().string_or("activation", "")?.to_owned();
    let parameters =
        [f.attributes().float("activation_alpha")?, f.attributes().float("activation_beta")?];
    if let Some(gamma) = f.attributes().float("activation_gamma")? {
        return Err(f.refuse(format!("activation_gamma is {gamma}; no activation takes one")));
    }
    let y = activated(f, y, &name, &parameters)?;
    f.give(0, y);
    Ok(())
}

fn conv(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let inputs = (0..3).map(|index| f.optional(index)).collect();
    let own = ["auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"];
    let mut y = with_attributes(f, "Conv", inputs, &own)?;
    if let Some(added) = f.optional(3) {
        y = f.call("Add", &[y, added], &[])?;
    }
    let name = f.attributes().string_or("activation", "")?.to_owned();
    let parameters: Vec<_> = match f.attributes().floats("activation_params")? {
        Some(list) => list.iter().copied().map(Some).collect(),
        None => Vec::new(),
    };
    let y = activated(f, y, &name, &parameters)?;
    f.give(0, y);
    Ok(())
}

/// The result of an operator of `ai.onnx` with those of the call's attributes that are its own.
pub(super) fn with_attributes(
    f: &mut FunctionBody<'_>,
    op: &str,
    inputs: Vec<Option<ValueId>>,
    own: &[&str],
) -> Result<ValueId, LoadError> {
    let given = f.attributes();
    let attributes: Vec<_> =
        own.iter().filter_map(|name| Some((*name, given.get(name)?.clone()))).collect();
    let result = f.call_for(op, inputs, &attributes, &[true])?.into_iter().next().flatten();
    result.ok_or_else(|| f.refuse(format!("{op} has no result")))
}
