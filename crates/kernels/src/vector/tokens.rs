//! The best match of each of a few vectors among many, by dot product.

use crate::Isa;
use crate::simd::{Simd, SimdOp, dispatch};

/// The few vectors are padded to a multiple of this many: the lanes of the widest instruction set.
pub const LANES: usize = 16;

/// How many numbers [`lanes`] writes for `count` vectors of `length` numbers.
#[must_use]
pub fn lanes_len(count: usize, length: usize) -> usize {
    count.next_multiple_of(LANES) * length
}

/// Lays `count` vectors of `length` numbers, which lie behind each other, side by side: the first numbers of all, padded
/// with 0 to a multiple of [`LANES`], then the second numbers of all.
///
/// # Panics
/// If the lengths do not fit.
pub fn lanes(count: usize, length: usize, vectors: &[f32], out: &mut [f32]) {
    assert_eq!(vectors.len(), count * length, "the numbers of the vectors");
    assert_eq!(out.len(), lanes_len(count, length), "the room for them");
    out.fill(0.0);
    let padded = count.next_multiple_of(LANES);
    for (lane, vector) in vectors.chunks_exact(length.max(1)).enumerate() {
        for (k, x) in vector.iter().enumerate() {
            out[k * padded + lane] = *x;
        }
    }
}

/// For each vector of `few`, which [`lanes`] has laid side by side, the largest dot product with a vector of `many`,
/// where it is larger than what `best` holds. `best` has a number for each lane.
///
/// # Panics
/// If the lengths do not fit.
pub fn tokens(isa: Isa, length: usize, few: &[f32], many: &[f32], best: &mut [f32]) {
    assert!(length > 0, "vectors without numbers");
    assert_eq!(best.len() % LANES, 0, "a number for each lane");
    assert_eq!(few.len(), best.len() * length, "the numbers of the few");
    assert_eq!(many.len() % length, 0, "the numbers of the many");
    dispatch(isa, Tokens { length, few, many, best });
}

struct Tokens<'a> {
    length: usize,
    few: &'a [f32],
    many: &'a [f32],
    best: &'a mut [f32],
}

impl SimdOp for Tokens<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(mut self, s: S) {
        let padded = self.best.len();
        let mut lane = 0;
        // Two vectors of lanes for each number of a document that is read; one where no second is left.
        while lane + 2 * S::LANES <= padded {
            // SAFETY: the lanes are within `padded`, and the lengths were checked by `tokens`.
            unsafe { self.column::<S, 2>(s, lane) };
            lane += 2 * S::LANES;
        }
        while lane < padded {
            // SAFETY: as above; S::LANES divides LANES.
            unsafe { self.column::<S, 1>(s, lane) };
            lane += S::LANES;
        }
    }
}

impl Tokens<'_> {
    /// All of the many against `V` vectors of lanes.
    ///
    /// # Safety
    /// `lane + V * S::LANES <= best.len()`, and the lengths must fit.
    #[inline(always)]
    unsafe fn column<S: Simd, const V: usize>(&mut self, s: S, lane: usize) {
        let count = self.many.len() / self.length;
        let mut best = [s.zero(); V];
        // SAFETY: by the contract the lanes exist; a token from at on has `length` numbers.
        unsafe {
            for (v, best) in best.iter_mut().enumerate() {
                *best = s.load_ptr(self.best.as_ptr().add(lane + v * S::LANES));
            }
            let mut at = 0;
            if S::REGISTERS >= 32 {
                while at + 12 <= count {
                    self.tile::<S, 12, V>(s, lane, at, &mut best);
                    at += 12;
                }
            }
            while at + 6 <= count {
                self.tile::<S, 6, V>(s, lane, at, &mut best);
                at += 6;
            }
            while at + 2 <= count {
                self.tile::<S, 2, V>(s, lane, at, &mut best);
                at += 2;
            }
            if at < count {
                self.tile::<S, 1, V>(s, lane, at, &mut best);
            }
            for (v, best) in best.iter().enumerate() {
                s.store_ptr(self.best.as_mut_ptr().add(lane + v * S::LANES), *best);
            }
        }
    }

    /// `T` of the many against `V` vectors of lanes.
    ///
    /// # Safety
    /// As for `column`, and `at + T` of the many exist.
    #[inline(always)]
    unsafe fn tile<S: Simd, const T: usize, const V: usize>(
        &self,
        s: S,
        lane: usize,
        at: usize,
        best: &mut [S::F32; V],
    ) {
        let padded = self.best.len();
        let mut sums = [[s.zero(); V]; T];
        // SAFETY: k stays below the length of each vector.
        unsafe {
            let mut few = self.few.as_ptr().add(lane);
            let many = self.many.as_ptr().add(at * self.length);
            let next = many.wrapping_add(T * self.length);
            for k in 0..self.length {
                // The vectors of the next tile, a little at each turn.
                s.prefetch(next.wrapping_add(k * T));
                let mut xs = [s.zero(); V];
                for (v, x) in xs.iter_mut().enumerate() {
                    *x = s.load_ptr(few.add(v * S::LANES));
                }
                for (t, sums) in sums.iter_mut().enumerate() {
                    let y = s.splat(*many.add(t * self.length + k));
                    for (sum, x) in sums.iter_mut().zip(xs) {
                        *sum = s.fma(x, y, *sum);
                    }
                }
                few = few.wrapping_add(padded);
            }
        }
        for sums in sums {
            for (best, sum) in best.iter_mut().zip(sums) {
                // The second operand stays where the first is NaN, as in a fold that asks whether it is larger.
                *best = s.max(sum, *best);
            }
        }
    }
}
