//! AVX-512 F, BW, VL and DQ: 16 lanes, 32 registers, masks in registers of their own.

use super::{Simd, SimdOp};
use crate::Isa;
use core::arch::x86_64::*;

/// Token for AVX-512; made only by [`run`].
#[derive(Clone, Copy)]
pub struct Avx512(());

/// Runs `op` compiled for AVX-512.
///
/// # Safety
/// The machine must have AVX-512 F, BW, VL and DQ, AVX2, FMA, F16C and POPCNT.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,popcnt")]
pub unsafe fn run<O: SimdOp>(op: O) -> O::Output {
    op.eval(Avx512(()))
}

/// Wraps intrinsics that need nothing but the instruction set.
macro_rules! pure {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> $ret {
            // SAFETY: the token exists only inside `run`, so the machine has the features.
            unsafe { $body }
        }
    )*};
}

#[inline(always)]
fn first(n: usize) -> __mmask16 {
    debug_assert!(n <= 16);
    ((1u32 << n) - 1) as __mmask16
}

impl Simd for Avx512 {
    const LANES: usize = 16;
    const REGISTERS: usize = 32;
    const ISA: Isa = Isa::Avx512;
    type F32 = __m512;
    type I32 = __m512i;
    type Mask = __mmask16;
    const BYTES: usize = 64;
    type I8 = __m512i;

