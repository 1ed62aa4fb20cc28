//! What the rows of the tables of built-in components are written with.

use super::{BuiltIn, BuiltInParameter, ParameterKind};

/// A component.
pub(super) const fn row(
    name: &'static str,
    parameters: &'static [BuiltInParameter],
    about: &'static str,
    reads: &'static str,
    writes: &'static str,
) -> BuiltIn {
    BuiltIn { name, parameters, about, reads, writes }
}

/// A parameter that is always written.
pub(super) const fn must(
    name: &'static str,
    kind: ParameterKind,
    about: &'static str,
) -> BuiltInParameter {
    BuiltInParameter { name, kind, default: None, about }
}

/// A parameter with a default.
pub(super) const fn may(
    name: &'static str,
    kind: ParameterKind,
    default: &'static str,
    about: &'static str,
) -> BuiltInParameter {
    BuiltInParameter { name, kind, default: Some(default), about }
}
