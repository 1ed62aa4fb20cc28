//! Operators that work element by element.

use super::OpDef;

mod activation;
mod arithmetic;
mod bits;
mod clip;
mod compare;
mod pow;
mod select;
mod unary;

/// The tables of all element-wise families.
pub(super) const TABLES: &[&[OpDef]] = &[
    activation::OPS,
    arithmetic::OPS,
    bits::OPS,
    clip::OPS,
    compare::OPS,
    pow::OPS,
    select::OPS,
    unary::OPS,
];
