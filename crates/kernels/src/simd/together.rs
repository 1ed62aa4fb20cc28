//! Several vectors that go through each step of a function together.

use super::{Arithmetic, Simd};

/// `N` vectors as one. Each step of a function waits for the one before it, four cycles and more, and what a processor looks
/// ahead is too short to find the steps of the next vector: those of `N` vectors, written side by side, fill the time.
#[derive(Debug, Clone, Copy)]
pub struct Together<S, const N: usize>(pub S);

/// Vectors that go together in functions of a long row: their arguments, sums and results fill most of 16 registers.
pub const TOGETHER: usize = 4;

impl<S: Simd, const N: usize> Together<S, N> {
    /// Numbers in all.
    #[inline(always)]
    pub fn lanes(self) -> usize {
        N * S::LANES
    }

    /// Reads `N * S::LANES` numbers; no alignment is asked.
    ///
    /// # Safety
    /// `p` must be readable for as many.
    #[inline(always)]
    pub unsafe fn load_ptr(self, p: *const f32) -> [S::F32; N] {
        let mut v = self.zero();
        for (i, v) in v.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *v = unsafe { self.0.load_ptr(p.add(i * S::LANES)) };
        }
        v
    }

    /// Writes `N * S::LANES` numbers; no alignment is asked.
    ///
    /// # Safety
    /// `p` must be writable for as many.
    #[inline(always)]
    pub unsafe fn store_ptr(self, p: *mut f32, v: [S::F32; N]) {
        for (i, v) in v.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.0.store_ptr(p.add(i * S::LANES), v) }
        }
    }

    /// As [`Simd::load_part_ptr`], for code that is written for both: `n` is all numbers here.
    ///
    /// # Safety
    /// As for [`Together::load_ptr`].
    #[inline(always)]
    pub unsafe fn load_part_ptr(self, p: *const f32, n: usize) -> [S::F32; N] {
        debug_assert_eq!(n, self.lanes());
        // SAFETY: the caller's promise.
        unsafe { self.load_ptr(p) }
    }

    /// As [`Simd::store_part_ptr`], for code that is written for both: `n` is all numbers here.
    ///
    /// # Safety
    /// As for [`Together::store_ptr`].
    #[inline(always)]
    pub unsafe fn store_part_ptr(self, p: *mut f32, v: [S::F32; N], n: usize) {
        debug_assert_eq!(n, self.lanes());
        // SAFETY: the caller's promise.
        unsafe { self.store_ptr(p, v) }
    }

    /// The sum of the vectors, lane by lane.
    #[inline(always)]
    pub fn folded(self, v: [S::F32; N]) -> S::F32 {
        let mut sum = v[0];
        for v in &v[1..] {
            sum = self.0.add(sum, *v);
        }
        sum
    }
}

/// Vector by vector. A macro and not a closure, so that nothing is left to inline.
macro_rules! each {
    ($($name:ident($($arg:ident: $ty:ident),*) -> $ret:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: [S::$ty; N]),*) -> [S::$ret; N] {
            let mut y = [self.0.$name($($arg[0]),*); N];
            for i in 1..N {
                y[i] = self.0.$name($($arg[i]),*);
            }
            y
        }
    )*};
}

impl<S: Simd, const N: usize> Arithmetic for Together<S, N> {
    type F32 = [S::F32; N];
    type I32 = [S::I32; N];
    type Mask = [S::Mask; N];

