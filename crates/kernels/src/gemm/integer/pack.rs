//! The packed form of `B`, and copies of `A` where its rows cannot be read as they lie.
//!
//! `B` lies in slivers of 32 columns (the last may have 16), each stored by quads: lane `j` of quad `q` holds numbers
//! `4 q .. 4 q + 4` of column `j`, zeros behind the last. The sums of the columns follow, and then what numbers of `A` may be
//! so that no sum of two products leaves the range of 16 bits ([`Simd::dot4_low`](crate::simd::Simd::dot4_low)): for each quad
//! the greatest that both of any pair may be, four times in a lane (128 at least, and more where no column has two large
//! numbers side by side), and behind them for each quad the greatest magnitudes of its four rows, 127 for 128: pairs whose
//! products by these are together no more than [`PAIR`](crate::simd::PAIR) may be larger.

use super::Byte;
use crate::gemm::MatRef;

/// Columns of a sliver.
pub const COLS: usize = 32;

/// The fewest columns of a sliver, to a multiple of which the last one is filled up: no instruction set has wider vectors.
const LEAST: usize = 16;

/// The columns of a packed operand, padding included.
pub fn padded(n: usize) -> usize {
    n.next_multiple_of(LEAST)
}

/// The columns of the sliver that begins at `col`, padding included.
pub fn sliver_width(n: usize, col: usize) -> usize {
    (padded(n) - col).min(COLS)
}

/// Lanes that [`pack`] writes.
pub fn packed_len(k: usize, n: usize) -> usize {
    limits_at(k, n) + 2 * limits_len(k)
}

/// Lanes of the limits of all quads, and of their bounds, whole vectors of them.
pub fn limits_len(k: usize) -> usize {
    k.div_ceil(4).next_multiple_of(LEAST)
}

/// Where the limits of the quads lie; their bounds lie behind them.
pub fn limits_at(k: usize, n: usize) -> usize {
    padded(n) * (k.div_ceil(4) + 1)
}

/// The limit of a quad that any numbers may be in.
pub const LEAST_LIMIT: i32 = i32::from_ne_bytes([128; 4]);

/// The bounds of such a quad.
pub const MOST_BOUNDS: i32 = i32::from_ne_bytes([127; 4]);

/// Which pairs of numbers a quad has: the greatest sums of those above 0, and of those below it without their sign.
#[derive(Clone, Copy, Default)]
struct Pairs {
    above: i32,
    below: i32,
}

impl Pairs {
    fn add(self, lane: i32) -> Pairs {
        let [a, b, c, d] = lane.to_le_bytes().map(|byte| i32::from(byte as i8));
        let above = (a.max(0) + b.max(0)).max(c.max(0) + d.max(0));
        let below = (a.min(0) + b.min(0)).min(c.min(0) + d.min(0));
        Pairs { above: self.above.max(above), below: self.below.max(-below) }
    }

    /// Of several slivers, in one number.
    fn join(self, known: i32) -> i32 {
        self.above.max(known & 0xffff) | self.below.max(known >> 16) << 16
    }

    /// The limit for pairs that are [joined](Pairs::join).
    fn limit(joined: i32) -> i32 {
        let (above, below) = (joined & 0xffff, joined >> 16);
        let limit = (32767 / above.max(1)).min(32768 / below.max(1)).min(255);
        i32::from_ne_bytes([limit as u8; 4])
    }
}

/// The greater of each byte of `bounds` and the magnitude of that of a lane, at most 127.
fn magnitudes(bounds: i32, lane: i32) -> i32 {
    let (bounds, lane) = (bounds.to_le_bytes(), lane.to_le_bytes());
    i32::from_le_bytes(core::array::from_fn(|i| {
        bounds[i].max((lane[i] as i8).unsigned_abs().min(127))
    }))
}

