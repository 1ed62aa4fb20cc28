//! Labels of classes.

use super::ML;
use crate::error::{BuildError, LoadError};
use crate::ir::{FunctionBody, ValueId};
use stead_onnx::{AttributeValue, Attributes};
use stead_tensor::DType;

/// The labels of a classifier that its kernel gives: those of the attribute `ints`, or the positions of those that are
/// strings.
///
/// # Errors
/// [`BuildError`]: no labels.
pub(super) fn of(attributes: &Attributes, ints: &str) -> Result<Vec<i64>, BuildError> {
    if let Some(texts) = texts(attributes)? {
        return Ok((0i64..).take(texts.len()).collect());
    }
    let labels = attributes.ints(ints)?.unwrap_or_default().to_vec();
    if labels.is_empty() {
        return Err(BuildError::Attribute(attributes.missing(ints)));
    }
    Ok(labels)
}

/// The labels, if they are strings.
fn texts(attributes: &Attributes) -> Result<Option<Vec<Vec<u8>>>, BuildError> {
    let texts = attributes.bytes_list("classlabels_strings")?.filter(|texts| !texts.is_empty());
    Ok(texts.map(|texts| texts.iter().map(|text| text.to_vec()).collect()))
}

/// The element type of a classifier's labels.
///
/// # Errors
/// [`BuildError`]: an attribute of another type.
pub(super) fn label_type(
    attributes: &Attributes,
    _: &[Option<DType>],
) -> Result<DType, BuildError> {
    Ok(if texts(attributes)?.is_some() { DType::String } else { DType::I64 })
}

/// A classifier by the operator `kernel` of the engine's own.
///
/// # Errors
/// [`LoadError`]: what the kernel refuses.
pub(super) fn classify(f: &mut FunctionBody<'_>, kernel: &str) -> Result<(), LoadError> {
    let wanted = [f.wants(0), f.wants(1)];
    let results = f.own(kernel, &wanted)?;
    give(f, results)
}

/// Gives labels and scores, labels that are strings by their positions.
///
/// # Errors
/// [`LoadError`]: labels of another type.
pub(super) fn give(
    f: &mut FunctionBody<'_>,
    results: Vec<Option<ValueId>>,
) -> Result<(), LoadError> {
    let texts = texts(f.attributes()).map_err(|e| f.refuse(e.to_string()))?;
    let mut results = results.into_iter();
    if let Some(mut labels) = results.next().flatten() {
        if let Some(texts) = texts {
            let keys = (0i64..).take(texts.len()).collect();
            let table = [
                ("keys_int64s", AttributeValue::Ints(keys)),
                ("values_strings", AttributeValue::Strings(texts)),
            ];
            labels = f.call_of((ML, "LabelEncoder"), vec![Some(labels)], &table)?;
        }
        f.give(0, labels);
    }
    if let Some(scores) = results.next().flatten() {
        f.give(1, scores);
    }
    Ok(())
}
