//! Portable vectors of four, which the compiler may turn into the baseline's instructions.

use super::{Arithmetic, Simd, SimdOp};
use crate::Isa;
use half::f16;

/// Token for portable code; available everywhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scalar;

type F = [f32; 4];
type I = [i32; 4];
type M = [bool; 4];

/// Lane by lane. A macro and not a closure, so that nothing is left to inline.
macro_rules! lanes {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> $ret {
            [
                { $(let $arg = $arg[0];)* $body },
                { $(let $arg = $arg[1];)* $body },
                { $(let $arg = $arg[2];)* $body },
                { $(let $arg = $arg[3];)* $body },
            ]
        }
    )*};
}

/// Beyond this magnitude every f32 is an integer.
const INTEGERS: f32 = 8_388_608.0;

#[inline(always)]
fn trunc(a: f32) -> f32 {
    if a.abs() < INTEGERS { (a as i32 as f32).copysign(a) } else { a }
}

/// Adding and taking away 2^23 rounds at the unit, to even, in the default rounding mode.
#[inline(always)]
fn round(a: f32) -> f32 {
    if a.abs() < INTEGERS {
        let shift = INTEGERS.copysign(a);
        ((a + shift) - shift).copysign(a)
    } else {
        a
    }
}

#[inline(always)]
fn floor(a: f32) -> f32 {
    let t = trunc(a);
    if t > a { t - 1.0 } else { t }
}

impl Arithmetic for Scalar {
    type F32 = F;
    type I32 = I;
    type Mask = M;

    #[inline(always)]
    fn splat(self, x: f32) -> F {
        [x; 4]
    }
    #[inline(always)]
    fn splat_i32(self, x: i32) -> I {
        [x; 4]
    }

    lanes! {
        add(a: F, b: F) -> F = a + b;
        sub(a: F, b: F) -> F = a - b;
        mul(a: F, b: F) -> F = a * b;
        div(a: F, b: F) -> F = a / b;
        fma(a: F, b: F, c: F) -> F = a * b + c;
        fnma(a: F, b: F, c: F) -> F = c - a * b;
        min(a: F, b: F) -> F = if a < b { a } else { b };
        max(a: F, b: F) -> F = if a > b { a } else { b };
        sqrt(a: F) -> F = libm::sqrtf(a);
        round(a: F) -> F = round(a);
        floor(a: F) -> F = floor(a);
        ceil(a: F) -> F = -floor(-a);
        trunc(a: F) -> F = trunc(a);
        lt(a: F, b: F) -> M = a < b;
        le(a: F, b: F) -> M = a <= b;
        eq(a: F, b: F) -> M = a == b;
        mask_and(a: M, b: M) -> M = a & b;
        mask_or(a: M, b: M) -> M = a | b;
        mask_not(a: M) -> M = !a;
        select(m: M, a: F, b: F) -> F = if m { a } else { b };
        select_i32(m: M, a: I, b: I) -> I = if m { a } else { b };
        to_i32(a: F) -> I = round(a) as i32;
        to_i32_trunc(a: F) -> I = a as i32;
        to_f32(a: I) -> F = a as f32;
        bits(a: F) -> I = a.to_bits() as i32;
        bits_to_f32(a: I) -> F = f32::from_bits(a as u32);
        add_i32(a: I, b: I) -> I = a.wrapping_add(b);
        sub_i32(a: I, b: I) -> I = a.wrapping_sub(b);
        mul_i32(a: I, b: I) -> I = a.wrapping_mul(b);
        and_i32(a: I, b: I) -> I = a & b;
        or_i32(a: I, b: I) -> I = a | b;
        xor_i32(a: I, b: I) -> I = a ^ b;
        eq_i32(a: I, b: I) -> M = a == b;
        gt_i32(a: I, b: I) -> M = a > b;
    }
    #[inline(always)]
    fn shl_i32<const N: i32>(self, a: I) -> I {
        [a[0] << N, a[1] << N, a[2] << N, a[3] << N]
    }
    #[inline(always)]
    fn shr_i32<const N: i32>(self, a: I) -> I {
        a.map(|x| ((x as u32) >> N) as i32)
    }
}

