//! AVX-512 F, BW, VL and DQ: 16 lanes, 32 registers, masks in registers of their own.

use super::vector::PAIR;
use super::{Arithmetic, Simd, SimdOp};
use crate::Isa;
use core::arch::x86_64::*;

/// Token for AVX-512, with VNNI or without; made only by [`run`], [`run_vnni`] and [`Avx512::new`].
#[derive(Clone, Copy)]
pub struct Avx512<const VNNI: bool = false>(());

impl Avx512<false> {
    /// The token for functions that are compiled for more than [`run`] is.
    ///
    /// # Safety
    /// The machine must have what [`run`] needs, and the caller be compiled for it.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Avx512<false> {
        Avx512(())
    }
}

/// Runs `op` compiled for AVX-512.
///
/// # Safety
/// The machine must have AVX-512 F, BW, VL and DQ, AVX2, FMA, F16C and POPCNT.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c,popcnt")]
pub unsafe fn run<O: SimdOp>(op: O) -> O::Output {
    op.eval(Avx512::<false>(()))
}

/// Runs `op` compiled for AVX-512 with VNNI.
///
/// # Safety
/// As for [`run`], and the machine must have AVX-512 VNNI.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx2,fma,f16c,popcnt")]
pub unsafe fn run_vnni<O: SimdOp>(op: O) -> O::Output {
    op.eval(Avx512::<true>(()))
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

impl<const VNNI: bool> Arithmetic for Avx512<VNNI> {
    type F32 = __m512;
    type I32 = __m512i;
    type Mask = __mmask16;

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
    fn scale2(self, a: __m512, n: __m512) -> __m512 {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm512_scalef_ps(a, n) }
    }
}

