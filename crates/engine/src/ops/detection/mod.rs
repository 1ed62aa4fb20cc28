//! Operators that detectors of objects end with.

mod roi_align;
mod suppression;

use super::OpDef;

/// The tables of this family.
pub const TABLES: [&[OpDef]; 2] = [roi_align::OPS, suppression::OPS];