    #[inline(always)]
    unsafe fn load_ptr(self, p: *const f32) -> __m512 {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_loadu_ps(p) }
    }
    #[inline(always)]
    unsafe fn store_ptr(self, p: *mut f32, v: __m512) {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_storeu_ps(p, v) }
    }
    #[inline(always)]
    unsafe fn load_part_ptr(self, p: *const f32, n: usize) -> __m512 {
        // SAFETY: lanes that the mask leaves out are not read, and do not fault.
        unsafe { _mm512_maskz_loadu_ps(first(n), p) }
    }
    #[inline(always)]
    unsafe fn store_part_ptr(self, p: *mut f32, v: __m512, n: usize) {
        // SAFETY: lanes that the mask leaves out are not written, and do not fault.
        unsafe { _mm512_mask_storeu_ps(p, first(n), v) }
    }
    #[inline(always)]
    unsafe fn load_i32_ptr(self, p: *const i32) -> __m512i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_loadu_si512(p.cast()) }
    }
    #[inline(always)]
    unsafe fn store_i32_ptr(self, p: *mut i32, v: __m512i) {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_storeu_si512(p.cast(), v) }
    }
    #[inline(always)]
    unsafe fn load_f16_ptr(self, p: *const u16) -> __m512 {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())) }
    }
    #[inline(always)]
    unsafe fn store_f16_ptr(self, p: *mut u16, v: __m512) {
        // SAFETY: the caller's promise, and the token's.
        unsafe {
            _mm256_storeu_si256(p.cast(), _mm512_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT }>(v));
        }
    }

    pure! {
        splat(x: f32) -> __m512 = _mm512_set1_ps(x);
        splat_i32(x: i32) -> __m512i = _mm512_set1_epi32(x);
        add(a: __m512, b: __m512) -> __m512 = _mm512_add_ps(a, b);
        sub(a: __m512, b: __m512) -> __m512 = _mm512_sub_ps(a, b);
        mul(a: __m512, b: __m512) -> __m512 = _mm512_mul_ps(a, b);
        div(a: __m512, b: __m512) -> __m512 = _mm512_div_ps(a, b);
        fma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fmadd_ps(a, b, c);
        fnma(a: __m512, b: __m512, c: __m512) -> __m512 = _mm512_fnmadd_ps(a, b, c);
        min(a: __m512, b: __m512) -> __m512 = _mm512_min_ps(a, b);
        max(a: __m512, b: __m512) -> __m512 = _mm512_max_ps(a, b);
        sqrt(a: __m512) -> __m512 = _mm512_sqrt_ps(a);
        round(a: __m512) -> __m512 =
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
        floor(a: __m512) -> __m512 =
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(a);
        ceil(a: __m512) -> __m512 =
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(a);
        trunc(a: __m512) -> __m512 =
            _mm512_roundscale_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(a);
        lt(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b);
        le(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b);
        eq(a: __m512, b: __m512) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b);
        select(m: __mmask16, a: __m512, b: __m512) -> __m512 = _mm512_mask_blend_ps(m, b, a);
        select_i32(m: __mmask16, a: __m512i, b: __m512i) -> __m512i =
            _mm512_mask_blend_epi32(m, b, a);
        to_i32(a: __m512) -> __m512i = _mm512_cvtps_epi32(a);
        to_i32_trunc(a: __m512) -> __m512i = _mm512_cvttps_epi32(a);
        to_f32(a: __m512i) -> __m512 = _mm512_cvtepi32_ps(a);
        bits(a: __m512) -> __m512i = _mm512_castps_si512(a);
        bits_to_f32(a: __m512i) -> __m512 = _mm512_castsi512_ps(a);
        add_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        sub_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi32(a, b);
        mul_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_mullo_epi32(a, b);
        and_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        or_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        xor_i32(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        eq_i32(a: __m512i, b: __m512i) -> __mmask16 = _mm512_cmpeq_epi32_mask(a, b);
        gt_i32(a: __m512i, b: __m512i) -> __mmask16 = _mm512_cmpgt_epi32_mask(a, b);
        sum(a: __m512) -> f32 = _mm512_reduce_add_ps(a);
        max_lane(a: __m512) -> f32 = _mm512_reduce_max_ps(a);
        min_lane(a: __m512) -> f32 = _mm512_reduce_min_ps(a);
    }

    #[inline(always)]
    fn mask_and(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }
    #[inline(always)]
    fn mask_or(self, a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }
    #[inline(always)]
    fn mask_not(self, a: __mmask16) -> __mmask16 {
        !a
    }
    #[inline(always)]
    fn any(self, m: __mmask16) -> bool {
        m != 0
    }
    #[inline(always)]
    fn shl_i32<const N: i32>(self, a: __m512i) -> __m512i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm512_sll_epi32(a, _mm_cvtsi32_si128(N)) }
    }
    #[inline(always)]
    fn shr_i32<const N: i32>(self, a: __m512i) -> __m512i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm512_srl_epi32(a, _mm_cvtsi32_si128(N)) }
    }
    #[inline(always)]
    fn count(self, m: Self::Mask) -> u32 {
        m.count_ones()
    }
    #[inline(always)]
    unsafe fn load_i8_ptr(self, p: *const i8) -> __m512i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_loadu_si512(p.cast()) }
    }
    #[inline(always)]
    unsafe fn store_i8_ptr(self, p: *mut i8, v: __m512i) {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_storeu_si512(p.cast(), v) }
    }
    #[inline(always)]
    fn splat_i8(self, x: i8) -> __m512i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm512_set1_epi8(x) }
    }
    #[inline(always)]
    fn replace_i8(self, a: __m512i, b: __m512i, x: __m512i, y: __m512i, z: __m512i) -> __m512i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe {
            let same = _mm512_cmpeq_epi8_mask(a, b);
            _mm512_mask_mov_epi8(a, _mm512_mask_cmpgt_epi8_mask(same, x, y), z)
        }
    }
    #[inline(always)]
    fn call<O: SimdOp>(self, op: O) -> O::Output {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { run(op) }
    }
    #[inline(always)]
    fn prefetch(self, p: *const f32) {
        // SAFETY: a prefetch does not fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
    }

    #[inline(always)]
    fn prefetch_far(self, p: *const f32) {
        // SAFETY: a prefetch does not fault, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    #[inline(always)]
    fn scale2(self, a: __m512, n: __m512) -> __m512 {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm512_scalef_ps(a, n) }
    }
}
