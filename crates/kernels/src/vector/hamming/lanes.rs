//! Best matches with an instruction that counts the bits of eight words at once.

use core::arch::x86_64::*;

use super::{LANES, Tokens};

/// As [`super::hamming_tokens`]. Vectors of the usual lengths keep the few in registers: as many panels of lanes at a time as
/// have room there.
///
/// # Safety
/// The machine must have AVX-512 F, BW, VL, DQ and VPOPCNTDQ.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,fma,f16c")]
pub unsafe fn tokens<const IS_LEAST: bool>(tokens: Tokens<'_, IS_LEAST>) {
    // SAFETY: the contract of this function is that of each.
    unsafe {
        match tokens.bytes {
            8 => all::<IS_LEAST, 1, 8>(tokens),
            16 => all::<IS_LEAST, 2, 4>(tokens),
            32 => all::<IS_LEAST, 4, 4>(tokens),
            64 => all::<IS_LEAST, 8, 2>(tokens),
            _ => tokens.any(),
        }
    }
}

/// Vectors of `W` words, `P` panels at a time and the rest one by one.
///
/// # Safety
/// As for [`tokens`]; `bytes` is `8 * W`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,fma,f16c")]
unsafe fn all<const IS_LEAST: bool, const W: usize, const P: usize>(
    mut tokens: Tokens<'_, IS_LEAST>,
) {
    let padded = tokens.best.len();
    debug_assert!(tokens.bytes == 8 * W && tokens.few.len() == padded * W);
    let mut lane = 0;
    // SAFETY: the lanes are below `padded`, which is a multiple of LANES.
    unsafe {
        while lane + P * LANES <= padded {
            some::<IS_LEAST, W, P>(&mut tokens, lane);
            lane += P * LANES;
        }
        while lane < padded {
            some::<IS_LEAST, W, 1>(&mut tokens, lane);
            lane += LANES;
        }
    }
}

/// `P` panels of lanes from one on.
///
/// # Safety
/// As for [`all`]; `lane + P * LANES` lanes exist.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vpopcntdq,avx2,fma,f16c")]
unsafe fn some<const IS_LEAST: bool, const W: usize, const P: usize>(
    tokens: &mut Tokens<'_, IS_LEAST>,
    lane: usize,
) {
    let padded = tokens.best.len();
    let best = tokens.best.as_mut_ptr();
    // SAFETY: word w of lane l is at w * padded + l in `few`, and `best` has `padded` numbers.
    unsafe {
        let mut few = [[_mm512_setzero_si512(); W]; P];
        let mut extremes = [_mm512_setzero_si512(); P];
        for (p, (few, extreme)) in few.iter_mut().zip(&mut extremes).enumerate() {
            let lane = lane + p * LANES;
            *extreme = _mm512_loadu_si512(best.add(lane).cast());
            for (w, few) in few.iter_mut().enumerate() {
                *few = _mm512_loadu_si512(tokens.few.as_ptr().add(w * padded + lane).cast());
            }
        }
        let (words, _) = tokens.many.as_chunks::<8>();
        let (many, _) = words.as_chunks::<W>();
        for token in many {
            let mut sums = [_mm512_setzero_si512(); P];
            for (w, word) in token.iter().enumerate() {
                let word = _mm512_set1_epi64(i64::from_le_bytes(word.map(|b| b as u8)));
                for (few, sum) in few.iter().zip(&mut sums) {
                    let differ = _mm512_popcnt_epi64(_mm512_xor_si512(few[w], word));
                    *sum = if w == 0 { differ } else { _mm512_add_epi64(*sum, differ) };
                }
            }
            for (extreme, sum) in extremes.iter_mut().zip(sums) {
                *extreme = match IS_LEAST {
                    true => _mm512_min_epu64(*extreme, sum),
                    false => _mm512_max_epu64(*extreme, sum),
                };
            }
        }
        for (p, extreme) in extremes.into_iter().enumerate() {
            _mm512_storeu_si512(best.add(lane + p * LANES).cast(), extreme);
        }
    }
}
