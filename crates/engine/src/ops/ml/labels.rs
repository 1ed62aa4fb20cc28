//! Labels of classes.

use crate::error::BuildError;
use stead_onnx::Attributes;

/// The labels of a classifier, from the attributes `classlabels_strings` and `ints`.
///
/// # Errors
/// [`BuildError`]: labels that are strings, or none.
pub(super) fn of(attributes: &Attributes, ints: &str) -> Result<Vec<i64>, BuildError> {
    if attributes.bytes_list("classlabels_strings")?.is_some_and(|list| !list.is_empty()) {
        return Err(BuildError::unsupported(
            "classlabels_strings: labels that are strings are not supported; supported: integers",
        ));
    }
    let labels = attributes.ints(ints)?.unwrap_or_default().to_vec();
    if labels.is_empty() {
        return Err(BuildError::Attribute(attributes.missing(ints)));
    }
    Ok(labels)
}
