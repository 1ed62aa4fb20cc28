//! From f32 to bf16 and back, a vector at a time.

use crate::simd::{Simd, SimdOp};

/// The bits of the upper half of each lane.
const UPPER: i32 = -0x1_0000;

/// Each lane rounded to bf16 (to nearest, ties to even) as the bits of an f32, whose lower half is zero. NaN stays NaN.
#[inline(always)]
pub fn rounded<S: Simd>(s: S, x: S::F32) -> S::I32 {
    let bits = s.bits(x);
    let odd = s.and_i32(s.shr_i32::<16>(bits), s.splat_i32(1));
    let nearest = s.add_i32(s.add_i32(bits, s.splat_i32(0x7fff)), odd);
    // Cutting a NaN could leave an infinity, and rounding it a zero.
    let quiet = s.or_i32(bits, s.splat_i32(0x0040_0000));
    s.and_i32(s.select_i32(s.eq(x, x), nearest, quiet), s.splat_i32(UPPER))
}

/// Two vectors as bf16: `even` in the lower halves of the lanes, `odd` in the upper ones.
#[inline(always)]
pub fn paired<S: Simd>(s: S, even: S::F32, odd: S::F32) -> S::I32 {
    s.or_i32(s.shr_i32::<16>(rounded(s, even)), rounded(s, odd))
}

/// The lower halves of the lanes, widened.
#[inline(always)]
pub fn even<S: Simd>(s: S, pairs: S::I32) -> S::F32 {
    s.bits_to_f32(s.shl_i32::<16>(pairs))
}

/// The upper halves of the lanes, widened.
#[inline(always)]
pub fn odd<S: Simd>(s: S, pairs: S::I32) -> S::F32 {
    s.bits_to_f32(s.and_i32(pairs, s.splat_i32(UPPER)))
}

/// Pairs the rows `2 q` and `2 q + 1` of `width` numbers, at the beginning of `to`.
pub struct Pair<'a> {
    pub rows: &'a [f32],
    pub width: usize,
    pub to: &'a mut [u32],
}

impl SimdOp for Pair<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let width = self.width;
        debug_assert!(width.is_multiple_of(S::LANES));
        for (two, to) in self.rows.chunks_exact(2 * width).zip(self.to.chunks_exact_mut(width)) {
            let mut j = 0;
            while j < width {
                // SAFETY: whole vectors of `width` numbers, a multiple of the lanes.
                unsafe {
                    let x = s.load_ptr(two.as_ptr().add(j));
                    let y = s.load_ptr(two.as_ptr().add(width + j));
                    s.store_i32_ptr(to.as_mut_ptr().add(j).cast(), paired(s, x, y));
                }
                j += S::LANES;
            }
        }
    }
}

/// Rounds numbers where they lie; they stay f32.
pub struct Round<'a>(pub &'a mut [f32]);

impl SimdOp for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let mut chunks = self.0.chunks_exact_mut(S::LANES);
        for x in &mut chunks {
            let y = s.bits_to_f32(rounded(s, s.load(x)));
            s.store(x, y);
        }
        let rest = chunks.into_remainder();
        let y = s.bits_to_f32(rounded(s, s.load_part(rest)));
        s.store_part(rest, y);
    }
}

/// Pairs the rows of a panel of `A`, `rows <= LANES` numbers each, where it lies: pair `q` begins at `q rows`.
pub struct PairInPlace<'a> {
    pub panel: &'a mut [f32],
    pub rows: usize,
}

impl SimdOp for PairInPlace<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let (rows, len) = (self.rows, self.panel.len());
        debug_assert!((1..=S::LANES).contains(&rows) && len.is_multiple_of(2 * rows));
        let p = self.panel.as_mut_ptr();
        for q in 0..len / (2 * rows) {
            let (from, to) = (2 * q * rows, q * rows);
            // Stores of parts of vectors take many times as long as those of whole ones: wherever what
            // lies behind has been read already and the vectors end inside the panel, they are whole.
            let is_inside = from + rows + S::LANES <= len;
            let n = if is_inside && to + S::LANES <= from + 2 * rows { S::LANES } else { rows };
            // SAFETY: rows 2 q and 2 q + 1 exist, and `n` numbers of the second end inside the panel; pair q
            // ends before row 2 q + 2, the next that is read.
            unsafe {
                let (x, y) = if n == rows {
                    (s.load_part_ptr(p.add(from), n), s.load_part_ptr(p.add(from + rows), n))
                } else {
                    (s.load_ptr(p.add(from)), s.load_ptr(p.add(from + rows)))
                };
                let pair = s.bits_to_f32(paired(s, x, y));
                if n == rows {
                    s.store_part_ptr(p.add(to), pair, n);
                } else {
                    s.store_ptr(p.add(to), pair);
                }
            }
        }
    }
}