impl<const VNNI: bool> Simd for Avx512<VNNI> {
    const LANES: usize = 16;
    const REGISTERS: usize = 32;
    const ISA: Isa = Isa::Avx512;
    const DOT4: bool = VNNI;
    const DOT4_LOW: bool = !VNNI;
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
        dot2(sums: __m512i, a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(sums, _mm512_madd_epi16(a, b));
        add_neighbours(a: __m512i, b: __m512i) -> __m512i = {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
            _mm512_add_epi32(
                _mm512_permutex2var_epi32(a, even, b),
                _mm512_permutex2var_epi32(a, odd, b),
            )
        };
        splat_i64(x: i64) -> __m512i = _mm512_set1_epi64(x);
        sum(a: __m512) -> f32 = _mm512_reduce_add_ps(a);
        max_lane(a: __m512) -> f32 = _mm512_reduce_max_ps(a);
        min_lane(a: __m512) -> f32 = _mm512_reduce_min_ps(a);
    }
    #[inline(always)]
    fn any(self, m: __mmask16) -> bool {
        m != 0
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
    fn dot4(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the token exists only inside `run`, so the machine has the features, and with VNNI inside `run_vnni`.
        unsafe {
            if VNNI {
                return _mm512_dpbusd_epi32(sums, a, b);
            }
            // Bytes 0 and 2 of each lane, and bytes 1 and 3, as numbers of 16 bits.
            let even = _mm512_madd_epi16(
                _mm512_and_si512(a, _mm512_set1_epi16(0xff)),
                _mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(b)),
            );
            let odd = _mm512_madd_epi16(_mm512_srli_epi16::<8>(a), _mm512_srai_epi16::<8>(b));
            _mm512_add_epi32(_mm512_add_epi32(sums, even), odd)
        }
    }
    #[inline(always)]
    fn dot4_low(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the token exists only inside `run`, so the machine has the features, and with VNNI inside `run_vnni`.
        unsafe {
            if VNNI {
                return _mm512_dpbusd_epi32(sums, a, b);
            }
            // Sums of two products fit 16 bits, as the caller promises.
            let pairs = _mm512_maddubs_epi16(a, b);
            _mm512_add_epi32(sums, _mm512_madd_epi16(pairs, _mm512_set1_epi16(1)))
        }
    }
    #[inline(always)]
    unsafe fn widen_bytes_ptr(self, p: *const i8) -> __m512i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_cvtepi8_epi16(_mm256_loadu_si256(p.cast())) }
    }
    #[inline(always)]
    fn mul_add_bytes(self, sums: __m512i, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: the token exists only inside `run`, so the machine has the features, and with VNNI inside `run_vnni`.
        unsafe {
            if VNNI {
                return _mm512_dpbusd_epi32(sums, a, b);
            }
        }
        // The upper halves of `a` are 0.
        self.dot2(sums, a, b)
    }
    #[inline(always)]
    fn split_bytes(self, bytes: __m512i, from: u8, most: __m512i, bounds: __m512i) -> [__m512i; 3] {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe {
            let from = _mm512_set1_epi8(from as i8);
            let moved = _mm512_subs_epu8(bytes, from);
            // Sums that do not fit are 32767, which is beyond.
            let pairs = _mm512_maddubs_epi16(moved, bounds);
            let beyond = _mm512_movm_epi16(_mm512_cmpgt_epi16_mask(pairs, _mm512_set1_epi16(PAIR)));
            let above = _mm512_and_si512(_mm512_subs_epu8(moved, most), beyond);
            [_mm512_sub_epi8(moved, above), above, _mm512_subs_epu8(from, bytes)]
        }
    }
    #[inline(always)]
    unsafe fn compress_i32_ptr(self, p: *mut i32, v: __m512i, m: __mmask16) -> usize {
        // SAFETY: the caller's promise, and the token's. Storing a part takes many times as long on some processors.
        unsafe { _mm512_storeu_si512(p.cast(), _mm512_maskz_compress_epi32(m, v)) }
        m.count_ones() as usize
    }
    #[inline(always)]
    unsafe fn load_low_bytes(self, p: *const u8) -> __m512i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_cvtepu8_epi32(_mm_loadu_si128(p.cast())) }
    }
    #[inline(always)]
    unsafe fn load_signed_bytes(self, p: *const i8) -> __m512i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm512_cvtepi8_epi32(_mm_loadu_si128(p.cast())) }
    }
    #[inline(always)]
    unsafe fn store_low_bytes(self, p: *mut u8, v: __m512i) {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm_storeu_si128(p.cast(), _mm512_cvtepi32_epi8(v)) }
    }
    #[inline(always)]
    fn call<O: SimdOp>(self, op: O) -> O::Output {
        // SAFETY: the token exists only inside `run` or `run_vnni`, so the machine has the features.
        unsafe { if VNNI { run_vnni(op) } else { run(op) } }
    }
    #[inline(always)]
    unsafe fn transpose_ptr(
        self,
        src: *const f32,
        src_stride: usize,
        rows: usize,
        dst: *mut f32,
        dst_stride: usize,
        whole: usize,
    ) {
        debug_assert!((1..=16).contains(&rows));
        // SAFETY: the caller's promise, and the token's; rows that are not there are read as the last one.
        unsafe {
            // No closures: they would not be compiled for the instruction set.
            let mut quads = [[_mm512_setzero_ps(); 4]; 4];
            for (q, quad) in quads.iter_mut().enumerate() {
                let mut row = [_mm512_setzero_ps(); 4];
                for (i, row) in row.iter_mut().enumerate() {
                    *row = _mm512_loadu_ps(src.add((4 * q + i).min(rows - 1) * src_stride));
                }
                let (a, b) =
                    (_mm512_unpacklo_ps(row[0], row[1]), _mm512_unpackhi_ps(row[0], row[1]));
                let (c, d) =
                    (_mm512_unpacklo_ps(row[2], row[3]), _mm512_unpackhi_ps(row[2], row[3]));
                // Each 128-bit lane `l` of vector `j` has column `4 l + j` of rows `4 q..4 q + 4`.
                *quad = [
                    _mm512_shuffle_ps::<0x44>(a, c),
                    _mm512_shuffle_ps::<0xee>(a, c),
                    _mm512_shuffle_ps::<0x44>(b, d),
                    _mm512_shuffle_ps::<0xee>(b, d),
                ];
            }
            let [a, b, c, d] = quads;
            let mut columns = [_mm512_setzero_ps(); 16];
            for j in 0..4 {
                // Even and odd lanes of the quarters.
                let even = [
                    _mm512_shuffle_f32x4::<0x88>(a[j], b[j]),
                    _mm512_shuffle_f32x4::<0x88>(c[j], d[j]),
                ];
                let odd = [
                    _mm512_shuffle_f32x4::<0xdd>(a[j], b[j]),
                    _mm512_shuffle_f32x4::<0xdd>(c[j], d[j]),
                ];
                columns[j] = _mm512_shuffle_f32x4::<0x88>(even[0], even[1]);
                columns[4 + j] = _mm512_shuffle_f32x4::<0x88>(odd[0], odd[1]);
                columns[8 + j] = _mm512_shuffle_f32x4::<0xdd>(even[0], even[1]);
                columns[12 + j] = _mm512_shuffle_f32x4::<0xdd>(odd[0], odd[1]);
            }
            for (p, column) in columns.into_iter().enumerate() {
                let to = dst.add(p * dst_stride);
                if p < whole {
                    self.store_ptr(to, column);
                } else {
                    self.store_part_ptr(to, column, rows);
                }
            }
        }
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
}
