//! Packed weights by a few columns, as in the deep layers of audio nets and behind global pools: vectors run
//! over output channels, because columns would fill only a part of one.

use crate::Isa;
use crate::gemm::{Panels, tile_shape};
use crate::simd::{LINE, Simd, SimdOp, dispatch};
use core::ops::Range;

/// Columns up to which this is used: a sum for each fits into registers with room for operands.
pub(super) const MAX_FEW: usize = 8;

/// Depths that are summed up before they are added to the rest: the rounding error of a sum grows with the
/// number of its terms, and cancellation behind a convolution (the spectra of audio nets) makes it visible.
const DEPTH: usize = 64;

/// Depths by which weights are asked for before they are needed. They are read once and come from far; a core waits for
/// one stream at half the speed that its memory has.
const AHEAD: usize = 64;

/// The operands of [`few`]: `m x k` weights and `n <= MAX_FEW` columns, which are read where they lie.
#[derive(Clone, Copy)]
pub(super) struct Few<'a> {
    /// Packed by [`crate::gemm::pack_a`].
    pub weights: &'a [f32],
    /// Column `j` at depth `p` is at `offsets[p] + bases[j]`.
    pub x: &'a [f32],
    /// As the bits of f32 numbers, `k` of them.
    pub offsets: &'a [f32],
    pub bases: [usize; MAX_FEW],
    /// Not below any of the offsets.
    pub largest: usize,
    pub bias: Option<&'a [f32]>,
    pub m: usize,
    pub n: usize,
    pub k: usize,
    /// Row `i` of column `j` goes to `i * row_stride + places[j]` of the output.
    pub places: [usize; MAX_FEW],
    pub row_stride: usize,
}

/// Writes `bias + weights columns` to `y`.
pub(super) fn few(isa: Isa, operands: Few<'_>, y: &mut [f32]) {
    let Few { weights, x, offsets, bases, largest, m, n, k, .. } = operands;
    assert!((1..=MAX_FEW).contains(&n) && weights.len() >= m * k, "operands of few columns");
    let reach = bases[..n].iter().max().map_or(0, |base| base + largest);
    assert!(k == 0 || (offsets.len() >= k && reach < x.len()), "columns of few columns");
    debug_assert!(offsets[..k].iter().all(|o| o.to_bits() as usize <= largest));
    dispatch(isa, Run { operands, y });
}

struct Run<'a> {
    operands: Few<'a>,
    y: &'a mut [f32],
}

impl SimdOp for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        // The depth is cut into as many interleaved sums as keep both FMA units busy.
        match self.operands.n {
            1 => s.call(Cols::<1, 8>(self)),
            2 => s.call(Cols::<2, 4>(self)),
            3 => s.call(Cols::<3, 2>(self)),
            4 => s.call(Cols::<4, 2>(self)),
            5 => s.call(Cols::<5, 1>(self)),
            6 => s.call(Cols::<6, 1>(self)),
            7 => s.call(Cols::<7, 1>(self)),
            _ => s.call(Cols::<8, 1>(self)),
        }
    }
}

struct Cols<'a, const N: usize, const U: usize>(Run<'a>);

impl<const N: usize, const U: usize> SimdOp for Cols<'_, N, U> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Run { operands, y } = self.0;
        let Few { weights, bias, m, k, places, row_stride, .. } = operands;
        let panels = Panels::new(m, const { tile_shape(S::ISA) }.rows);
        for panel in 0..panels.count {
            let (start, rows) = (panels.start(panel), panels.rows(panel));
            let weights = &weights[start * k..(start + rows) * k];
            let mut row = 0;
            while row < rows {
                let lanes = (rows - row).min(S::LANES);
                let mut sums = [[0.0f32; 16]; N];
                let mut acc = [s.zero(); N];
                for first in (0..k).step_by(DEPTH) {
                    let depths = first..(first + DEPTH).min(k);
                    let part = sum::<S, N, U>(s, &operands, weights, row, rows, lanes, depths);
                    for (acc, part) in acc.iter_mut().zip(part) {
                        *acc = s.add(*acc, part);
                    }
                }
                let at = start + row;
                let bias = match bias {
                    Some(bias) => s.load_part(&bias[at..at + lanes]),
                    None => s.zero(),
                };
                for (sums, acc) in sums.iter_mut().zip(acc) {
                    s.store(sums, s.add(acc, bias));
                }
                for i in 0..lanes {
                    for (place, sums) in places.iter().zip(&sums) {
                        y[(at + i) * row_stride + place] = sums[i];
                    }
                }
                row += lanes;
            }
        }
    }
}

/// Rows `row..row + lanes` of a panel by all columns, over a range of depths.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // operands of one inner loop
fn sum<S: Simd, const N: usize, const U: usize>(
    s: S,
    operands: &Few<'_>,
    weights: &[f32],
    row: usize,
    rows: usize,
    lanes: usize,
    depths: Range<usize>,
) -> [S::F32; N] {
    let Few { x, offsets, bases, k: whole, .. } = *operands;
    let Range { start: mut p, end: k } = depths;
    debug_assert!(
        k <= whole && row + lanes <= rows && weights.len() == rows * whole && lanes <= S::LANES
    );
    let mut acc = [[s.zero(); N]; U];
    // SAFETY: `p + u < k`, which is at most the whole depth; for each depth below that the weights hold `rows`
    // numbers, and the sum of its offset and any base is inside `x`, as `few` asserted.
    unsafe {
        while p + U <= k {
            let ahead = weights.as_ptr().wrapping_add((p + AHEAD) * rows);
            for line in (0..U * rows).step_by(LINE) {
                s.prefetch(ahead.wrapping_add(line));
            }
            for (u, acc) in acc.iter_mut().enumerate() {
                let w = s.load_part_ptr(weights.as_ptr().add((p + u) * rows + row), lanes);
                let at = offsets.get_unchecked(p + u).to_bits() as usize;
                for (j, acc) in acc.iter_mut().enumerate() {
                    *acc = s.fma(w, s.splat(*x.get_unchecked(bases[j] + at)), *acc);
                }
            }
            p += U;
        }
        while p < k {
            let w = s.load_part_ptr(weights.as_ptr().add(p * rows + row), lanes);
            let at = offsets.get_unchecked(p).to_bits() as usize;
            for (j, acc) in acc[0].iter_mut().enumerate() {
                *acc = s.fma(w, s.splat(*x.get_unchecked(bases[j] + at)), *acc);
            }
            p += 1;
        }
    }
    let mut total = acc[0];
    for part in &acc[1..] {
        for (t, x) in total.iter_mut().zip(part) {
            *t = s.add(*t, *x);
        }
    }
    total
}
