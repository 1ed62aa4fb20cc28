//! Sequences and optionals. While a plan is made they are lists of values, so that most of these operators emit no step.

mod concat;
mod optional;
mod sequence;
mod split;

use super::OpDef;

/// Tables of this family.
pub const TABLES: [&[OpDef]; 4] = [concat::OPS, optional::OPS, sequence::OPS, split::OPS];
