//! A few queries, as when text is generated: each reads all keys and values once.

use super::{Attention, Sizes};
use crate::gemm::{Activation, activate};

use crate::gemm::dot::Dots;
use crate::gemm::epilogue::Epilogue;
use crate::gemm::vector::Vector;
use crate::simd::{Simd, SimdOp};
use crate::softmax::{exp_sum, row_max};

/// One score per key.
pub fn scratch_len(sizes: Sizes) -> usize {
    sizes.keys
}

pub struct Few<'a, 'b> {
    pub sizes: Sizes,
    pub job: &'a Attention<'b>,
    pub out: &'a mut [f32],
    pub out_stride: usize,
    pub scores: &'a mut [f32],
}

impl SimdOp for Few<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Few { sizes, job, out, out_stride, scores } = self;
        for i in 0..sizes.queries {
            let out = &mut out[i * out_stride..][..sizes.value_width];
            let keys = job.visible(i, sizes.keys);
            if keys == 0 {
                out.fill(0.0);
                continue;
            }
            let scores = &mut scores[..keys];
            // SAFETY: check() has seen that row i of Q and `keys` rows of K exist.
            s.call(Dots {
                rows: 1,
                cols: keys,
                depth: sizes.width,
                a: job.q.data[i * job.q.row_stride..].as_ptr(),
                a_row: 0,
                b: job.k.data.as_ptr(),
                b_col: job.k.row_stride,
                c: scores.as_mut_ptr(),
                c_stride: 0,
                epilogue: Epilogue { alpha: job.scale, ..Epilogue::default() }.raw(),
                is_turned: false,
            });
            if let Some(cap) = job.softcap {
                soften(s, scores, cap);
            }
            if let Some(mask) = job.mask {
                let mask = &mask.data[i * mask.row_stride..][..keys];
                for (x, m) in scores.iter_mut().zip(mask) {
                    *x += m;
                }
            }
            // SAFETY: scores has `keys` numbers.
            let sum = unsafe {
                let max = row_max(s, scores.as_ptr(), keys);
                let max = if max == f32::NEG_INFINITY { 0.0 } else { max };
                exp_sum::<S, true, true>(s, scores.as_ptr(), scores.as_mut_ptr(), keys, max)
            };
            let alpha = if sum == 0.0 { 0.0 } else { 1.0 / sum };
            s.call(Vector {
                rows: 1,
                depth: keys,
                a: scores.as_ptr(),
                a_row: 0,
                a_col: 1,
                b: job.v.data.as_ptr(),
                group_stride: 2 * S::LANES,
                depth_stride: job.v.row_stride,
                c: out.as_mut_ptr(),
                c_stride: 0,
                cols: sizes.value_width,
                epilogue: Epilogue { alpha, ..Epilogue::default() }.raw(),
            });
        }
    }
}

/// `cap tanh(x / cap)`
#[inline(always)]
pub fn soften<S: Simd>(s: S, x: &mut [f32], cap: f32) {
    for x in x.chunks_mut(S::LANES) {
        let y = activate(s, Activation::Tanh, s.div(s.load_part(x), s.splat(cap)));
        s.store_part(x, s.mul(y, s.splat(cap)));
    }
}
