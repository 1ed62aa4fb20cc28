//! LinearClassifier and LinearRegressor: a product by the coefficients of each class or target.

use super::post::OWN;
use super::{FEATURES, ML, labels};
use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param};
use stead_onnx::AttributeValue;
use stead_tensor::{DType, Tensor};

const X: Param = Param::required(0, FEATURES);
const F32: Out = Out::Fixed(DType::F32);

/// LinearClassifier, LinearRegressor.
pub const OPS: &[OpDef] = &[
    OpDef::function("LinearClassifier", &[X], &[Out::Of(labels::label_type), F32], classifier)
        .domain(ML),
    OpDef::function("LinearRegressor", &[X], &[F32], regressor).domain(ML),
];

/// `X C' + intercepts` for as many rows of coefficients.
fn scores(f: &mut FunctionBody<'_>, rows: usize) -> Result<ValueId, LoadError> {
    let x = f.input(0)?;
    let attributes = f.attributes();
    let missing = attributes.missing("coefficients");
    let coefficients = attributes.floats("coefficients")?.ok_or(missing)?.to_vec();
    let intercepts = attributes.floats("intercepts")?.unwrap_or_default().to_vec();
    if rows == 0 || !coefficients.len().is_multiple_of(rows) || coefficients.is_empty() {
        return Err(f.refuse(format!("{} coefficients for {rows} scores", coefficients.len())));
    }
    if !intercepts.is_empty() && intercepts.len() != rows {
        return Err(f.refuse(format!("{} intercepts for {rows} scores", intercepts.len())));
    }
    let features = coefficients.len() / rows;
    let to = AttributeValue::Int(DType::F32.onnx_number().into());
    let x = f.call("Cast", &[x], &[("to", to)])?;
    let weights = f.constant_of(Tensor::from_slice(&coefficients, &[rows, features])?);
    let mut inputs = vec![x, weights];
    if !intercepts.is_empty() {
        inputs.push(f.constant_of(Tensor::from_slice(&intercepts, &[rows])?));
    }
    f.call("Gemm", &inputs, &[("transB", AttributeValue::Int(1))])
}

/// The attribute `post_transform` as it is handed on.
fn post(f: &FunctionBody<'_>) -> Result<(&'static str, AttributeValue), LoadError> {
    let name = f.attributes().string_or("post_transform", "NONE")?;
    Ok(("post_transform", AttributeValue::String(name.as_bytes().to_vec())))
}

fn regressor(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let targets = f.attributes().int_or("targets", 1)?;
    let targets = usize::try_from(targets)
        .map_err(|_| f.refuse(format!("targets is {targets}; supported: 1 and more")))?;
    let form = super::post::of(f.attributes()).map_err(|e| f.refuse(e.to_string()))?;
    super::post::only_of_many(form, targets).map_err(|e| f.refuse(e.to_string()))?;
    let mut y = scores(f, targets)?;
    if form != stead_kernels::ml::post::Post::None {
        let post = post(f)?;
        y = f.call_of((OWN, "PostTransform"), vec![Some(y)], &[post])?;
    }
    f.give(0, y);
    Ok(())
}

/// One row of coefficients for each class, or one for two classes. `multi_class` says how the model was fitted, which
/// changes nothing here.
fn classifier(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    f.attributes().int("multi_class")?;
    let classes =
        labels::of(f.attributes(), "classlabels_ints").map_err(|e| f.refuse(e.to_string()))?;
    let intercepts = f.attributes().floats("intercepts")?.map_or(0, <[f32]>::len);
    let rows = if classes.len() == 2 && intercepts == 1 { 1 } else { classes.len() };
    if classes.len() < 2 {
        return Err(f.refuse("a classifier of one class is not supported"));
    }
    let scores = scores(f, rows)?;
    let attributes = [("labels", AttributeValue::Ints(classes)), post(f)?];
    let results = f.call_all_of((OWN, "TopClass"), vec![Some(scores)], &attributes, &[true; 2])?;
    labels::give(f, results)
}
