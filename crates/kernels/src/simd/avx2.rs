//! AVX2 with FMA and F16C: 8 lanes, 16 registers, masks as vectors of all ones or zeros.

use super::vector::PAIR;
use super::{Arithmetic, Simd, SimdOp};
use crate::Isa;
use core::arch::x86_64::*;

/// Token for AVX2; made only by [`run`].
#[derive(Clone, Copy)]
pub struct Avx2(());

/// Runs `op` compiled for AVX2.
///
/// # Safety
/// The machine must have AVX2, FMA, F16C and POPCNT.
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c,popcnt")]
pub unsafe fn run<O: SimdOp>(op: O) -> O::Output {
    op.eval(Avx2(()))
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

/// A window of 8 from here that starts at `8 - n` has its first `n` lanes set.
static WINDOW: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// For each mask the lanes that it has, one behind the other, and lane 0 behind them.
static CHOSEN: [[u8; 8]; 256] = {
    let mut lists = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut n) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                lists[mask][n] = lane as u8;
                n += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    lists
};

/// # Safety
/// `n <= 8`, and the machine must have AVX2.
#[inline(always)]
unsafe fn first(n: usize) -> __m256i {
    debug_assert!(n <= 8);
    // SAFETY: 8 - n + 8 <= 16 since n <= 8.
    unsafe { _mm256_loadu_si256(WINDOW.as_ptr().add(8 - n).cast()) }
}

/// Folds the vector's halves, quarters and lanes with `$op` (128-bit).
macro_rules! fold {
    ($v:expr, $op:ident) => {{
        let v = $op(_mm256_castps256_ps128($v), _mm256_extractf128_ps::<1>($v));
        let v = $op(v, _mm_movehl_ps(v, v));
        _mm_cvtss_f32($op(v, _mm_shuffle_ps::<0b01>(v, v)))
    }};
}

impl Arithmetic for Avx2 {
    type F32 = __m256;
    type I32 = __m256i;
    type Mask = __m256;

    pure! {
        splat(x: f32) -> __m256 = _mm256_set1_ps(x);
        splat_i32(x: i32) -> __m256i = _mm256_set1_epi32(x);
        add(a: __m256, b: __m256) -> __m256 = _mm256_add_ps(a, b);
        sub(a: __m256, b: __m256) -> __m256 = _mm256_sub_ps(a, b);
        mul(a: __m256, b: __m256) -> __m256 = _mm256_mul_ps(a, b);
        div(a: __m256, b: __m256) -> __m256 = _mm256_div_ps(a, b);
        fma(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fmadd_ps(a, b, c);
        fnma(a: __m256, b: __m256, c: __m256) -> __m256 = _mm256_fnmadd_ps(a, b, c);
        min(a: __m256, b: __m256) -> __m256 = _mm256_min_ps(a, b);
        max(a: __m256, b: __m256) -> __m256 = _mm256_max_ps(a, b);
        sqrt(a: __m256) -> __m256 = _mm256_sqrt_ps(a);
        round(a: __m256) -> __m256 =
            _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a);
        floor(a: __m256) -> __m256 =
            _mm256_round_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(a);
        ceil(a: __m256) -> __m256 =
            _mm256_round_ps::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(a);
        trunc(a: __m256) -> __m256 =
            _mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(a);
        lt(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_LT_OQ>(a, b);
        le(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_LE_OQ>(a, b);
        eq(a: __m256, b: __m256) -> __m256 = _mm256_cmp_ps::<_CMP_EQ_OQ>(a, b);
        mask_and(a: __m256, b: __m256) -> __m256 = _mm256_and_ps(a, b);
        mask_or(a: __m256, b: __m256) -> __m256 = _mm256_or_ps(a, b);
        mask_not(a: __m256) -> __m256 =
            _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1)));
        select(m: __m256, a: __m256, b: __m256) -> __m256 = _mm256_blendv_ps(b, a, m);
        select_i32(m: __m256, a: __m256i, b: __m256i) -> __m256i =
            _mm256_blendv_epi8(b, a, _mm256_castps_si256(m));
        to_i32(a: __m256) -> __m256i = _mm256_cvtps_epi32(a);
        to_i32_trunc(a: __m256) -> __m256i = _mm256_cvttps_epi32(a);
        to_f32(a: __m256i) -> __m256 = _mm256_cvtepi32_ps(a);
        bits(a: __m256) -> __m256i = _mm256_castps_si256(a);
        bits_to_f32(a: __m256i) -> __m256 = _mm256_castsi256_ps(a);
        add_i32(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        sub_i32(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi32(a, b);
        mul_i32(a: __m256i, b: __m256i) -> __m256i = _mm256_mullo_epi32(a, b);
        and_i32(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        or_i32(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        xor_i32(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        eq_i32(a: __m256i, b: __m256i) -> __m256 = _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
        gt_i32(a: __m256i, b: __m256i) -> __m256 = _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b));
    }

    #[inline(always)]
    fn shl_i32<const N: i32>(self, a: __m256i) -> __m256i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm256_slli_epi32::<N>(a) }
    }
    #[inline(always)]
    fn shr_i32<const N: i32>(self, a: __m256i) -> __m256i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm256_srli_epi32::<N>(a) }
    }
}

