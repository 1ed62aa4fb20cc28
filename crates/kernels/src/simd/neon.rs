//! Advanced SIMD of AArch64: 4 lanes, 32 registers, masks as vectors of all ones or zeros.

use super::{Arithmetic, Simd, SimdOp};
use crate::Isa;
use core::arch::aarch64::*;
use half::f16;

/// Token for NEON; made only by [`run`].
#[derive(Clone, Copy)]
pub struct Neon(());

/// Runs `op` compiled for NEON.
///
/// # Safety
/// The machine must have Advanced SIMD.
#[inline(never)]
#[target_feature(enable = "neon")]
pub unsafe fn run<O: SimdOp>(op: O) -> O::Output {
    op.eval(Neon(()))
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

impl Arithmetic for Neon {
    type F32 = float32x4_t;
    type I32 = int32x4_t;
    type Mask = uint32x4_t;

    pure! {
        splat(x: f32) -> float32x4_t = vdupq_n_f32(x);
        splat_i32(x: i32) -> int32x4_t = vdupq_n_s32(x);
        add(a: float32x4_t, b: float32x4_t) -> float32x4_t = vaddq_f32(a, b);
        sub(a: float32x4_t, b: float32x4_t) -> float32x4_t = vsubq_f32(a, b);
        mul(a: float32x4_t, b: float32x4_t) -> float32x4_t = vmulq_f32(a, b);
        div(a: float32x4_t, b: float32x4_t) -> float32x4_t = vdivq_f32(a, b);
        fma(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t = vfmaq_f32(c, a, b);
        fnma(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t = vfmsq_f32(c, a, b);
        // FMIN and FMAX return NaN for any NaN; the contract asks for the second operand.
        min(a: float32x4_t, b: float32x4_t) -> float32x4_t = vbslq_f32(vcltq_f32(a, b), a, b);
        max(a: float32x4_t, b: float32x4_t) -> float32x4_t = vbslq_f32(vcgtq_f32(a, b), a, b);
        sqrt(a: float32x4_t) -> float32x4_t = vsqrtq_f32(a);
        round(a: float32x4_t) -> float32x4_t = vrndnq_f32(a);
        floor(a: float32x4_t) -> float32x4_t = vrndmq_f32(a);
        ceil(a: float32x4_t) -> float32x4_t = vrndpq_f32(a);
        trunc(a: float32x4_t) -> float32x4_t = vrndq_f32(a);
        lt(a: float32x4_t, b: float32x4_t) -> uint32x4_t = vcltq_f32(a, b);
        le(a: float32x4_t, b: float32x4_t) -> uint32x4_t = vcleq_f32(a, b);
        eq(a: float32x4_t, b: float32x4_t) -> uint32x4_t = vceqq_f32(a, b);
        mask_and(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t = vandq_u32(a, b);
        mask_or(a: uint32x4_t, b: uint32x4_t) -> uint32x4_t = vorrq_u32(a, b);
        mask_not(a: uint32x4_t) -> uint32x4_t = vmvnq_u32(a);
        select(m: uint32x4_t, a: float32x4_t, b: float32x4_t) -> float32x4_t =
            vbslq_f32(m, a, b);
        select_i32(m: uint32x4_t, a: int32x4_t, b: int32x4_t) -> int32x4_t = vbslq_s32(m, a, b);
        to_i32(a: float32x4_t) -> int32x4_t = vcvtnq_s32_f32(a);
        to_i32_trunc(a: float32x4_t) -> int32x4_t = vcvtq_s32_f32(a);
        to_f32(a: int32x4_t) -> float32x4_t = vcvtq_f32_s32(a);
        bits(a: float32x4_t) -> int32x4_t = vreinterpretq_s32_f32(a);
        bits_to_f32(a: int32x4_t) -> float32x4_t = vreinterpretq_f32_s32(a);
        add_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t = vaddq_s32(a, b);
        sub_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t = vsubq_s32(a, b);
        mul_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t = vmulq_s32(a, b);
        and_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t = vandq_s32(a, b);
        or_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t = vorrq_s32(a, b);
        xor_i32(a: int32x4_t, b: int32x4_t) -> int32x4_t = veorq_s32(a, b);
        eq_i32(a: int32x4_t, b: int32x4_t) -> uint32x4_t = vceqq_s32(a, b);
        gt_i32(a: int32x4_t, b: int32x4_t) -> uint32x4_t = vcgtq_s32(a, b);
    }

    #[inline(always)]
    fn shl_i32<const N: i32>(self, a: int32x4_t) -> int32x4_t {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { vshlq_s32(a, vdupq_n_s32(N)) }
    }
    #[inline(always)]
    fn shr_i32<const N: i32>(self, a: int32x4_t) -> int32x4_t {
        // SAFETY: the token exists only inside `run`, so the machine has the features. A shift
        // to the left by a negative count is one to the right.
        unsafe { vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(-N))) }
    }
}

impl Simd for Neon {
    const LANES: usize = 4;
    const REGISTERS: usize = 32;
    const ISA: Isa = Isa::Neon;
    const BYTES: usize = 16;
    type I8 = int8x16_t;

    #[inline(always)]
    unsafe fn load_ptr(self, p: *const f32) -> float32x4_t {
        // SAFETY: the caller promises LANES readable numbers.
        unsafe { vld1q_f32(p) }
    }
    #[inline(always)]
    unsafe fn store_ptr(self, p: *mut f32, v: float32x4_t) {
        // SAFETY: the caller promises LANES writable numbers.
        unsafe { vst1q_f32(p, v) }
    }
    #[inline(always)]
    unsafe fn load_part_ptr(self, p: *const f32, n: usize) -> float32x4_t {
        debug_assert!(n <= 4);
        let mut v = [0.0f32; 4];
        for (i, lane) in v.iter_mut().enumerate().take(n) {
            // SAFETY: i < n, and the caller promises n readable numbers.
            *lane = unsafe { *p.add(i) };
        }
        // SAFETY: the array has four numbers.
        unsafe { vld1q_f32(v.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn store_part_ptr(self, p: *mut f32, v: float32x4_t, n: usize) {
        debug_assert!(n <= 4);
        let mut lanes = [0.0f32; 4];
        // SAFETY: the array has four numbers.
        unsafe { vst1q_f32(lanes.as_mut_ptr(), v) };
        for (i, lane) in lanes.iter().enumerate().take(n) {
            // SAFETY: i < n, and the caller promises n writable numbers.
            unsafe { *p.add(i) = *lane };
        }
    }
    #[inline(always)]
    unsafe fn load_i32_ptr(self, p: *const i32) -> int32x4_t {
        // SAFETY: the caller promises LANES readable numbers.
        unsafe { vld1q_s32(p) }
    }
    #[inline(always)]
    unsafe fn store_i32_ptr(self, p: *mut i32, v: int32x4_t) {
        // SAFETY: the caller promises LANES writable numbers.
        unsafe { vst1q_s32(p, v) }
    }
    // The f16 vector intrinsics are not stable, so half precision goes lane by lane.
    #[inline(always)]
    unsafe fn load_f16_ptr(self, p: *const u16) -> float32x4_t {
        // SAFETY: the caller promises LANES readable numbers.
        let v = unsafe { p.cast::<[u16; 4]>().read_unaligned() };
        let v = v.map(|bits| f16::from_bits(bits).to_f32_const());
        // SAFETY: the array has four numbers.
        unsafe { vld1q_f32(v.as_ptr()) }
    }
    #[inline(always)]
    unsafe fn store_f16_ptr(self, p: *mut u16, v: float32x4_t) {
        let mut lanes = [0.0f32; 4];
        // SAFETY: the array has four numbers.
        unsafe { vst1q_f32(lanes.as_mut_ptr(), v) };
        let lanes = lanes.map(|x| f16::from_f32_const(x).to_bits());
        // SAFETY: the caller promises LANES writable numbers.
        unsafe { p.cast::<[u16; 4]>().write_unaligned(lanes) }
    }

    pure! {
        any(m: uint32x4_t) -> bool = vmaxvq_u32(m) != 0;
        sum(a: float32x4_t) -> f32 = vaddvq_f32(a);
        max_lane(a: float32x4_t) -> f32 = vmaxvq_f32(a);
        min_lane(a: float32x4_t) -> f32 = vminvq_f32(a);
    }
    #[inline(always)]
    fn count(self, m: uint32x4_t) -> u32 {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { vaddvq_u32(vshrq_n_u32::<31>(m)) }
    }
    #[inline(always)]
    unsafe fn load_i8_ptr(self, p: *const i8) -> int8x16_t {
        // SAFETY: the caller promises BYTES readable bytes.
        unsafe { vld1q_s8(p) }
    }
    #[inline(always)]
    unsafe fn store_i8_ptr(self, p: *mut i8, v: int8x16_t) {
        // SAFETY: the caller promises BYTES writable bytes.
        unsafe { vst1q_s8(p, v) }
    }
    #[inline(always)]
    fn splat_i8(self, x: i8) -> int8x16_t {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { vdupq_n_s8(x) }
    }
    #[inline(always)]
    fn replace_i8(
        self,
        a: int8x16_t,
        b: int8x16_t,
        x: int8x16_t,
        y: int8x16_t,
        z: int8x16_t,
    ) -> int8x16_t {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { vbslq_s8(vandq_u8(vceqq_s8(a, b), vcgtq_s8(x, y)), z, a) }
    }
    #[inline(always)]
    fn dot4(self, sums: int32x4_t, a: int32x4_t, b: int32x4_t) -> int32x4_t {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe {
            let (a, b) = (vreinterpretq_u8_s32(a), vreinterpretq_s8_s32(b));
            let a_low = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(a)));
            let a_high = vreinterpretq_s16_u16(vmovl_high_u8(a));
            let (b_low, b_high) = (vmovl_s8(vget_low_s8(b)), vmovl_high_s8(b));
            // The products of a lane stand side by side: two rounds of sums of neighbours.
            let low = vpaddq_s32(
                vmull_s16(vget_low_s16(a_low), vget_low_s16(b_low)),
                vmull_high_s16(a_low, b_low),
            );
            let high = vpaddq_s32(
                vmull_s16(vget_low_s16(a_high), vget_low_s16(b_high)),
                vmull_high_s16(a_high, b_high),
            );
            vaddq_s32(sums, vpaddq_s32(low, high))
        }
    }
    #[inline(always)]
    fn call<O: SimdOp>(self, op: O) -> O::Output {
        // SAFETY: the token exists only inside `run`, so the machine has the features.
        unsafe { run(op) }
    }
}
