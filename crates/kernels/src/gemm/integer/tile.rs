//! The register tile: `MR` rows by `NV` vectors of sums.

use crate::simd::{Simd, SimdOp};

/// Most rows of a tile over all instruction sets.
pub const MAX_ROWS: usize = 14;

/// Most rows of a tile and of a panel: as many as leave registers for two vectors of `B` and what is multiplied.
pub const fn rows<S: Simd>() -> usize {
    if S::DOT4 {
        MAX_ROWS
    } else if S::DOT4_LOW && S::LANES == 16 {
        12
    } else if S::DOT4_LOW {
        5
    } else {
        4
    }
}

/// What a tile multiplies by.
pub mod by {
    /// [`Simd::dot4`](crate::simd::Simd::dot4), where it is one instruction or there is nothing better.
    pub const QUADS: u8 = 0;
    /// [`Simd::dot4_low`](crate::simd::Simd::dot4_low): no two products may exceed 16 bits, as those of a
    /// [split](super::super::split) operand do not.
    pub const LOW: u8 = 1;
    /// [`Simd::dot2`](crate::simd::Simd::dot2): rows of `A` are numbers of 16 bits, of any size that bytes have; `B` is the same,
    /// widened when it is read. A vector has half as many columns, and two sums of each.
    pub const PAIRS: u8 = 2;
}

/// Everything a tile reads and writes.
#[derive(Clone, Copy)]
pub struct Operands {
    /// Quads along `k`.
    pub quads: usize,
    /// Row `i` begins `i * a_stride` bytes behind it: bytes, or [by pairs](by::PAIRS) numbers of 16 bits.
    pub a: *const u8,
    pub a_stride: usize,
    /// Quads of `B` lie `b_stride` lanes apart.
    pub b: *const i32,
    pub b_stride: usize,
    /// Receives `MR` rows of `NV` vectors, by pairs of one, `sums_stride` numbers apart.
    pub sums: *mut i32,
    pub sums_stride: usize,
    /// Whether what is there already is added, by pairs.
    pub adds: bool,
    /// What later tiles will read, asked for meanwhile: the next `step` lanes for each quad.
    pub later: *const i32,
    pub step: usize,
}

/// Quads by which `B` is asked for before it is needed, for what comes from memory.
const AHEAD: usize = 16;

/// The tile as a function of its own. With few rows the sums of `U` quads in turn are kept apart, so that enough of them
/// are under way.
struct Tile<const MR: usize, const NV: usize, const U: usize, const BY: u8>(Operands);

impl<const MR: usize, const NV: usize, const U: usize, const BY: u8> SimdOp
    for Tile<MR, NV, U, BY>
{
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let t = self.0;
        let mut acc = [[[s.splat_i32(0); NV]; MR]; U];
        let (mut a, mut b, mut later) = (t.a, t.b, t.later);
        let quad = const { quad_bytes::<BY>() };
        // SAFETY: each of MR rows has `quads` quads, and `b` NV vectors at each of as many strides.
        unsafe {
            for _ in 0..t.quads / U {
                for (u, acc) in acc.iter_mut().enumerate() {
                    s.prefetch_far(later.cast());
                    later = later.wrapping_add(t.step);
                    step::<S, MR, NV, BY>(s, acc, a.add(quad * u), t.a_stride, b, t.b_stride);
                    b = b.wrapping_add(t.b_stride);
                }
                a = a.wrapping_add(quad * U);
            }
            for _ in 0..t.quads % U {
                step::<S, MR, NV, BY>(s, &mut acc[0], a, t.a_stride, b, t.b_stride);
                a = a.wrapping_add(quad);
                b = b.wrapping_add(t.b_stride);
            }
            for i in 0..MR {
                let mut row = acc[0][i];
                for acc in &acc[1..] {
                    for (sum, more) in row.iter_mut().zip(acc[i]) {
                        *sum = s.add_i32(*sum, more);
                    }
                }
                let to = t.sums.add(i * t.sums_stride);
                if BY == by::PAIRS {
                    let mut sum = s.add_neighbours(row[0], row[NV - 1]);
                    if t.adds {
                        sum = s.add_i32(sum, s.load_i32_ptr(to));
                    }
                    s.store_i32_ptr(to, sum);
                    continue;
                }
                for (v, sum) in row.into_iter().enumerate() {
                    s.store_i32_ptr(to.add(v * S::LANES), sum);
                }
            }
        }
    }
}

/// Bytes of a quad of a row of `A` as numbers of 16 bits.
pub const PAIRS_QUAD: usize = 8;

/// Bytes of a quad of a row of `A`.
const fn quad_bytes<const BY: u8>() -> usize {
    if BY == by::PAIRS { PAIRS_QUAD } else { 4 }
}

/// Adds one quad to the sums.
///
/// # Safety
/// Each of `MR` rows must have a quad, and `b` `NV` vectors.
#[inline(always)]
unsafe fn step<S: Simd, const MR: usize, const NV: usize, const BY: u8>(
    s: S,
    acc: &mut [[S::I32; NV]; MR],
    a: *const u8,
    a_stride: usize,
    b: *const i32,
    b_stride: usize,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut bv = [s.splat_i32(0); NV];
        if BY == by::PAIRS {
            s.prefetch(b.wrapping_add(AHEAD * b_stride).cast());
            for (v, bv) in bv.iter_mut().enumerate() {
                *bv = s.widen_bytes_ptr(b.add(v * S::LANES / 2).cast());
            }
            for (i, row) in acc.iter_mut().enumerate() {
                let quad = s.splat_i64(a.add(i * a_stride).cast::<i64>().read_unaligned());
                for (sum, bv) in row.iter_mut().zip(bv) {
                    *sum = s.dot2(*sum, quad, bv);
                }
            }
            return;
        }
        for (v, bv) in bv.iter_mut().enumerate() {
            s.prefetch(b.wrapping_add(v * S::LANES + AHEAD * b_stride).cast());
            *bv = s.load_i32_ptr(b.add(v * S::LANES));
        }
        for (i, row) in acc.iter_mut().enumerate() {
            let quad = s.splat_i32(a.add(i * a_stride).cast::<i32>().read_unaligned());
            for (sum, bv) in row.iter_mut().zip(bv) {
                *sum =
                    if BY == by::LOW { s.dot4_low(*sum, quad, bv) } else { s.dot4(*sum, quad, bv) };
            }
        }
    }
}

/// Runs the tile of `rows` rows by `NV` vectors of columns; [by pairs](by::PAIRS) `NV` is 2 and there is one vector of columns.
///
/// # Safety
/// The operands must have `rows` rows, and these columns, of `quads` quads; `rows` must not be more than [`rows`].
#[inline(always)]
pub unsafe fn tile<S: Simd, const NV: usize, const BY: u8>(s: S, rows: usize, operands: Operands) {
    debug_assert!((1..=const { self::rows::<S>() }).contains(&rows));
    debug_assert!(BY != by::PAIRS || NV == 2);
    macro_rules! by_rows {
        ($($n:literal)*) => {
            match rows {
                1 => s.call(Tile::<1, NV, 4, BY>(operands)),
                2 => s.call(Tile::<2, NV, 2, BY>(operands)),
                3 => s.call(Tile::<3, NV, 2, BY>(operands)),
                // Tiles that the instruction set never uses are not compiled for it.
                $($n if $n <= const { self::rows::<S>() } => {
                    s.call(Tile::<$n, NV, 1, BY>(operands))
                })*
                _ => {}
            }
        };
    }
    by_rows!(4 5 6 7 8 9 10 11 12 13 14);
}
