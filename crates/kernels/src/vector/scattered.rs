//! Measures between one vector and others that lie anywhere, as the neighbours of a node of a graph do.
//!
//! Such vectors are seldom in a cache: those that come next are asked for while one is compared.

use super::hamming::{differing, run};
use super::rows::{Floats, Measure, Product, Square, Step, Wide, Widen, sum_of};
use crate::Isa;
use crate::simd::{LINE_BYTES, Simd, SimdOp, dispatch};

/// The measure between `vector` and each of `list`, vectors of the same length.
///
/// # Panics
/// If the lengths do not fit.
pub fn scattered<W: Wide + Floats, T: Widen<W>>(
    isa: Isa,
    measure: Measure,
    vector: &[W],
    list: &[&[T]],
    out: &mut [W],
) {
    check(vector.len(), list, out.len());
    if let Some(list) = T::all_as_wide(list)
        && W::scattered(isa, measure, vector, list, out)
    {
        return;
    }
    match measure {
        Measure::Dot => dispatch(isa, Each { vector, list, out, step: Product }),
        Measure::SquaredDistance => dispatch(isa, Each { vector, list, out, step: Square }),
    }
}

/// The sums of the products of `vector` and each of `list`, and of those of each with itself, in one pass: what angles
/// are made of.
///
/// # Panics
/// If the lengths do not fit.
pub fn dots_and_squares<W: Wide + Floats, T: Widen<W>>(
    isa: Isa,
    vector: &[W],
    list: &[&[T]],
    dots: &mut [W],
    squares: &mut [W],
) {
    check(vector.len(), list, dots.len());
    assert_eq!(dots.len(), squares.len(), "a square for each vector");
    dispatch(isa, Both { vector, list, dots, squares });
}

/// The number of bits in which `vector` and each of `list`, vectors of the same length, differ.
///
/// # Panics
/// If the lengths do not fit.
pub fn hamming_scattered(isa: Isa, vector: &[i8], list: &[&[i8]], out: &mut [u32]) {
    check(vector.len(), list, out.len());
    run(isa, Differing { vector, list, out });
}

/// Asks for the cache lines of a list that is read soon; nothing on machines that cannot.
#[inline(always)]
pub fn prefetch<T>(list: &[T]) {
    let mut at = 0;
    while at < core::mem::size_of_val(list) {
        prefetch_line(list.as_ptr().cast::<u8>().wrapping_add(at));
        at += LINE_BYTES;
    }
}

/// Bytes of a vector that are asked for before it is compared. Of longer ones the rest is asked for shortly before: all at once are more than the
/// processor waits for at a time, which was measured to take half as long again for 384 f32.
const BEGIN: usize = 640;

/// Asks for the beginning of a list that is read soon.
#[inline(always)]
pub fn prefetch_begin<T>(list: &[T]) {
    let mut at = 0;
    while at < core::mem::size_of_val(list).min(BEGIN) {
        prefetch_line(list.as_ptr().cast::<u8>().wrapping_add(at));
        at += LINE_BYTES;
    }
}

#[inline(always)]
fn prefetch_line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch does not fault, whatever the address, and is of SSE, which every x86-64 has.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    let _ = at;
}

fn check<T>(len: usize, list: &[&[T]], out: usize) {
    assert_eq!(list.len(), out, "a result for each vector");
    assert!(list.iter().all(|row| row.len() == len), "the numbers of the vectors");
}

/// Vectors whose first lines are asked for before they are compared, for those who did not ask for their [beginnings](prefetch_begin).
const AHEAD: usize = 16;

/// Vectors whose rests are asked for before they are compared: with 384 f32, a seventh of the time that searches of a graph took before, when
/// the processor was left to guess them. From 3 on about as good.
const RESTS_AHEAD: usize = 6;

/// Where a rest ends: behind so many bytes the processor has seen what comes next.
const END: usize = 4 * BEGIN;

/// Asks for the first of some vectors.
#[inline(always)]
fn begin_ahead<T>(list: &[&[T]]) {
    list.iter().take(AHEAD).for_each(|row| prefetch_line(row.as_ptr().cast()));
    list.iter().take(RESTS_AHEAD).for_each(|row| prefetch_rest(row));
}

/// Asks for a vector that is compared after the one that is now.
#[inline(always)]
fn ahead<T>(list: &[&[T]], at: usize) {
    if let Some(row) = list.get(at + AHEAD) {
        prefetch_line(row.as_ptr().cast());
    }
    if let Some(row) = list.get(at + RESTS_AHEAD) {
        prefetch_rest(row);
    }
}

/// Asks for what follows the beginning of a list.
#[inline(always)]
fn prefetch_rest<T>(list: &[T]) {
    let mut at = BEGIN;
    while at < core::mem::size_of_val(list).min(END) {
        prefetch_line(list.as_ptr().cast::<u8>().wrapping_add(at));
        at += LINE_BYTES;
    }
}

