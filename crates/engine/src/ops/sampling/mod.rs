//! Operators that read between elements: points of grids.

mod affine_grid;
mod grid_sample;

use super::OpDef;

/// The tables of this family.
pub const TABLES: [&[OpDef]; 2] = [affine_grid::OPS, grid_sample::OPS];
