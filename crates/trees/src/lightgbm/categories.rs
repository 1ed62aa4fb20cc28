//! Which features are categorical, and what pandas called their categories.

use crate::document::Value;
use crate::model::{Categories, Feature};

/// Gives each categorical feature its list of `pandas_categorical`: LightGBM keeps the lists of the
/// categorical columns in the order of the columns, without saying which these are.
pub(super) fn name(features: &mut [Feature], pandas: Option<Value<'_>>) {
    let Some(pandas) = pandas else { return };
    let categorical = features.iter_mut().filter(|feature| feature.categorical);
    for (feature, list) in categorical.zip(pandas.elements()) {
        feature.categories = categories(list);
    }
}

fn categories(list: Value<'_>) -> Option<Categories> {
    let integers: Option<Vec<i64>> = list
        .elements()
        .map(|value| value.number().filter(|x| x.fract() == 0.0 && x.abs() < 1e15))
        .map(|x| x.map(|x| x as i64))
        .collect();
    if list.len() == 0 {
        return None;
    }
    Some(match integers {
        Some(integers) => Categories::Integers(integers),
        None => Categories::Strings(list.elements().map(label).collect()),
    })
}

/// A category as a string: what is not a string as JSON writes it.
fn label(value: Value<'_>) -> String {
    match (value.text(), value.number(), value.truth()) {
        (Some(text), ..) => text.to_owned(),
        (None, Some(x), _) => format!("{x:?}"),
        (None, None, Some(x)) => x.to_string(),
        _ => "null".to_owned(),
    }
}