struct Each<'a, W, T, P> {
    vector: &'a [W],
    list: &'a [&'a [T]],
    out: &'a mut [W],
    step: P,
}

impl<W: Wide, T: Widen<W>, P: Step> SimdOp for Each<'_, W, T, P> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        begin_ahead(self.list);
        for (at, (row, out)) in self.list.iter().zip(self.out).enumerate() {
            ahead(self.list, at);
            *out = sum_of(self.step, self.vector, row);
        }
    }
}

struct Both<'a, W, T> {
    vector: &'a [W],
    list: &'a [&'a [T]],
    dots: &'a mut [W],
    squares: &'a mut [W],
}

/// Sums that are made side by side, of each kind: two vectors of the widest instruction set.
const SUMS: usize = 32;

impl<W: Wide, T: Widen<W>> SimdOp for Both<'_, W, T> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        begin_ahead(self.list);
        let (wholes, rest) = self.vector.as_chunks::<SUMS>();
        for (at, row) in self.list.iter().enumerate() {
            ahead(self.list, at);
            let (row_wholes, row_rest) = row.as_chunks::<SUMS>();
            let (mut dots, mut squares) = ([W::ZERO; SUMS], [W::ZERO; SUMS]);
            for (xs, ys) in wholes.iter().zip(row_wholes) {
                for i in 0..SUMS {
                    let y = ys[i].wide();
                    dots[i] = dots[i] + xs[i] * y;
                    squares[i] = squares[i] + y * y;
                }
            }
            for (i, (x, y)) in rest.iter().zip(row_rest).enumerate() {
                let y = y.wide();
                dots[i] = dots[i] + *x * y;
                squares[i] = squares[i] + y * y;
            }
            let mut half = SUMS / 2;
            while half > 0 {
                for i in 0..half {
                    dots[i] = dots[i] + dots[i + half];
                    squares[i] = squares[i] + squares[i + half];
                }
                half /= 2;
            }
            (self.dots[at], self.squares[at]) = (dots[0], squares[0]);
        }
    }
}

struct Differing<'a> {
    vector: &'a [i8],
    list: &'a [&'a [i8]],
    out: &'a mut [u32],
}

impl SimdOp for Differing<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        begin_ahead(self.list);
        for (at, (row, out)) in self.list.iter().zip(self.out).enumerate() {
            ahead(self.list, at);
            *out = differing(self.vector, row);
        }
    }
}

/// [`scattered`] of f32, with fused products.
pub(super) fn scattered_floats(
    isa: Isa,
    measure: Measure,
    vector: &[f32],
    list: &[&[f32]],
    out: &mut [f32],
) {
    check(vector.len(), list, out.len());
    match measure {
        Measure::Dot => dispatch(isa, OfFloats::<true> { vector, list, out }),
        Measure::SquaredDistance => dispatch(isa, OfFloats::<false> { vector, list, out }),
    }
}

struct OfFloats<'a, const IS_DOT: bool> {
    vector: &'a [f32],
    list: &'a [&'a [f32]],
    out: &'a mut [f32],
}

impl<const IS_DOT: bool> SimdOp for OfFloats<'_, IS_DOT> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        begin_ahead(self.list);
        for (at, (row, out)) in self.list.iter().zip(self.out).enumerate() {
            ahead(self.list, at);
            *out = of_floats::<S, IS_DOT>(s, self.vector, row);
        }
    }
}

/// Vectors of lanes whose sums are made side by side, to hide the latency of sums.
const SIDE: usize = 4;

#[inline(always)]
fn of_floats<S: Simd, const IS_DOT: bool>(s: S, x: &[f32], y: &[f32]) -> f32 {
    let n = x.len().min(y.len());
    let mut sums = [s.zero(); SIDE];
    let mut at = 0;
    while at + SIDE * S::LANES <= n {
        for (i, sum) in sums.iter_mut().enumerate() {
            debug_assert!(at + (i + 1) * S::LANES <= n);
            // SAFETY: SIDE vectors of lanes lie behind `at` in both.
            let (a, b) = unsafe {
                let from = at + i * S::LANES;
                (s.load_ptr(x.as_ptr().add(from)), s.load_ptr(y.as_ptr().add(from)))
            };
            *sum = add::<S, IS_DOT>(s, a, b, *sum);
        }
        at += SIDE * S::LANES;
    }
    for sum in &mut sums {
        if at < n {
            let (a, b) = (s.load_part(&x[at..n]), s.load_part(&y[at..n]));
            *sum = add::<S, IS_DOT>(s, a, b, *sum);
        }
        at += S::LANES;
    }
    s.sum(s.add(s.add(sums[0], sums[1]), s.add(sums[2], sums[3])))
}

#[inline(always)]
fn add<S: Simd, const IS_DOT: bool>(s: S, a: S::F32, b: S::F32, sum: S::F32) -> S::F32 {
    if IS_DOT {
        s.fma(a, b, sum)
    } else {
        let apart = s.sub(a, b);
        s.fma(apart, apart, sum)
    }
}
