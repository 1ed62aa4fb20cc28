//! Products by weights that are stored as signed bytes with a scale for each column: a quarter of the memory of f32, and of
//! the time where a product is bound by reading `B`.
//!
//! All arithmetic is f32, as if [`pack_bytes`] had been given `q * scale`:
//!
//! * Up to four rows, bytes are widened in registers and read once; a sum of products `x q` is scaled at its end. Against the
//!   exact product the error is at most `(k + 1) 2^-23 sum |x q scale|`, where nothing overflows: bytes are exact in f32.
//! * For more rows some columns at a time are widened into scratch, scaled, and multiplied as packed f32 are: the bits are
//!   those of that product.
//!
//! The layout is that of [`super::pack`] with a byte for each number. Unlike [`super::bits`], which has scales along a column
//! as well and zero points, these operands have all of a product's [epilogue](super::Epilogue) and may be recurrent weights.

mod pack;
mod vector;
mod widen;

pub use pack::{bytes_len, pack_bytes};

use super::blocked::tiles;
use super::driver::{Job, packed_rows};
use super::pack::{packed_columns, slivers_len};
use super::shape::{Shape, shape};
use super::vector::MAX_VECTOR_ROWS;
use super::{Lhs, MatRef, Rhs};
use crate::Isa;

/// What [`pack_bytes`] made, and the factor of each column.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a> {
    /// The packed numbers.
    pub numbers: &'a [i8],
    /// One for each column.
    pub scales: &'a [f32],
}

/// Numbers of `B` that are widened together: a quarter of a second-level cache of 2 MiB, from which the product reads them.
const WIDENED: usize = 1 << 17;

/// Columns that are widened together, whole slivers.
fn block_cols(shape: Shape, n: usize, k: usize) -> usize {
    (WIDENED / k.max(1) / shape.cols()).max(1).saturating_mul(shape.cols()).min(n)
}

/// Numbers of scratch that [`product`] needs.
pub(super) fn scratch_len(isa: Isa, m: usize, n: usize, k: usize, a: &Lhs<'_>) -> usize {
    if m <= MAX_VECTOR_ROWS {
        return 0;
    }
    let shape = shape(isa.effective());
    slivers_len(shape, k, block_cols(shape, n, k)) + packed_rows(shape, m, k, a)
}

/// Computes a checked product.
pub(super) fn product(job: &Job<'_>, a: MatRef<'_>, b: Bytes<'_>, scratch: &mut [f32]) {
    let (k, n) = (job.k, job.n);
    if job.m <= MAX_VECTOR_ROWS {
        return vector::rows(job, a, b);
    }
    let cols = block_cols(job.shape, n, k);
    let (wide, scratch) = scratch.split_at_mut(slivers_len(job.shape, k, cols));
    for col in (0..n).step_by(cols) {
        let cols = cols.min(n - col);
        let wide = &mut wide[..slivers_len(job.shape, k, cols)];
        let b = Bytes {
            numbers: packed_columns(b.numbers, k, col),
            scales: &b.scales[col..col + cols],
        };
        widen::columns(job, b, wide);
        // SAFETY: the column lies in C and in the epilogue's operands, which have all columns of the product.
        let part = unsafe {
            Job { n: cols, c: job.c.add(col), epilogue: job.epilogue.at(0, col), ..*job }
        };
        tiles(&part, Lhs::Strided(a), Rhs::Packed(wide), cols, false, scratch);
    }
}

#[cfg(test)]
mod tests;
