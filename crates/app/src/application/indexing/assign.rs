//! Which values fields take.

use crate::schema::FieldType;

/// Whether a field or step of a type takes values of another. Numbers are not widened: a script says so by `to_long` and the like.
pub(super) fn fits(found: &FieldType, expected: &FieldType) -> bool {
    match (found, expected) {
        (found, expected) if found == expected => true,
        (found, expected) if is_text(found) && is_text(expected) => true,
        // Positions were strings once: `field loc type string { indexing: to_pos | attribute }`.
        (FieldType::Position, FieldType::String) => true,
        (FieldType::Array(found), FieldType::Array(expected))
        | (FieldType::WeightedSet(found), FieldType::WeightedSet(expected)) => {
            fits(found, expected)
        }
        (FieldType::Map(key, value), FieldType::Map(to_key, to_value)) => {
            fits(key, to_key) && fits(value, to_value)
        }
        // Cells are converted.
        (FieldType::Tensor(found), FieldType::Tensor(expected)) => {
            found.dimensions() == expected.dimensions()
        }
        _ => false,
    }
}

/// The type of a value that has one of two.
pub(super) fn joined(one: &FieldType, other: &FieldType) -> Option<FieldType> {
    if fits(one, other) {
        return Some(other.clone());
    }
    fits(other, one).then(|| one.clone())
}

fn is_text(kind: &FieldType) -> bool {
    matches!(
        kind,
        FieldType::String | FieldType::Uri | FieldType::Predicate | FieldType::Reference(_)
    )
}
