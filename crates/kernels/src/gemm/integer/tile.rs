//! The register tile: `MR` rows by `NV` vectors of sums.

use crate::simd::{Simd, SimdOp};

/// Most rows of a tile over all instruction sets.
pub const MAX_ROWS: usize = 14;

/// Most rows of a panel, and of a tile unless it needs [`Simd::dot4`] where that is several instructions: as many as leave
/// registers for two vectors of `B` and what is multiplied.
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

/// Most rows of a tile by [`Simd::dot4`]: where it takes several instructions, as many as leave registers for the halves of
/// two vectors of `B`.
pub const fn exact_rows<S: Simd>() -> usize {
    if S::DOT4 {
        MAX_ROWS
    } else if S::REGISTERS >= 32 && S::LANES == 16 {
        8
    } else {
        4
    }
}

/// Everything a tile reads and writes.
#[derive(Clone, Copy)]
pub struct Operands {
    /// Quads along `k`.
    pub quads: usize,
    /// Row `i` begins `i * a_stride` bytes behind it.
    pub a: *const u8,
    pub a_stride: usize,
    /// Quads of `B` lie `b_stride` lanes apart.
    pub b: *const i32,
    pub b_stride: usize,
    /// Receives `MR` rows of `NV` vectors, `sums_stride` numbers apart.
    pub sums: *mut i32,
    pub sums_stride: usize,
    /// What later tiles will read, asked for meanwhile: the next `step` lanes for each quad.
    pub later: *const i32,
    pub step: usize,
}

/// Quads by which `B` is asked for before it is needed, for what comes from memory.
const AHEAD: usize = 16;

/// The tile as a function of its own. With few rows the sums of `U` quads in turn are kept apart, so that enough of them
/// are under way.
struct Tile<const MR: usize, const NV: usize, const U: usize, const LOW: bool>(Operands);

impl<const MR: usize, const NV: usize, const U: usize, const LOW: bool> SimdOp
    for Tile<MR, NV, U, LOW>
{
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let t = self.0;
        let mut acc = [[[s.splat_i32(0); NV]; MR]; U];
        let (mut a, mut b, mut later) = (t.a, t.b, t.later);
        // SAFETY: each of MR rows has `quads` quads, and `b` NV vectors at each of as many strides.
        unsafe {
            for _ in 0..t.quads / U {
                for (u, acc) in acc.iter_mut().enumerate() {
                    s.prefetch_far(later.cast());
                    later = later.wrapping_add(t.step);
                    step::<S, MR, NV, LOW>(s, acc, a.add(4 * u), t.a_stride, b, t.b_stride);
                    b = b.wrapping_add(t.b_stride);
                }
                a = a.wrapping_add(4 * U);
            }
            for _ in 0..t.quads % U {
                step::<S, MR, NV, LOW>(s, &mut acc[0], a, t.a_stride, b, t.b_stride);
                a = a.wrapping_add(4);
                b = b.wrapping_add(t.b_stride);
            }
            for i in 0..MR {
                for v in 0..NV {
                    let mut sum = acc[0][i][v];
                    for acc in &acc[1..] {
                        sum = s.add_i32(sum, acc[i][v]);
                    }
                    s.store_i32_ptr(t.sums.add(i * t.sums_stride + v * S::LANES), sum);
                }
            }
        }
    }
}

/// Adds one quad to the sums.
///
/// # Safety
/// Each of `MR` rows must have a quad, and `b` `NV` vectors.
#[inline(always)]
unsafe fn step<S: Simd, const MR: usize, const NV: usize, const LOW: bool>(
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
        for (v, bv) in bv.iter_mut().enumerate() {
            s.prefetch(b.wrapping_add(v * S::LANES + AHEAD * b_stride).cast());
            *bv = s.load_i32_ptr(b.add(v * S::LANES));
        }
        for (i, row) in acc.iter_mut().enumerate() {
            let quad = s.splat_i32(a.add(i * a_stride).cast::<i32>().read_unaligned());
            for (v, sum) in row.iter_mut().enumerate() {
                *sum = if LOW { s.dot4_low(*sum, quad, bv[v]) } else { s.dot4(*sum, quad, bv[v]) };
            }
        }
    }
}

/// Runs the tile of `rows` rows, by [`Simd::dot4_low`] if `LOW`: then no two products may exceed 16 bits, as those of a
/// [split](super::split) operand do not.
///
/// # Safety
/// The operands must have `rows` rows, and `NV` vectors, of `quads` quads; `rows` must not be more than [`rows`], or, unless
/// `LOW`, than [`exact_rows`].
#[inline(always)]
pub unsafe fn tile<S: Simd, const NV: usize, const LOW: bool>(
    s: S,
    rows: usize,
    operands: Operands,
) {
    const fn most<S: Simd, const LOW: bool>() -> usize {
        if LOW { self::rows::<S>() } else { exact_rows::<S>() }
    }
    debug_assert!((1..=const { most::<S, LOW>() }).contains(&rows));
    macro_rules! by_rows {
        ($($n:literal)*) => {
            match rows {
                1 => s.call(Tile::<1, NV, 4, LOW>(operands)),
                2 => s.call(Tile::<2, NV, 2, LOW>(operands)),
                3 => s.call(Tile::<3, NV, 2, LOW>(operands)),
                // Tiles that the instruction set never uses are not compiled for it.
                $($n if $n <= const { most::<S, LOW>() } => {
                    s.call(Tile::<$n, NV, 1, LOW>(operands))
                })*
                _ => {}
            }
        };
    }
    by_rows!(4 5 6 7 8 9 10 11 12 13 14);
}