/// Packs a `k x n` right operand, such as the weights of a linear layer, for [`Right::packed`](super::Right::packed).
/// The form is the same for all instruction sets.
///
/// # Panics
/// If `dst` is not [`packed_len`] long or `b` is smaller than `k x n`.
pub fn pack<B: Byte>(k: usize, n: usize, b: MatRef<'_, B>, dst: &mut [i32]) {
    assert_eq!(dst.len(), packed_len(k, n), "length of packed B");
    assert!(b.covers(k, n), "B smaller than k x n");
    let flip = if B::SIGNED { 0 } else { 0x80 };
    let (quads, sums) = dst.split_at_mut(padded(n) * k.div_ceil(4));
    sums.fill(0);
    let (sums, limits) = sums.split_at_mut(padded(n));
    let (limits, bounds) = limits.split_at_mut(limits_len(k));
    let mut col = 0;
    let mut rest = quads;
    while col < n && k > 0 {
        let width = sliver_width(n, col);
        let cols = width.min(n - col);
        let (sliver, behind) = rest.split_at_mut(width * k.div_ceil(4));
        rest = behind;
        let sums = &mut sums[col..col + cols];
        let limits = limits.iter_mut().zip(&mut *bounds);
        for ((q, lanes), (limit, bounds)) in sliver.chunks_exact_mut(width).enumerate().zip(limits)
        {
            lanes.fill(0);
            for p in 4 * q..k.min(4 * q + 4) {
                let row = &b.data[p * b.row_stride + col * b.col_stride..];
                let shift = 8 * (p % 4);
                for (j, (lane, sum)) in lanes.iter_mut().zip(sums.iter_mut()).enumerate() {
                    let byte = row[j * b.col_stride].bits() ^ flip;
                    *lane |= i32::from(byte) << shift;
                    *sum = sum.wrapping_add(i32::from(byte as i8));
                }
            }
            let pairs = lanes.iter().fold(Pairs::default(), |pairs, lane| pairs.add(*lane));
            *limit = pairs.join(*limit);
            *bounds = lanes.iter().fold(*bounds, |bounds, lane| magnitudes(bounds, *lane));
        }
        col += width;
    }
    limits.iter_mut().for_each(|limit| *limit = Pairs::limit(*limit));
}

/// Bytes from one row of a copy of `A` to the next: whole units, and no multiple of a page, which would let the rows of a
/// tile share a few lines of the cache. A unit is what a tile reads of a row at a time.
pub fn copied_stride(k: usize, unit: usize) -> usize {
    let stride = k.next_multiple_of(unit);
    if stride != 0 && stride.is_multiple_of(PAGE) { stride + 64 } else { stride }
}

const PAGE: usize = 4096;

/// Whether the tile can read `A` as it lies: unsigned, whole units, rows that do not share lines of the cache.
pub fn reads_in_place<A: Byte>(m: usize, k: usize, a: &MatRef<'_, A>, unit: usize) -> bool {
    let spread = m <= 4 || !a.row_stride.is_multiple_of(PAGE);
    !A::SIGNED && a.col_stride == 1 && k.is_multiple_of(unit) && spread
}

/// Copies row `i` of `A` as unsigned bytes, or numbers that are wider, with zeros behind it. Inlined, so that it is compiled for the
/// instruction set of the kernel that calls it.
#[inline(always)]
pub fn copy_row<A: Byte, T: Copy + From<u8>>(a: &MatRef<'_, A>, i: usize, k: usize, dst: &mut [T]) {
    let flip = if A::SIGNED { 0x80 } else { 0 };
    let (row, rest) = dst.split_at_mut(k);
    rest.fill(T::from(0));
    if k == 0 {
        return;
    }
    let src = &a.data[i * a.row_stride..];
    if a.col_stride == 1 {
        for (to, from) in row.iter_mut().zip(src) {
            *to = T::from(from.bits() ^ flip);
        }
    } else {
        for (to, from) in row.iter_mut().zip(src.iter().step_by(a.col_stride.max(1))) {
            *to = T::from(from.bits() ^ flip);
        }
    }
}
