//! The f32 form.

use super::ReduceOp;
use crate::gemm::dots;
use crate::math;
use crate::simd::{Simd, SimdOp};

pub struct Dot<'a>(pub &'a [f32], pub &'a [f32]);

impl SimdOp for Dot<'_> {
    type Output = f32;
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> f32 {
        // SAFETY: both slices are as long.
        let [sum] =
            unsafe { dots::<S, 1, 4>(s, self.0.as_ptr(), self.1.as_ptr(), 0, self.0.len()) };
        sum
    }
}

pub struct Reduce<'a> {
    pub op: ReduceOp,
    pub axis: usize,
    pub inner: usize,
    pub src: &'a [f32],
    pub dst: &'a mut [f32],
}

impl SimdOp for Reduce<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        match self.op {
            ReduceOp::Sum | ReduceOp::Mean | ReduceOp::LogSum => s.call(Fold(self, Sum)),
            ReduceOp::Max => s.call(Fold(self, Max)),
            ReduceOp::Min => s.call(Fold(self, Min)),
            ReduceOp::Prod => s.call(Fold(self, Prod)),
            ReduceOp::L1 => s.call(Fold(self, L1)),
            ReduceOp::L2 | ReduceOp::SumSquare => s.call(Fold(self, Squares)),
            ReduceOp::LogSumExp => s.call(LogSumExp(self)),
        }
    }
}

/// A fold over vectors.
trait Folding: Copy {
    /// The result of nothing.
    const START: f32;
    /// Takes in one more vector.
    fn step<S: Simd>(self, s: S, acc: S::F32, x: S::F32) -> S::F32;
    /// Joins two results.
    fn join<S: Simd>(self, s: S, a: S::F32, b: S::F32) -> S::F32;
    /// Joins the lanes.
    fn lanes<S: Simd>(self, s: S, acc: S::F32) -> f32;
}

macro_rules! folding {
    ($($name:ident, $start:expr, |$s:ident, $acc:ident, $x:ident| $step:expr, $join:expr, $lanes:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;
        impl Folding for $name {
            const START: f32 = $start;
            #[inline(always)]
            fn step<S: Simd>(self, $s: S, $acc: S::F32, $x: S::F32) -> S::F32 { $step }
            #[inline(always)]
            fn join<S: Simd>(self, $s: S, $acc: S::F32, $x: S::F32) -> S::F32 { $join }
            #[inline(always)]
            fn lanes<S: Simd>(self, $s: S, $acc: S::F32) -> f32 { $lanes }
        }
    )*};
}

folding! {
    Sum, 0.0, |s, acc, x| s.add(acc, x), s.add(acc, x), s.sum(acc);
    Prod, 1.0, |s, acc, x| s.mul(acc, x), s.mul(acc, x), product(s, acc);
    L1, 0.0, |s, acc, x| s.add(acc, s.abs(x)), s.add(acc, x), s.sum(acc);
    Squares, 0.0, |s, acc, x| s.fma(x, x, acc), s.add(acc, x), s.sum(acc);
    // The second operand wins when either is NaN: one in `acc` stays, one in `x` is selected.
    Max, f32::NEG_INFINITY, |s, acc, x| s.select(s.eq(x, x), s.max(x, acc), x),
        s.select(s.eq(x, x), s.max(x, acc), x),
        if has_nan(s, acc) { f32::NAN } else { s.max_lane(acc) };
    Min, f32::INFINITY, |s, acc, x| s.select(s.eq(x, x), s.min(x, acc), x),
        s.select(s.eq(x, x), s.min(x, acc), x),
        if has_nan(s, acc) { f32::NAN } else { s.min_lane(acc) };
}

#[inline(always)]
fn has_nan<S: Simd>(s: S, x: S::F32) -> bool {
    s.any(s.mask_not(s.eq(x, x)))
}

#[inline(always)]
fn product<S: Simd>(s: S, x: S::F32) -> f32 {
    let mut lanes = [1.0; 16];
    s.store(&mut lanes, x);
    let mut y = 1.0;
    for x in lanes {
        y *= x;
    }
    y
}

struct Fold<'a, F>(Reduce<'a>, F);

impl<F: Folding> SimdOp for Fold<'_, F> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let (r, f) = (self.0, self.1);
        let block = r.axis * r.inner;
        for (o, dst) in r.dst.chunks_exact_mut(r.inner).enumerate() {
            let src = r.src[o * block..(o + 1) * block].as_ptr();
            // SAFETY: `src` has axis * inner numbers, `dst` inner.
            unsafe {
                if r.inner == 1 {
                    let y = row(s, f, src, r.axis);
                    dst[0] = y;
                } else {
                    columns(s, f, src, r.axis, r.inner, dst.as_mut_ptr());
                }
            }
            finish(s, r.op, r.axis, dst);
        }
    }
}