impl Simd for Avx2 {
    const LANES: usize = 8;
    const REGISTERS: usize = 16;
    const ISA: Isa = Isa::Avx2;
    const DOT4_LOW: bool = true;
    const BYTES: usize = 32;
    type I8 = __m256i;

    #[inline(always)]
    unsafe fn load_ptr(self, p: *const f32) -> __m256 {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_loadu_ps(p) }
    }
    #[inline(always)]
    unsafe fn store_ptr(self, p: *mut f32, v: __m256) {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_storeu_ps(p, v) }
    }
    #[inline(always)]
    unsafe fn load_part_ptr(self, p: *const f32, n: usize) -> __m256 {
        // SAFETY: lanes that the mask leaves out are not read, and do not fault.
        unsafe { _mm256_maskload_ps(p, first(n)) }
    }
    #[inline(always)]
    unsafe fn store_part_ptr(self, p: *mut f32, v: __m256, n: usize) {
        // SAFETY: lanes that the mask leaves out are not written, and do not fault.
        unsafe { _mm256_maskstore_ps(p, first(n), v) }
    }
    #[inline(always)]
    unsafe fn load_i32_ptr(self, p: *const i32) -> __m256i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_loadu_si256(p.cast()) }
    }
    #[inline(always)]
    unsafe fn store_i32_ptr(self, p: *mut i32, v: __m256i) {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_storeu_si256(p.cast(), v) }
    }
    #[inline(always)]
    unsafe fn load_f16_ptr(self, p: *const u16) -> __m256 {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(p.cast())) }
    }
    #[inline(always)]
    unsafe fn store_f16_ptr(self, p: *mut u16, v: __m256) {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm_storeu_si128(p.cast(), _mm256_cvtps_ph::<{ _MM_FROUND_TO_NEAREST_INT }>(v)) }
    }

    pure! {
        dot2(sums: __m256i, a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(sums, _mm256_madd_epi16(a, b));
        // The halves of vectors are added apart, so that those of `a` and `b` take turns.
        add_neighbours(a: __m256i, b: __m256i) -> __m256i =
            _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(a, b));
        splat_i64(x: i64) -> __m256i = _mm256_set1_epi64x(x);
        any(m: __m256) -> bool = _mm256_movemask_ps(m) != 0;
        sum(a: __m256) -> f32 = fold!(a, _mm_add_ps);
        max_lane(a: __m256) -> f32 = fold!(a, _mm_max_ps);
        min_lane(a: __m256) -> f32 = fold!(a, _mm_min_ps);
    }
    #[inline(always)]
    fn count(self, m: Self::Mask) -> u32 {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm256_movemask_ps(m) }.count_ones()
    }
    #[inline(always)]
    unsafe fn load_i8_ptr(self, p: *const i8) -> __m256i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_loadu_si256(p.cast()) }
    }
    #[inline(always)]
    unsafe fn store_i8_ptr(self, p: *mut i8, v: __m256i) {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_storeu_si256(p.cast(), v) }
    }
    #[inline(always)]
    fn splat_i8(self, x: i8) -> __m256i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { _mm256_set1_epi8(x) }
    }
    #[inline(always)]
    fn replace_i8(self, a: __m256i, b: __m256i, x: __m256i, y: __m256i, z: __m256i) -> __m256i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe {
            let both = _mm256_and_si256(_mm256_cmpeq_epi8(a, b), _mm256_cmpgt_epi8(x, y));
            _mm256_blendv_epi8(a, z, both)
        }
    }
    #[inline(always)]
    fn dot4(self, sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe {
            // Bytes 0 and 2 of each lane, and bytes 1 and 3, as numbers of 16 bits.
            let even = _mm256_madd_epi16(
                _mm256_and_si256(a, _mm256_set1_epi16(0xff)),
                _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(b)),
            );
            let odd = _mm256_madd_epi16(_mm256_srli_epi16::<8>(a), _mm256_srai_epi16::<8>(b));
            _mm256_add_epi32(_mm256_add_epi32(sums, even), odd)
        }
    }
    #[inline(always)]
    fn dot4_low(self, sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe {
            // Sums of two products fit 16 bits, as the caller promises.
            let pairs = _mm256_maddubs_epi16(a, b);
            _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }
    #[inline(always)]
    unsafe fn widen_bytes_ptr(self, p: *const i8) -> __m256i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_cvtepi8_epi16(_mm_loadu_si128(p.cast())) }
    }
    #[inline(always)]
    fn mul_add_bytes(self, sums: __m256i, a: __m256i, b: __m256i) -> __m256i {
        // The upper halves of `a` are 0.
        self.dot2(sums, a, b)
    }
    #[inline(always)]
    fn split_bytes(self, bytes: __m256i, from: u8, most: __m256i, bounds: __m256i) -> [__m256i; 3] {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe {
            let from = _mm256_set1_epi8(from as i8);
            let moved = _mm256_subs_epu8(bytes, from);
            // Sums that do not fit are 32767, which is beyond.
            let pairs = _mm256_maddubs_epi16(moved, bounds);
            let beyond = _mm256_cmpgt_epi16(pairs, _mm256_set1_epi16(PAIR));
            let above = _mm256_and_si256(_mm256_subs_epu8(moved, most), beyond);
            [_mm256_sub_epi8(moved, above), above, _mm256_subs_epu8(from, bytes)]
        }
    }
    #[inline(always)]
    unsafe fn compress_i32_ptr(self, p: *mut i32, v: __m256i, m: __m256) -> usize {
        // SAFETY: the caller's promise, and the token's; a mask has eight bits.
        unsafe {
            let mask = _mm256_movemask_ps(m) as usize & 0xff;
            let from = _mm_loadl_epi64(CHOSEN[mask].as_ptr().cast());
            let chosen = _mm256_permutevar8x32_epi32(v, _mm256_cvtepu8_epi32(from));
            _mm256_storeu_si256(p.cast(), chosen);
            mask.count_ones() as usize
        }
    }
    #[inline(always)]
    unsafe fn load_low_bytes(self, p: *const u8) -> __m256i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(p.cast())) }
    }
    #[inline(always)]
    unsafe fn load_signed_bytes(self, p: *const i8) -> __m256i {
        // SAFETY: the caller's promise, and the token's.
        unsafe { _mm256_cvtepi8_epi32(_mm_loadl_epi64(p.cast())) }
    }
    #[inline(always)]
    unsafe fn store_low_bytes(self, p: *mut u8, v: __m256i) {
        // SAFETY: the caller's promise, and the token's.
        unsafe {
            let low = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0c08_0400));
            let both =
                _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256::<1>(low));
            _mm_storel_epi64(p.cast(), both);
        }
    }
    #[inline(always)]
    fn call<O: SimdOp>(self, op: O) -> O::Output {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { run(op) }
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
        debug_assert!((1..=8).contains(&rows));
        // SAFETY: the caller's promise, and the token's; rows that are not there are read as the last one.
        unsafe {
            // No closures: they would not be compiled for the instruction set.
            let mut halves = [[_mm256_setzero_ps(); 4]; 2];
            for (h, half) in halves.iter_mut().enumerate() {
                let mut row = [_mm256_setzero_ps(); 4];
                for (i, row) in row.iter_mut().enumerate() {
                    *row = _mm256_loadu_ps(src.add((4 * h + i).min(rows - 1) * src_stride));
                }
                let (a, b) =
                    (_mm256_unpacklo_ps(row[0], row[1]), _mm256_unpackhi_ps(row[0], row[1]));
                let (c, d) =
                    (_mm256_unpacklo_ps(row[2], row[3]), _mm256_unpackhi_ps(row[2], row[3]));
                // Each 128-bit lane `l` of vector `j` has column `4 l + j` of rows `4 h..4 h + 4`.
                *half = [
                    _mm256_shuffle_ps::<0x44>(a, c),
                    _mm256_shuffle_ps::<0xee>(a, c),
                    _mm256_shuffle_ps::<0x44>(b, d),
                    _mm256_shuffle_ps::<0xee>(b, d),
                ];
            }
            let [a, b] = halves;
            let mut columns = [_mm256_setzero_ps(); 8];
            for j in 0..4 {
                columns[j] = _mm256_permute2f128_ps::<0x20>(a[j], b[j]);
                columns[4 + j] = _mm256_permute2f128_ps::<0x31>(a[j], b[j]);
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
