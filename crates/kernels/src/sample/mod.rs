//! Numbers read between the elements of a tensor: grids of points, affine grids, and windows whose taps are moved.

mod affine;
mod deform;
mod grid;

pub use affine::{AffineGrid, affine_grid};
pub use deform::{Deform, deformed_columns};
pub use grid::{Coordinate, GridSample, Interpolation, Padding, grid_sample};
