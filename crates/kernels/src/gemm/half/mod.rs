//! Products by weights that are stored in bf16, the upper half of an f32.
//!
//! [`pack_half`] rounds `B` to bf16 (to nearest, ties to even) and lays two rows of a column into a lane of 32 bits.
//! That takes half the memory, and half the time where a product is bound by reading `B`. The epilogue and the sums
//! are f32, and all that remains of `A` too when it has few rows:
//!
//! * Up to four rows, `B` is widened in registers and `A` stays f32: only the weights are rounded.
//! * More rows are rounded to bf16 while they are packed. Tiles of AMX (`tdpbf16ps`) add up to 32 products to each of 256
//!   sums at once; with AVX512-BF16 each instruction adds two products to a sum (`vdpbf16ps`), twice the rate of f32;
//!   other instruction sets widen `B` and add one product at a time. Products of two bf16 numbers are exact in f32, so
//!   only the order of rounding differs.
//!
//! Against the exact product of the rounded operands the error of a sum is at most `k 2^-23 sum |a b|`, where nothing
//! overflows. `tdpbf16ps` and `vdpbf16ps` take numbers below 2^-126 for zero, as operands and as sums, which adds at most
//! `2^-126 sum (1 + |a| + |b|)`. Rounding an operand changes it by at most 2^-9 of itself; what rounds to more than the
//! largest bf16, from 3.3961e38 on, becomes infinite. NaN and infinities stay what they are.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod blocked;
mod pack;
mod round;
mod tile;
mod vector;

pub use pack::{half_len, pack_half, pays_in_half};

use super::driver::{Job, packed_rows};
use super::shape::{Shape, shape};
use super::vector::MAX_VECTOR_ROWS;
use super::{Lhs, MatRef};
use crate::Isa;

/// How a product of more than [`MAX_VECTOR_ROWS`] rows is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// `B` is widened to f32.
    Widened,
    /// By `vdpbf16ps`.
    Pairs,
    /// By `tdpbf16ps`. At 512 products a cycle a tile of sixteen rows takes 16 cycles, and one of five no more: at least 160
    /// products a cycle, more than twice what two `vdpbf16ps` are. So tiles need no more rows than those do.
    Tiles,
}

impl Way {
    /// The fastest of an instruction set.
    pub fn of(isa: Isa) -> Way {
        if isa.effective() == Isa::Amx {
            Way::Tiles
        } else if isa.gains_by_bf16() {
            Way::Pairs
        } else {
            Way::Widened
        }
    }

    /// The tile of registers for an instruction set of this one.
    fn shape(self, shape: Shape) -> Shape {
        match self {
            Way::Widened | Way::Pairs => shape,
            Way::Tiles => Shape { rows: TILE_ROWS, ..shape },
        }
    }

    /// Tasks for `m` rows of a product, as many as are worth a thread.
    fn tasks(self, job: &Job<'_>, m: usize) -> usize {
        match self {
            Way::Widened | Way::Pairs => job.tasks(m, job.n),
            Way::Tiles => job.tasks(m, job.n.div_ceil(TILES_FASTER)),
        }
    }

    /// Numbers of scratch that are left out so that packed `A` begins with a line of the cache: rows of tiles that lie in two
    /// lines take twice as long to read.
    fn spare(self) -> usize {
        match self {
            Way::Widened | Way::Pairs => 0,
            Way::Tiles => TILE_PAIRS - 1,
        }
    }

    /// Numbers of scratch that a packed row of `A` takes.
    fn row_len(self, k: usize) -> usize {
        match self {
            // Pairs are made where numbers have been packed.
            Way::Widened | Way::Pairs => k.next_multiple_of(2),
            Way::Tiles => k.div_ceil(2).next_multiple_of(TILE_PAIRS),
        }
    }
}

/// Rows of a tile of AMX, and pairs of bf16 in each.
const TILE_ROWS: usize = 16;
const TILE_PAIRS: usize = 16;

/// How many products of bf16 tiles of AMX make in the time of one of f32, in which tasks are measured: 512 a cycle over
/// 64.
const TILES_FASTER: usize = 8;

/// Numbers of scratch that [`product`] needs.
pub(super) fn scratch_len(isa: Isa, m: usize, k: usize, a: &Lhs<'_>) -> usize {
    if m <= MAX_VECTOR_ROWS {
        return 0;
    }
    let way = Way::of(isa);
    way.spare() + packed_rows(way.shape(shape(isa.effective())), m, way.row_len(k), a)
}

/// Computes a checked product by what [`pack_half`] made; one of many rows in a way that the machine has.
pub(super) fn product(job: &Job<'_>, way: Way, a: MatRef<'_>, b: &[u32], scratch: &mut [f32]) {
    if job.m <= MAX_VECTOR_ROWS {
        vector::rows(job, a, b);
    } else {
        blocked::tiles(job, way, a, b, scratch);
    }
}

#[cfg(test)]
mod tests;
