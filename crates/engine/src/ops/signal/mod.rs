//! Operators of signals: Fourier transforms and weights of frequency bands.

mod dft;
mod frames;
mod mel;

use super::OpDef;

/// The tables of this family.
pub const TABLES: [&[OpDef]; 3] = [dft::OPS, frames::OPS, mel::OPS];
