//! NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.

use crate::error::LoadError;
use crate::ir::{FunctionBody, ValueId};
use crate::ops::{OpDef, Out, Param, types};
use stead_onnx::AttributeValue;
use stead_tensor::DType;

/// Scores of classes, the class of each, and weights of classes.
const INPUTS: &[Param] = &[
    Param::required(1, types::FLOAT),
    Param::required(0, types::INDEX),
    Param::optional(1, types::FLOAT),
];

/// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
pub const OPS: &[OpDef] = &[
    OpDef::function("NegativeLogLikelihoodLoss", INPUTS, &[Out::Like(0)], likelihood).since(12),
    OpDef::function(
        "SoftmaxCrossEntropyLoss",
        INPUTS,
        &[Out::Like(0), Out::Like(0)],
        cross_entropy,
    )
    .since(12),
];

/// The axis of classes.
const CLASSES: i64 = 1;

fn likelihood(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let scores = f.input(0)?;
    let loss = loss(f, scores)?;
    f.give(0, loss);
    Ok(())
}

fn cross_entropy(f: &mut FunctionBody<'_>) -> Result<(), LoadError> {
    let scores = f.input(0)?;
    let axis = [("axis", AttributeValue::Int(CLASSES))];
    let logarithms = f.call("LogSoftmax", &[scores], &axis)?;
    let loss = loss(f, logarithms)?;
    f.give(0, loss);
    f.give(1, logarithms);
    Ok(())
}

/// `-weight[target] * scores[target]`, 0 where the target is `ignore_index`, reduced as the call says. A mean is one by
/// the weights of what is not ignored.
fn loss(f: &mut FunctionBody<'_>, scores: ValueId) -> Result<ValueId, LoadError> {
    let target = f.input(1)?;
    let ignored = f.attributes().int("ignore_index")?;
    let reduction = f.attributes().string_or("reduction", "mean")?.to_owned();
    let ignored = match ignored {
        Some(index) => {
            let index = match f.dtype(target) {
                DType::I32 => f.scalar(i32::try_from(index).unwrap_or(i32::MIN))?,
                _ => f.scalar(index)?,
            };
            Some(f.call("Equal", &[target, index], &[])?)
        }
        None => None,
    };
    // An ignored target may be outside of the classes; class 0 is read in its place.
    let class = match ignored {
        Some(ignored) => {
            let first = f.number(0.0, target)?;
            f.call("Where", &[ignored, first, target], &[])?
        }
        None => target,
    };
    let axes = f.ints(&[CLASSES])?;
    let column = f.call("Unsqueeze", &[class, axes], &[])?;
    let axis = [("axis", AttributeValue::Int(CLASSES))];
    let chosen = f.call("GatherElements", &[scores, column], &axis)?;
    let chosen = f.call("Squeeze", &[chosen, axes], &[])?;
    let mut losses = f.call("Neg", &[chosen], &[])?;
    let mut weights = match f.optional(2) {
        Some(weights) => Some(f.call("Gather", &[weights, class], &[])?),
        None => None,
    };
    if let Some(ignored) = ignored {
        let zero = f.number(0.0, scores)?;
        let kept = match weights {
            Some(weights) => weights,
            None => f.number(1.0, scores)?,
        };
        weights = Some(f.call("Where", &[ignored, zero, kept], &[])?);
        // Not by the weight of 0 alone: the score of a class may be infinite.
        losses = f.call("Where", &[ignored, zero, losses], &[])?;
    }
    if let Some(weights) = weights {
        losses = f.call("Mul", &[losses, weights], &[])?;
    }
    let whole = [("keepdims", AttributeValue::Int(0))];
    match (reduction.as_str(), weights) {
        ("none", _) => Ok(losses),
        ("sum", _) => f.call("ReduceSum", &[losses], &whole),
        ("mean", None) => f.call("ReduceMean", &[losses], &whole),
        ("mean", Some(weights)) => {
            let sum = f.call("ReduceSum", &[losses], &whole)?;
            let weight = f.call("ReduceSum", &[weights], &whole)?;
            f.call("Div", &[sum, weight], &[])
        }
        (other, _) => {
            Err(f.refuse(format!("reduction is \"{other}\"; supported: none, sum, mean")))
        }
    }
}