impl Simd for Scalar {
    const LANES: usize = 4;
    const REGISTERS: usize = 16;
    const ISA: Isa = Isa::Scalar;
    const BYTES: usize = 16;
    type I8 = [i8; 16];
    #[inline(always)]
    unsafe fn load_ptr(self, p: *const f32) -> F {
        // SAFETY: the caller promises LANES readable numbers.
        unsafe { p.cast::<F>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store_ptr(self, p: *mut f32, v: F) {
        // SAFETY: the caller promises LANES writable numbers.
        unsafe { p.cast::<F>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn load_part_ptr(self, p: *const f32, n: usize) -> F {
        debug_assert!(n <= 4);
        let mut v = [0.0; 4];
        for (i, lane) in v.iter_mut().enumerate().take(n) {
            // SAFETY: i < n, and the caller promises n readable numbers.
            *lane = unsafe { *p.add(i) };
        }
        v
    }
    #[inline(always)]
    unsafe fn store_part_ptr(self, p: *mut f32, v: F, n: usize) {
        debug_assert!(n <= 4);
        for (i, lane) in v.iter().enumerate().take(n) {
            // SAFETY: i < n, and the caller promises n writable numbers.
            unsafe { *p.add(i) = *lane };
        }
    }
    #[inline(always)]
    unsafe fn load_i32_ptr(self, p: *const i32) -> I {
        // SAFETY: the caller promises LANES readable numbers.
        unsafe { p.cast::<I>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store_i32_ptr(self, p: *mut i32, v: I) {
        // SAFETY: the caller promises LANES writable numbers.
        unsafe { p.cast::<I>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn load_f16_ptr(self, p: *const u16) -> F {
        // SAFETY: the caller promises LANES readable numbers.
        let v = unsafe { p.cast::<[u16; 4]>().read_unaligned() };
        v.map(|bits| f16::from_bits(bits).to_f32_const())
    }
    #[inline(always)]
    unsafe fn store_f16_ptr(self, p: *mut u16, v: F) {
        let v = v.map(|x| f16::from_f32_const(x).to_bits());
        // SAFETY: the caller promises LANES writable numbers.
        unsafe { p.cast::<[u16; 4]>().write_unaligned(v) }
    }

    lanes! {
        dot4(sums: I, a: I, b: I) -> I = {
            let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
            let product = |i: usize| i32::from(a[i]) * i32::from(b[i] as i8);
            sums.wrapping_add(product(0) + product(1) + product(2) + product(3))
        };
    }

    #[inline(always)]
    fn any(self, m: M) -> bool {
        m[0] | m[1] | m[2] | m[3]
    }
    #[inline(always)]
    fn sum(self, a: F) -> f32 {
        (a[0] + a[2]) + (a[1] + a[3])
    }
    #[inline(always)]
    fn max_lane(self, a: F) -> f32 {
        a[0].max(a[2]).max(a[1].max(a[3]))
    }
    #[inline(always)]
    fn min_lane(self, a: F) -> f32 {
        a[0].min(a[2]).min(a[1].min(a[3]))
    }
    #[inline(always)]
    fn count(self, m: M) -> u32 {
        u32::from(m[0]) + u32::from(m[1]) + u32::from(m[2]) + u32::from(m[3])
    }
    #[inline(always)]
    unsafe fn load_i8_ptr(self, p: *const i8) -> [i8; 16] {
        // SAFETY: the caller promises BYTES readable bytes; an array of bytes needs no alignment.
        unsafe { *p.cast() }
    }
    #[inline(always)]
    unsafe fn store_i8_ptr(self, p: *mut i8, v: [i8; 16]) {
        // SAFETY: the caller promises BYTES writable bytes; an array of bytes needs no alignment.
        unsafe { *p.cast() = v }
    }
    #[inline(always)]
    fn splat_i8(self, x: i8) -> [i8; 16] {
        [x; 16]
    }
    #[inline(always)]
    fn replace_i8(
        self,
        mut a: [i8; 16],
        b: [i8; 16],
        x: [i8; 16],
        y: [i8; 16],
        z: [i8; 16],
    ) -> [i8; 16] {
        for i in 0..16 {
            a[i] = if (a[i] == b[i]) & (x[i] > y[i]) { z[i] } else { a[i] };
        }
        a
    }
    #[inline(always)]
    fn call<O: SimdOp>(self, op: O) -> O::Output {
        run(op)
    }
}

/// Runs `op` as portable code.
#[inline(never)]
fn run<O: SimdOp>(op: O) -> O::Output {
    op.eval(Scalar)
}