/// What follows the fold, for a few results.
#[inline(always)]
fn finish<S: Simd>(s: S, op: ReduceOp, axis: usize, dst: &mut [f32]) {
    let n = s.splat(axis as f32);
    for y in dst.chunks_mut(S::LANES) {
        let x = s.load_part(y);
        let x = match op {
            ReduceOp::Mean => s.div(x, n),
            ReduceOp::L2 => s.sqrt(x),
            ReduceOp::LogSum => math::log(s, x),
            _ => return,
        };
        s.store_part(y, x);
    }
}

/// Folds `n` contiguous numbers.
///
/// # Safety
/// `src` must be readable for `n` numbers.
#[inline(always)]
unsafe fn row<S: Simd, F: Folding>(s: S, f: F, src: *const f32, n: usize) -> f32 {
    let start = s.splat(F::START);
    let mut acc = [start; 4];
    let mut i = 0;
    // SAFETY: all offsets are below n.
    unsafe {
        while i + 4 * S::LANES <= n {
            for (v, acc) in acc.iter_mut().enumerate() {
                *acc = f.step(s, *acc, s.load_ptr(src.add(i + v * S::LANES)));
            }
            i += 4 * S::LANES;
        }
        while i + S::LANES <= n {
            acc[0] = f.step(s, acc[0], s.load_ptr(src.add(i)));
            i += S::LANES;
        }
        let all = f.join(s, f.join(s, acc[0], acc[1]), f.join(s, acc[2], acc[3]));
        if i == n {
            return f.lanes(s, all);
        }
        // The rest, padded with what changes nothing.
        let mut rest = [F::START; 16];
        s.store_part_ptr(rest.as_mut_ptr(), s.load_part_ptr(src.add(i), n - i), n - i);
        f.lanes(s, f.step(s, all, s.load_ptr(rest.as_ptr())))
    }
}

/// Folds `axis` rows of `inner` numbers into one row.
///
/// # Safety
/// `src` must have `axis * inner` numbers, `dst` `inner`.
#[inline(always)]
unsafe fn columns<S: Simd, F: Folding>(
    s: S,
    f: F,
    src: *const f32,
    axis: usize,
    inner: usize,
    dst: *mut f32,
) {
    let start = s.splat(F::START);
    let mut j = 0;
    // SAFETY: rows below axis, columns below inner.
    unsafe {
        while j + 4 * S::LANES <= inner {
            let mut acc = [start; 4];
            for i in 0..axis {
                for (v, acc) in acc.iter_mut().enumerate() {
                    *acc = f.step(s, *acc, s.load_ptr(src.add(i * inner + j + v * S::LANES)));
                }
            }
            for (v, acc) in acc.iter().enumerate() {
                s.store_ptr(dst.add(j + v * S::LANES), *acc);
            }
            j += 4 * S::LANES;
        }
        while j < inner {
            let n = (inner - j).min(S::LANES);
            let mut acc = start;
            for i in 0..axis {
                acc = f.step(s, acc, s.load_part_ptr(src.add(i * inner + j), n));
            }
            s.store_part_ptr(dst.add(j), acc, n);
            j += n;
        }
    }
}

struct LogSumExp<'a>(Reduce<'a>);

impl SimdOp for LogSumExp<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let r = self.0;
        for o in 0..r.src.len().checked_div(r.axis * r.inner).unwrap_or(r.dst.len() / r.inner) {
            let src = r.src[o * r.axis * r.inner..].as_ptr();
            let dst = r.dst[o * r.inner..].as_mut_ptr();
            let mut j = 0;
            while j < r.inner {
                let n = (r.inner - j).min(S::LANES);
                // SAFETY: rows below axis, columns j..j + n below inner.
                unsafe {
                    if r.inner == 1 && r.axis > 0 {
                        let max = finite(crate::softmax::row_max(s, src, r.axis));
                        let none = core::ptr::null_mut();
                        let sum =
                            crate::softmax::exp_sum::<S, false, false>(s, src, none, r.axis, max);
                        let y = s.add(s.splat(max), math::log(s, s.splat(sum)));
                        s.store_part_ptr(dst, y, 1);
                    } else {
                        let at = |i: usize| src.add(i * r.inner + j);
                        let mut max = s.splat(f32::NEG_INFINITY);
                        for i in 0..r.axis {
                            max = s.max(s.load_part_ptr(at(i), n), max);
                        }
                        let infinite = s.eq(s.abs(max), s.splat(f32::INFINITY));
                        let max = s.select(infinite, s.zero(), max);
                        let mut sum = s.zero();
                        for i in 0..r.axis {
                            let x = s.sub(s.load_part_ptr(at(i), n), max);
                            sum = s.add(sum, math::exp(s, x));
                        }
                        s.store_part_ptr(dst.add(j), s.add(max, math::log(s, sum)), n);
                    }
                }
                j += n;
            }
        }
    }
}

/// An infinite maximum is not subtracted: inf - inf would be NaN.
#[inline(always)]
fn finite(x: f32) -> f32 {
    if x.is_finite() { x } else { 0.0 }
}
