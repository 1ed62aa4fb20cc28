//! Vectors of floats against vectors of bits: the sum of the numbers whose bits are set.
//!
//! Four bits at a time choose one of 16 sums that were made before, so that a byte costs two additions instead of
//! eight multiplications.

use super::LANES;
use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// The sums of four numbers of which each may be left out.
const SUMS: usize = 16;

/// How many numbers [`bit_tables`] writes for `count` vectors against `bytes` bytes.
#[must_use]
pub fn bit_tables_len(count: usize, bytes: usize) -> usize {
    count.next_multiple_of(LANES) * 2 * bytes * SUMS
}

/// The sums that [`bit_tokens`] adds, of `count` vectors of `8 * bytes` numbers, which lie behind each other. The first
/// number of a byte's eight belongs to its highest bit if `is_big_endian`, else to its lowest.
///
/// The layout: for each [`LANES`] vectors, for each half byte in the order of the numbers, for each value of it, a
/// number for each vector.
///
/// # Panics
/// If the lengths do not fit.
pub fn bit_tables(
    count: usize,
    bytes: usize,
    is_big_endian: bool,
    vectors: &[f32],
    out: &mut [f32],
) {
    assert_eq!(vectors.len(), count * bytes * 8, "the numbers of the vectors");
    assert_eq!(out.len(), bit_tables_len(count, bytes), "the room for the sums");
    out.fill(0.0);
    let halves = 2 * bytes;
    for (at, vector) in vectors.chunks_exact((8 * bytes).max(1)).enumerate() {
        let panel = &mut out[at / LANES * halves * SUMS * LANES..];
        for (half, numbers) in vector.chunks_exact(4).enumerate() {
            for value in 0..SUMS {
                let is_set = |i: usize| {
                    let bit = if is_big_endian { 3 - i } else { i };
                    value >> bit & 1 == 1
                };
                let chosen = numbers.iter().enumerate().filter(|(i, _)| is_set(*i));
                panel[(half * SUMS + value) * LANES + at % LANES] = chosen.map(|(_, x)| x).sum();
            }
        }
    }
}

/// For each vector of `tables`, made by [`bit_tables`], the largest sum for a vector of `many`, each of `bytes` bytes, where
/// it is larger than what `best` holds. `best` has a number for each lane.
///
/// # Panics
/// If the lengths do not fit.
pub fn bit_tokens(
    isa: Isa,
    bytes: usize,
    is_big_endian: bool,
    tables: &[f32],
    many: &[i8],
    best: &mut [f32],
) {
    check(bytes, tables, many, best.len());
    dispatch(isa, Tokens { bytes, is_big_endian, tables, many, best });
}

/// The sum of one vector, the first of `tables`, for each of the `out.len()` vectors of `many`.
///
/// # Panics
/// If the lengths do not fit.
pub fn bit_sums(
    isa: Isa,
    bytes: usize,
    is_big_endian: bool,
    tables: &[f32],
    many: &[i8],
    out: &mut [f32],
) {
    check(bytes, tables, many, LANES);
    assert_eq!(many.len(), out.len() * bytes, "a sum for each of the many");
    dispatch(isa, Sums { bytes, is_big_endian, tables, many, out });
}

fn check(bytes: usize, tables: &[f32], many: &[i8], lanes: usize) {
    assert!(bytes > 0, "vectors without bits");
    assert_eq!(lanes % LANES, 0, "a number for each lane");
    assert_eq!(tables.len(), bit_tables_len(lanes, bytes), "the sums");
    assert_eq!(many.len() % bytes, 0, "the bytes of the many");
}

/// The halves of a byte in the order of the numbers.
#[inline(always)]
fn halves(byte: i8, is_big_endian: bool) -> [usize; 2] {
    let (high, low) = (usize::from(byte as u8 >> 4), usize::from(byte as u8 & 15));
    if is_big_endian { [high, low] } else { [low, high] }
}

struct Sums<'a> {
    bytes: usize,
    is_big_endian: bool,
    tables: &'a [f32],
    many: &'a [i8],
    out: &'a mut [f32],
}

impl SimdOp for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        for (token, out) in self.many.chunks_exact(self.bytes).zip(self.out) {
            let mut sums = [0.0; 2];
            for (byte, two) in token.iter().zip(self.tables.chunks_exact(2 * SUMS * LANES)) {
                let [first, second] = halves(*byte, self.is_big_endian);
                sums[0] += two[first * LANES];
                sums[1] += two[(SUMS + second) * LANES];
            }
            *out = sums[0] + sums[1];
        }
    }
}

struct Tokens<'a> {
    bytes: usize,
    is_big_endian: bool,
    tables: &'a [f32],
    many: &'a [i8],
    best: &'a mut [f32],
}

impl SimdOp for Tokens<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let panel = self.bytes * TABLE;
        let Tokens { bytes, is_big_endian, tables, many, best } = self;
        for (tables, best) in tables.chunks_exact(panel).zip(best.chunks_exact_mut(LANES)) {
            let mut lane = 0;
            while lane < LANES {
                for many in many.chunks(TOKENS * bytes) {
                    let part = Part { bytes, is_big_endian, tables, many };
                    part.run(s, lane, best);
                }
                lane += S::LANES;
            }
        }
    }
}

/// Numbers of the two tables of a byte.
const TABLE: usize = 2 * SUMS * LANES;

/// Bytes whose tables stay in the first level of cache, with the sums of [`TOKENS`] vectors.
const BYTES: usize = 8;

/// Vectors whose sums are made together.
const TOKENS: usize = 128;

/// Some of the many against the vectors of a panel.
struct Part<'a> {
    bytes: usize,
    is_big_endian: bool,
    tables: &'a [f32],
    many: &'a [i8],
}

impl Part<'_> {
    /// At most [`TOKENS`] of the many against a vector of lanes: a few bytes of all before the next bytes.
    #[inline(always)]
    fn run<S: Simd>(&self, s: S, lane: usize, best: &mut [f32]) {
        let mut sums = [s.zero(); TOKENS];
        for (part, tables) in self.tables.chunks(BYTES * TABLE).enumerate() {
            for (token, sum) in self.many.chunks_exact(self.bytes).zip(&mut sums) {
                let token = &token[part * BYTES..];
                let mut two = [*sum, s.zero()];
                for (byte, tables) in token.iter().zip(tables.chunks_exact(TABLE)) {
                    let [first, second] = halves(*byte, self.is_big_endian);
                    // SAFETY: a half is below 16, so a vector of lanes lies behind both within the two tables.
                    unsafe {
                        let p = tables.as_ptr().add(lane);
                        two[0] = s.add(two[0], s.load_ptr(p.add(first * LANES)));
                        two[1] = s.add(two[1], s.load_ptr(p.add((SUMS + second) * LANES)));
                    }
                }
                *sum = s.add(two[0], two[1]);
            }
        }
        let mut most = s.load(&best[lane..]);
        for sum in &sums[..self.many.len() / self.bytes] {
            most = s.max(*sum, most);
        }
        s.store(&mut best[lane..], most);
    }
}
