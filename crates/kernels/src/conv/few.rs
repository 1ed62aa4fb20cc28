//! Packed weights by a few columns, as in the deep layers of audio nets and behind global pools: vectors run
//! over output channels, because columns would fill only a part of one.

use crate::Isa;
use crate::gemm::{Activation, Panels, activate_slice, tile_shape};
use crate::simd::{Simd, SimdOp, dispatch};
use core::ops::Range;

/// Columns up to which this is used: a sum for each fits into registers with room for operands.
pub(super) const MAX_FEW: usize = 8;

/// Depths that are summed up before they are added to the rest: the rounding error of a sum grows with the
/// number of its terms, and cancellation behind a convolution (the spectra of audio nets) makes it visible.
const DEPTH: usize = 64;

/// The operands of [`few`].
#[derive(Clone, Copy)]
pub(super) struct Few<'a> {
    /// `m x k`, packed by [`crate::gemm::pack_a`].
    pub weights: &'a [f32],
    /// Column `j` at depth `p` is at `p * stride + j`.
    pub cols: &'a [f32],
    pub stride: usize,
    pub bias: Option<&'a [f32]>,
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

/// `y = act(bias + weights cols)` for `n <= MAX_FEW` columns; `y` is `m x n` row-major.
pub(super) fn few(isa: Isa, operands: Few<'_>, activation: Activation, y: &mut [f32]) {
    let Few { weights, cols, stride, m, n, k, .. } = operands;
    assert!((1..=MAX_FEW).contains(&n) && weights.len() >= m * k, "operands of few columns");
    assert!(k == 0 || cols.len() >= (k - 1) * stride + n, "columns of few columns");
    let y = &mut y[..m * n];
    dispatch(isa, Run { operands, y });
    activate_slice(isa, activation, y);
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
        let Few { weights, bias, m, k, .. } = operands;
        let panels = Panels::new(m, const { tile_shape(S::ISA) }.rows);
        for panel in 0..panels.count {
            let (start, rows) = (panels.start(panel), panels.rows(panel));
            let weights = &weights[start * k..(start + rows) * k];
            let mut row = 0;
            while row < rows {
                let lanes = (rows - row).min(S::LANES);
                let mut sums = [0.0f32; 16];
                let mut acc = [s.zero(); N];
                for first in (0..k).step_by(DEPTH) {
                    let depths = first..(first + DEPTH).min(k);
                    let part = sum::<S, N, U>(s, &operands, weights, row, rows, lanes, depths);
                    for (acc, part) in acc.iter_mut().zip(part) {
                        *acc = s.add(*acc, part);
                    }
                }
                for (j, acc) in acc.into_iter().enumerate() {
                    s.store(&mut sums, acc);
                    for (i, sum) in sums.iter().enumerate().take(lanes) {
                        let at = start + row + i;
                        y[at * N + j] = sum + bias.map_or(0.0, |bias| bias[at]);
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
    let Few { cols, stride, k: whole, .. } = *operands;
    let Range { start: mut p, end: k } = depths;
    debug_assert!(
        k <= whole && row + lanes <= rows && weights.len() == rows * whole && lanes <= S::LANES
    );
    let mut acc = [[s.zero(); N]; U];
    // SAFETY: `p + u < k`, which is at most the whole depth; the weights hold `rows` numbers and the columns
    // `N` for each depth below that, as `few` asserted.
    unsafe {
        while p + U <= k {
            for (u, acc) in acc.iter_mut().enumerate() {
                let w = s.load_part_ptr(weights.as_ptr().add((p + u) * rows + row), lanes);
                let x = cols.as_ptr().add((p + u) * stride);
                for (j, acc) in acc.iter_mut().enumerate() {
                    *acc = s.fma(w, s.splat(*x.add(j)), *acc);
                }
            }
            p += U;
        }
        while p < k {
            let w = s.load_part_ptr(weights.as_ptr().add(p * rows + row), lanes);
            let x = cols.as_ptr().add(p * stride);
            for (j, acc) in acc[0].iter_mut().enumerate() {
                *acc = s.fma(w, s.splat(*x.add(j)), *acc);
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
