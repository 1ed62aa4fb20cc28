//! Attention by products of bf16, for models whose weights are rounded to it: queries, keys, values and the weights of keys
//! are rounded too, all sums are f32. Only on tiles of AMX, which make both products in a fraction of the time of f32.

use super::{Attention, FEW, Sizes};
use crate::gemm::{
    Epilogue, Lhs, MatRef, Residual, Rhs, gemm, gemm_scratch_len, half_len, pack_half, pays_in_half,
};
use crate::simd::{Simd, SimdOp, dispatch};
use crate::softmax::{exp_sum, row_max, scale};
use crate::{Isa, Serial};

/// Queries whose scores are held at a time: 64 KiB of them for each 128 keys.
const QUERIES: usize = 128;

/// Whether products of these sizes gain.
pub fn pays(isa: Isa, z: Sizes) -> bool {
    let columns = pays_in_half(z.keys) && pays_in_half(z.value_width);
    isa.effective() == Isa::Amx && z.queries > FEW && z.width > 0 && columns
}

/// Numbers of scratch that [`attention`] needs.
pub fn scratch_len(isa: Isa, z: Sizes) -> usize {
    let Layout { keys, values, rows, product } = Layout::new(isa, z);
    keys + values + rows * (z.keys + 1) + product
}

/// Scratch, in order: packed keys, packed values, the scores and sums of `rows` queries, and what a product needs.
struct Layout {
    keys: usize,
    values: usize,
    rows: usize,
    product: usize,
}

impl Layout {
    fn new(isa: Isa, z: Sizes) -> Layout {
        let rows = z.queries.min(QUERIES);
        let of = |n, k| {
            let a = Lhs::Strided(MatRef::rows(&[], k));
            gemm_scratch_len(isa, rows, n, k, &a, &Rhs::Half(&[]))
        };
        Layout {
            keys: half_len(isa, z.width, z.keys),
            values: half_len(isa, z.keys, z.value_width),
            rows,
            product: of(z.keys, z.width).max(of(z.value_width, z.keys)),
        }
    }
}

/// As [`super::attention`], for what [`pays`], without softcap and causal order.
pub fn attention(
    isa: Isa,
    z: Sizes,
    job: &Attention<'_>,
    out: &mut [f32],
    out_stride: usize,
    scratch: &mut [f32],
) {
    debug_assert!(job.softcap.is_none() && job.causal.is_none());
    job.check(z);
    let layout = Layout::new(isa, z);
    let (keys, rest) = scratch.split_at_mut(layout.keys);
    let (values, rest) = rest.split_at_mut(layout.values);
    let (scores, rest) = rest.split_at_mut(layout.rows * z.keys);
    let (sums, product) = rest.split_at_mut(layout.rows);
    let (keys, values) = (bytemuck::cast_slice_mut(keys), bytemuck::cast_slice_mut(values));
    let turned = MatRef { row_stride: 1, col_stride: job.k.row_stride, ..job.k };
    pack_half(isa, z.width, z.keys, turned, keys);
    pack_half(isa, z.keys, z.value_width, job.v, values);
    for first in (0..z.queries).step_by(layout.rows) {
        let count = (z.queries - first).min(layout.rows);
        let q = MatRef { data: &job.q.data[first * job.q.row_stride..], ..job.q };
        let mask = |m: super::Mask<'_>| m.row_stride == 0;
        let epilogue = Epilogue {
            alpha: job.scale,
            bias_col: job.mask.filter(|m| mask(*m)).map(|m| m.data),
            residual: job.mask.filter(|m| !mask(*m)).map(|m| Residual {
                data: &m.data[first * m.row_stride..],
                row_stride: m.row_stride,
                scale: 1.0,
            }),
            ..Epilogue::default()
        };
        let (q, b, n) = (Lhs::Strided(q), Rhs::Half(keys), z.keys);
        gemm(isa, &Serial, count, n, z.width, q, b, scores, n, &epilogue, product);
        let scores = &mut scores[..count * n];
        dispatch(isa, Weights { scores, cols: n, sums });
        let (a, b, n) = (Lhs::Strided(MatRef::rows(scores, n)), Rhs::Half(values), z.value_width);
        let out = &mut out[first * out_stride..];
        let e = Epilogue::default();
        gemm(isa, &Serial, count, n, z.keys, a, b, out, out_stride, &e, product);
        dispatch(isa, Divide { out, out_stride, cols: n, sums: &sums[..count] });
    }
}

/// Turns rows of scores into weights, whose sums are written down: e to the power of what each is below the largest.
struct Weights<'a> {
    scores: &'a mut [f32],
    cols: usize,
    sums: &'a mut [f32],
}

impl SimdOp for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        for (row, sum) in self.scores.chunks_exact_mut(self.cols).zip(self.sums) {
            // SAFETY: the row has as many numbers.
            unsafe {
                let max = row_max(s, row.as_ptr(), row.len());
                // Of a query that sees no key all weights are e^(-inf - 0) = 0.
                let max = if max == f32::NEG_INFINITY { 0.0 } else { max };
                *sum = exp_sum::<S, true, true>(s, row.as_ptr(), row.as_mut_ptr(), row.len(), max);
            }
        }
    }
}

/// Divides each row by its sum; one that has none is zero.
struct Divide<'a> {
    out: &'a mut [f32],
    out_stride: usize,
    cols: usize,
    sums: &'a [f32],
}

impl SimdOp for Divide<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        for (row, &sum) in self.out.chunks_mut(self.out_stride).zip(self.sums) {
            let row = &mut row[..self.cols];
            let factor = if sum == 0.0 { 0.0 } else { 1.0 / sum };
            // SAFETY: the row has as many numbers.
            unsafe { scale(s, row.as_mut_ptr(), row.len(), factor) }
        }
    }
}
