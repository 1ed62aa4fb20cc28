//! Some elements of values.

use stead_expr::Value;
use stead_store::FieldValue;

/// A value with some of its elements only, by their numbers in their order; a value without elements as it is.
pub(crate) fn kept(value: &FieldValue, numbers: &[usize]) -> FieldValue {
    fn some<T: Clone>(list: &[T], numbers: &[usize]) -> Vec<T> {
        numbers.iter().filter_map(|number| list.get(*number)).cloned().collect()
    }
    match value {
        FieldValue::Array(list) => FieldValue::Array(some(list, numbers)),
        FieldValue::Weighted(list) => FieldValue::Weighted(some(list, numbers)),
        FieldValue::Map(list) => FieldValue::Map(some(list, numbers)),
        other => other.clone(),
    }
}

/// The numbers that are labels of a tensor with one mapped dimension, in their order.
pub(crate) fn labels(value: &Value) -> Vec<usize> {
    if value.kind().mapped_count() != 1 {
        return Vec::new();
    }
    let numbers = value.labels().iter().filter_map(|label| label.as_number());
    let mut found: Vec<usize> = numbers.map(|number| number as usize).collect();
    found.sort_unstable();
    found.dedup();
    found
}
