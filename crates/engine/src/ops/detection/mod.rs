//! Operators that detectors of objects end with.

mod roi_align;
mod roi_pool;
mod suppression;

use super::OpDef;

/// The tables of this family.
pub const TABLES: [&[OpDef]; 3] = [roi_align::OPS, roi_pool::OPS, suppression::OPS];