    #[inline(always)]
    fn splat(self, x: f32) -> [S::F32; N] {
        [self.0.splat(x); N]
    }
    #[inline(always)]
    fn splat_i32(self, x: i32) -> [S::I32; N] {
        [self.0.splat_i32(x); N]
    }
    each! {
        add(a: F32, b: F32) -> F32;
        sub(a: F32, b: F32) -> F32;
        mul(a: F32, b: F32) -> F32;
        div(a: F32, b: F32) -> F32;
        fma(a: F32, b: F32, c: F32) -> F32;
        fnma(a: F32, b: F32, c: F32) -> F32;
        min(a: F32, b: F32) -> F32;
        max(a: F32, b: F32) -> F32;
        sqrt(a: F32) -> F32;
        round(a: F32) -> F32;
        floor(a: F32) -> F32;
        ceil(a: F32) -> F32;
        trunc(a: F32) -> F32;
        lt(a: F32, b: F32) -> Mask;
        le(a: F32, b: F32) -> Mask;
        eq(a: F32, b: F32) -> Mask;
        mask_and(a: Mask, b: Mask) -> Mask;
        mask_or(a: Mask, b: Mask) -> Mask;
        mask_not(a: Mask) -> Mask;
        select(m: Mask, a: F32, b: F32) -> F32;
        select_i32(m: Mask, a: I32, b: I32) -> I32;
        to_i32(a: F32) -> I32;
        to_i32_trunc(a: F32) -> I32;
        to_f32(a: I32) -> F32;
        bits(a: F32) -> I32;
        bits_to_f32(a: I32) -> F32;
        add_i32(a: I32, b: I32) -> I32;
        sub_i32(a: I32, b: I32) -> I32;
        mul_i32(a: I32, b: I32) -> I32;
        and_i32(a: I32, b: I32) -> I32;
        or_i32(a: I32, b: I32) -> I32;
        xor_i32(a: I32, b: I32) -> I32;
        eq_i32(a: I32, b: I32) -> Mask;
        gt_i32(a: I32, b: I32) -> Mask;
    }
    #[inline(always)]
    fn shl_i32<const BITS: i32>(self, a: [S::I32; N]) -> [S::I32; N] {
        let mut y = a;
        for y in &mut y {
            *y = self.0.shl_i32::<BITS>(*y);
        }
        y
    }
    #[inline(always)]
    fn shr_i32<const BITS: i32>(self, a: [S::I32; N]) -> [S::I32; N] {
        let mut y = a;
        for y in &mut y {
            *y = self.0.shr_i32::<BITS>(*y);
        }
        y
    }
}

/// Runs `body` over rows of `n` numbers: `sweep!(s, n, |s, at, len| body)` is compiled for several vectors [`Together`], for one and
/// for a part of one, and `body` reads and writes `len` numbers from `at` on by `s.load_part_ptr` and `s.store_part_ptr`. A macro
/// and not a function with a closure, which would not be compiled for the instruction set; the caller promises the numbers.
macro_rules! sweep {
    ($vectors:expr, $n:expr, |$s:ident, $at:ident, $len:ident| $body:expr) => {{
        let (vectors, n, mut $at): (_, usize, usize) = ($vectors, $n, 0);
        {
            let $s = $crate::simd::Together::<_, { $crate::simd::TOGETHER }>(vectors);
            let $len = $s.lanes();
            while $at + $len <= n {
                $body;
                $at += $len;
            }
        }
        {
            let $s = $crate::simd::Together::<_, 1>(vectors);
            let $len = $s.lanes();
            while $at + $len <= n {
                $body;
                $at += $len;
            }
        }
        if $at < n {
            let ($s, $len) = (vectors, n - $at);
            $body;
        }
    }};
}
pub(crate) use sweep;

/// `dst[i] = f(s, src[i])` for `n` numbers, as [`sweep`] does it: `map_row!(s, src, dst, n, |s, x| f)`. `src` and `dst` are the same
/// or do not overlap, and the caller promises `n` numbers behind both.
macro_rules! map_row {
    ($vectors:expr, $src:expr, $dst:expr, $n:expr, |$s:ident, $x:ident| $f:expr) => {{
        let (src, dst): (*const f32, *mut f32) = ($src, $dst);
        $crate::simd::sweep!($vectors, $n, |$s, at, len| {
            let $x = $s.load_part_ptr(src.add(at), len);
            $s.store_part_ptr(dst.add(at), $f, len)
        })
    }};
}
pub(crate) use map_row;
