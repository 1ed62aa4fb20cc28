//! The tile by `vdpbf16ps`: each lane adds the products of two pairs of bf16 to its sum.

use super::super::tile::finish;
use super::tile::Operands;
use crate::simd::Avx512;
use core::arch::x86_64::*;
use core::mem::transmute;

/// Pairs of rows by which `B` is asked for before it is needed.
const AHEAD: usize = 16;

/// `MR` rows by `NV` vectors.
///
/// # Safety
/// As [`super::tile::tile`]; the machine must have AVX-512 F, BW, VL, DQ and BF16, AVX2, FMA, F16C and POPCNT.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,avx2,fma,f16c,popcnt")]
pub unsafe fn tile<const MR: usize, const NV: usize>(t: Operands) {
    // SAFETY: the machine has what the token stands for.
    let s = unsafe { Avx512::new() };
    let mut acc = [[_mm512_setzero_ps(); NV]; MR];
    let (mut a, mut b, mut later) = (t.a.cast::<i32>(), t.b, t.later.at);
    for _ in 0..t.pairs {
        // SAFETY: `a` has MR lanes and `b` NV vectors at each of `pairs` strides; prefetches do not fault.
        unsafe {
            let mut bv = [_mm512_setzero_si512(); NV];
            for (v, bv) in bv.iter_mut().enumerate() {
                _mm_prefetch::<_MM_HINT_T1>(later.wrapping_add(v * 16).cast());
                _mm_prefetch::<_MM_HINT_T0>(b.wrapping_add(v * 16 + AHEAD * t.b_stride).cast());
                *bv = _mm512_loadu_si512(b.add(v * 16).cast());
            }
            for (i, row) in acc.iter_mut().enumerate() {
                let x = transmute::<__m512i, __m512bh>(_mm512_set1_epi32(*a.add(i)));
                for (v, sum) in row.iter_mut().enumerate() {
                    *sum = _mm512_dpbf16_ps(*sum, x, transmute::<__m512i, __m512bh>(bv[v]));
                }
            }
        }
        later = later.wrapping_add(t.later.step);
        a = a.wrapping_add(MR);
        b = b.wrapping_add(t.b_stride);
    }
    // SAFETY: the tile's part of C and of the epilogue's operands exists.
    unsafe { finish(s, acc, t.c, t.c_stride, t.cols, t.epilogue) }
}
