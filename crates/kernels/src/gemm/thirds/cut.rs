//! Numbers cut into thirds, and laid out for tiles.

use super::super::MatRef;
use super::super::on_tiles::{STEP, steps_of_rows};
use crate::amx::{LANES, ROWS};
use core::arch::x86_64::*;

/// Parts of a number.
pub(super) const PARTS: usize = 3;

/// Lanes of the three tiles of `A` in a step.
pub(super) const STEP_OF_A: usize = PARTS * ROWS * LANES;

/// Where the upper halves of the lanes of two vectors are, as words of both: those of a lane of the first before those of the same lane of
/// the second.
const SIDE_BY_SIDE: [u16; 32] = {
    let mut words = [0; 32];
    let mut i = 0;
    while i < 16 {
        words[2 * i] = 2 * i as u16 + 1;
        words[2 * i + 1] = 32 + 2 * i as u16 + 1;
        i += 1;
    }
    words
};

/// The same, all of the first vector before all of the second.
const ONE_AFTER_THE_OTHER: [u16; 32] = {
    let mut words = [0; 32];
    let mut i = 0;
    while i < 32 {
        words[i] = 2 * i as u16 + 1;
        i += 1;
    }
    words
};

/// What two vectors leave behind when the upper halves of their lanes are taken away, exactly, and these halves.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn upper(x: [__m512; 2], words: __m512i) -> (__m512i, [__m512; 2]) {
    let mask = _mm512_set1_epi32(0xffff_0000_u32 as i32);
    let lanes = x.map(|x| _mm512_castps_si512(x));
    let halves = _mm512_permutex2var_epi16(lanes[0], words, lanes[1]);
    let rest =
        |i: usize| _mm512_sub_ps(x[i], _mm512_castsi512_ps(_mm512_and_si512(lanes[i], mask)));
    (halves, [rest(0), rest(1)])
}

/// The three parts of two vectors.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn thirds(x: [__m512; 2], words: __m512i) -> [__m512i; PARTS] {
    let (high, rest) = upper(x, words);
    let (middle, rest) = upper(rest, words);
    let (low, _) = upper(rest, words);
    [high, middle, low]
}

/// The lanes that are infinite or no numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn not_finite(x: __m512) -> u32 {
    // Quiet and signalling NaN, and both infinities.
    const CLASSES: i32 = 0x01 | 0x80 | 0x08 | 0x10;
    u32::from(_mm512_fpclass_ps_mask::<CLASSES>(x))
}

/// Cuts rows `start..start + rows` of `A`, no more than a tile has, into `dst`: for each 32 columns, filled up with zeros, three tiles of
/// 64 bytes for each row. Returns the rows, as bits, that are not finite.
///
/// # Safety
/// The machine must have AVX-512 F, BW and DQ.
#[target_feature(enable = "avx512f,avx512bw,avx512dq")]
pub(super) unsafe fn rows(
    a: MatRef<'_>,
    (start, rows): (usize, usize),
    (from, to): (usize, usize),
    dst: &mut [f32],
) -> u32 {
    debug_assert!(rows <= ROWS && dst.len() == STEP_OF_A * (to - from).div_ceil(STEP));
    // SAFETY: 64 bytes are read.
    let words = unsafe { _mm512_loadu_si512(ONE_AFTER_THE_OTHER.as_ptr().cast()) };
    let mut bad = 0;
    steps_of_rows(a, (start, rows), (from, to), |step, row, numbers| {
        let to = &mut dst[step * STEP_OF_A + row * LANES..][..(PARTS - 1) * ROWS * LANES + LANES];
        // SAFETY: a row has two vectors, and a part of it is one, ROWS vectors behind the last.
        unsafe {
            let x = [0, 1].map(|i| _mm512_loadu_ps(numbers.as_ptr().add(i * LANES)));
            bad |= u32::from(not_finite(x[0]) | not_finite(x[1]) != 0) << row;
            for (part, halves) in thirds(x, words).into_iter().enumerate() {
                _mm512_storeu_si512(to.as_mut_ptr().add(part * ROWS * LANES).cast(), halves);
            }
        }
    });
    bad
}

/// Rows of a packed sliver of `B`.
#[derive(Clone, Copy)]
pub(super) struct Sliver {
    /// The first number, and one row after the other.
    pub at: *const f32,
    /// Columns: those of one tile or two.
    pub width: usize,
    /// Rows.
    pub depth: usize,
}

/// Lines of the cache by which `B` is asked for before it is cut: into the second level, as the buffers of the first are for tiles.
const AHEAD: usize = 128;

/// Cuts some pairs of rows of a sliver into `dst`: for each 16 pairs three times as many rows of `width` lanes. Pairs behind the end are
/// zeros. All numbers must be finite.
///
/// # Safety
/// The machine must have AVX-512 F and BW; the sliver must exist, and `dst` have room for all pairs below the end.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn pairs(b: Sliver, (from, to): (usize, usize), dst: *mut u32) {
    // SAFETY: rows below `depth` are read, and what is written has room, as the caller promises. Prefetches do not fault.
    unsafe {
        let words = _mm512_loadu_si512(SIDE_BY_SIDE.as_ptr().cast());
        for pair in from..to {
            let (step, at) = (pair / ROWS, pair % ROWS);
            let dst = dst.add((PARTS * ROWS * step + at) * b.width);
            for col in (0..b.width).step_by(LANES) {
                let numbers = |row: usize| {
                    if row < b.depth {
                        let at = b.at.add(row * b.width + col);
                        _mm_prefetch::<_MM_HINT_T1>(at.wrapping_add(AHEAD * LANES).cast());
                        _mm512_loadu_ps(at)
                    } else {
                        _mm512_setzero_ps()
                    }
                };
                let x = [numbers(2 * pair), numbers(2 * pair + 1)];
                for (part, lanes) in thirds(x, words).into_iter().enumerate() {
                    _mm512_storeu_si512(dst.add(part * ROWS * b.width + col).cast(), lanes);
                }
            }
        }
    }
}
