//! Softmax and its logarithm along one axis.
//!
//! ```
//! use stead_kernels::softmax::{Softmax, softmax};
//! use stead_kernels::{Isa, Serial};
//! // Two rows of three; the axis is the last, so that `inner` is 1.
//! let x = [0.0, 0.0, 0.0, 0.0, 1e30, 0.0];
//! let mut y = [0.0; 6];
//! softmax(Isa::detect(), &Serial, Softmax::Normal, (2, 3, 1), &x, &mut y);
//! assert!((y[0] - 1.0 / 3.0).abs() < 1e-7);
//! assert_eq!(&y[3..], [0.0, 1.0, 0.0]);
//! ```

use crate::math;
use crate::par::{Output, for_ranges};
use crate::simd::{Arithmetic, Simd, SimdOp, TOGETHER, Together, dispatch, map_row};
use crate::{Isa, Parallel};

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Softmax {
    /// e^x / sum of e^x, the largest subtracted first so that no power is too large.
    Normal,
    /// e^x / sum of e^x as it stands: no numbers where powers or their sum are too large or all are too small.
    Unshifted,
    /// Its logarithm, without the loss of computing it as one
    Log,
}

/// Softmax over the middle of `(outer, axis, inner)`, in row-major order: `inner` is 1 for the last
/// axis. Accurate to 1e-6 relative, the logarithm to that or 1e-7 absolute; a row of minus
/// infinities gives NaN.
///
/// # Panics
/// If `src` or `dst` is not `outer * axis * inner` long.
pub fn softmax(
    isa: Isa,
    par: &dyn Parallel,
    form: Softmax,
    (outer, axis, inner): (usize, usize, usize),
    src: &[f32],
    dst: &mut [f32],
) {
    let block = axis * inner;
    assert_eq!(src.len(), outer * block, "length of the source");
    assert_eq!(dst.len(), outer * block, "length of the destination");
    if block == 0 {
        return;
    }
    let out = Output::new(dst);
    for_ranges(par, outer, block, &|from, to| {
        // SAFETY: ranges of different tasks are disjoint.
        let out = unsafe { out.part(from * block, (to - from) * block) };
        let src = src[from * block..to * block].as_ptr();
        dispatch(isa, Blocks { form, src, dst: out.as_mut_ptr(), outer: to - from, axis, inner });
    });
}

/// [`softmax`] over each of the rows of `cols` numbers, in place.
///
/// # Panics
/// If `x` is not a whole number of rows.
pub fn softmax_rows_in_place(
    isa: Isa,
    par: &dyn Parallel,
    form: Softmax,
    cols: usize,
    x: &mut [f32],
) {
    if cols == 0 {
        return;
    }
    let rows = x.len() / cols;
    assert_eq!(x.len(), rows * cols, "length of the rows");
    let out = Output::new(x);
    for_ranges(par, rows, cols, &|from, to| {
        // SAFETY: ranges of different tasks are disjoint.
        let out = unsafe { out.part(from * cols, (to - from) * cols) };
        let dst = out.as_mut_ptr();
        dispatch(isa, Blocks { form, src: dst, dst, outer: to - from, axis: cols, inner: 1 });
    });
}

/// `src` and `dst` are the same or do not overlap.
struct Blocks {
    form: Softmax,
    src: *const f32,
    dst: *mut f32,
    outer: usize,
    axis: usize,
    inner: usize,
}

impl SimdOp for Blocks {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        for o in 0..self.outer {
            let at = o * self.axis * self.inner;
            // SAFETY: block `o` has axis * inner numbers in both.
            unsafe {
                let (src, dst) = (self.src.add(at), self.dst.add(at));
                if self.inner == 1 {
                    row(s, self.form, src, dst, self.axis);
                } else {
                    let mut j = 0;
                    while j + S::LANES <= self.inner {
                        let (src, dst) = (src.add(j), dst.add(j));
                        columns::<S, true>(s, self.form, src, dst, self.axis, self.inner, S::LANES);
                        j += S::LANES;
                    }
                    if j < self.inner {
                        let (src, dst, n) = (src.add(j), dst.add(j), self.inner - j);
                        columns::<S, false>(s, self.form, src, dst, self.axis, self.inner, n);
                    }
                }
            }
        }
    }
}

/// One contiguous row.
///
/// # Safety
/// Both pointers must reach `n >= 1` numbers.
#[inline(always)]
unsafe fn row<S: Simd>(s: S, form: Softmax, src: *const f32, dst: *mut f32, n: usize) {
    // SAFETY: all offsets are below n.
    unsafe {
        let max = if form == Softmax::Unshifted { 0.0 } else { row_max(s, src, n) };
        let sum = match form {
            Softmax::Normal => exp_sum::<S, true, true>(s, src, dst, n, max),
            Softmax::Unshifted => exp_sum::<S, true, false>(s, src, dst, n, max),
            Softmax::Log => exp_sum::<S, false, true>(s, src, dst, n, max),
        };
        match form {
            Softmax::Normal | Softmax::Unshifted => scale(s, dst, n, 1.0 / sum),
            Softmax::Log => {
                // Subtracting one after the other: max + ln(sum) would lose ln(sum) beside a
                // large max.
                let (max, log) = (s.splat(max), math::log(s, s.splat(sum)));
                let mut i = 0;
                while i < n {
                    let len = (n - i).min(S::LANES);
                    let x = s.load_part_ptr(src.add(i), len);
                    s.store_part_ptr(dst.add(i), s.sub(s.sub(x, max), log), len);
                    i += len;
                }
            }
        }
    }
}

/// The largest of `n >= 1` numbers; NaN may be passed over.
///
/// # Safety
/// `src` must be readable for `n` numbers.
#[inline(always)]
pub(crate) unsafe fn row_max<S: Simd>(s: S, src: *const f32, n: usize) -> f32 {
    let low = s.splat(f32::NEG_INFINITY);
    let mut max = [low; 4];
    let mut i = 0;
    // SAFETY: all offsets are below n.
    unsafe {
        while i + 4 * S::LANES <= n {
            for (v, max) in max.iter_mut().enumerate() {
                *max = s.max(s.load_ptr(src.add(i + v * S::LANES)), *max);
            }
            i += 4 * S::LANES;
        }
        while i + S::LANES <= n {
            max[0] = s.max(s.load_ptr(src.add(i)), max[0]);
            i += S::LANES;
        }
        let mut top = s.max_lane(s.max(s.max(max[0], max[1]), s.max(max[2], max[3])));
        while i < n {
            top = top.max(*src.add(i));
            i += 1;
        }
        top
    }
}

/// e^x, which is not above 0 if `SHIFTED`.
#[inline(always)]
fn exp_of<S: Arithmetic, const SHIFTED: bool>(s: S, x: S::F32) -> S::F32 {
    if SHIFTED { math::exp_shifted(s, x) } else { math::exp_normal(s, x) }
}

/// The sum of e^(x - max), and the addends in `dst` if `STORE`. No number may be above `max` if `SHIFTED`.
///
/// # Safety
/// `src` must be readable, and `dst` writable if `STORE`, for `n` numbers.
#[inline(always)]
pub(crate) unsafe fn exp_sum<S: Simd, const STORE: bool, const SHIFTED: bool>(
    s: S,
    src: *const f32,
    dst: *mut f32,
    n: usize,
    max: f32,
) -> f32 {
    let together = Together::<S, TOGETHER>(s);
    let mut sums = together.zero();
    let mut i = 0;
    // SAFETY: all offsets are below n.
    unsafe {
        while i + TOGETHER * S::LANES <= n {
            let x = together.sub(together.load_ptr(src.add(i)), together.splat(max));
            let y = exp_of::<_, SHIFTED>(together, x);
            if STORE {
                together.store_ptr(dst.add(i), y);
            }
            sums = together.add(sums, y);
            i += TOGETHER * S::LANES;
        }
        let (mut sum, shift) = (together.folded(sums), s.splat(max));
        while i + S::LANES <= n {
            let y = exp_of::<S, SHIFTED>(s, s.sub(s.load_ptr(src.add(i)), shift));
            if STORE {
                s.store_ptr(dst.add(i), y);
            }
            sum = s.add(sum, y);
            i += S::LANES;
        }
        let mut total = s.sum(sum);
        while i < n {
            let len = (n - i).min(S::LANES);
            let x = s.sub(s.load_part_ptr(src.add(i), len), shift);
            let y = exp_of::<S, SHIFTED>(s, x);
            let mut lanes = [0.0f32; 16];
            s.store_ptr(lanes.as_mut_ptr(), y);
            for x in &lanes[..len] {
                total += x;
            }
            if STORE {
                s.store_part_ptr(dst.add(i), y, len);
            }
            i += len;
        }
        total
    }
}

/// Multiplies `n` numbers.
///
/// # Safety
/// `dst` must be readable and writable for `n` numbers.
#[inline(always)]
pub(crate) unsafe fn scale<S: Simd>(s: S, dst: *mut f32, n: usize, factor: f32) {
    // SAFETY: the caller's promise.
    unsafe { map_row!(s, dst, dst, n, |s, x| s.mul(x, s.splat(factor))) }
}

/// `n <= LANES` columns side by side, all of them if `FULL`, `stride` numbers from row to row.
///
/// # Safety
/// Both pointers must reach `n` numbers in each of `axis` rows.
#[inline(always)]
unsafe fn columns<S: Simd, const FULL: bool>(
    s: S,
    form: Softmax,
    src: *const f32,
    dst: *mut f32,
    axis: usize,
    stride: usize,
    n: usize,
) {
    // SAFETY: row i < axis, columns below n.
    unsafe {
        let mut max = s.zero();
        if form != Softmax::Unshifted {
            max = s.splat(f32::NEG_INFINITY);
            for i in 0..axis {
                max = s.max(load::<S, FULL>(s, src.add(i * stride), n), max);
            }
        }
        let mut sum = s.zero();
        for i in 0..axis {
            let x = s.sub(load::<S, FULL>(s, src.add(i * stride), n), max);
            let y = if form == Softmax::Unshifted {
                math::exp_normal(s, x)
            } else {
                math::exp_shifted(s, x)
            };
            sum = s.add(sum, y);
            let keep = if form == Softmax::Log { x } else { y };
            store::<S, FULL>(s, dst.add(i * stride), keep, n);
        }
        let factor = match form {
            Softmax::Normal | Softmax::Unshifted => s.div(s.splat(1.0), sum),
            Softmax::Log => math::log(s, sum),
        };
        for i in 0..axis {
            let x = load::<S, FULL>(s, dst.add(i * stride), n);
            let y = if form == Softmax::Log { s.sub(x, factor) } else { s.mul(x, factor) };
            store::<S, FULL>(s, dst.add(i * stride), y, n);
        }
    }
}

/// `n` numbers, which are a vector if `FULL`: a part of one takes several times as long on some processors.
///
/// # Safety
/// `p` must be readable for `n` numbers.
#[inline(always)]
unsafe fn load<S: Simd, const FULL: bool>(s: S, p: *const f32, n: usize) -> S::F32 {
    // SAFETY: the caller's promise.
    unsafe { if FULL { s.load_ptr(p) } else { s.load_part_ptr(p, n) } }
}

/// As [`load`].
///
/// # Safety
/// `p` must be writable for `n` numbers.
#[inline(always)]
unsafe fn store<S: Simd, const FULL: bool>(s: S, p: *mut f32, v: S::F32, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { if FULL { s.store_ptr(p, v) } else { s.store_part_ptr(p, v, n) } }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::Serial;
    use std::vec::Vec;

    fn reference(
        form: Softmax,
        (outer, axis, inner): (usize, usize, usize),
        x: &[f32],
    ) -> Vec<f64> {
        let mut y = std::vec![0.0; x.len()];
        for o in 0..outer {
            for j in 0..inner {
                let at = |i: usize| (o * axis + i) * inner + j;
                let max = (0..axis).map(|i| f64::from(x[at(i)])).fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = (0..axis).map(|i| (f64::from(x[at(i)]) - max).exp()).sum();
                for i in 0..axis {
                    let z = f64::from(x[at(i)]) - max;
                    y[at(i)] = match form {
                        Softmax::Normal | Softmax::Unshifted => z.exp() / sum,
                        Softmax::Log => z - sum.ln(),
                    };
                }
            }
        }
        y
    }

    #[test]
    fn scores_below_the_normal_weights_are_within_the_bound() {
        let hidden = [0.0, -80.0, -86.9, -87.2, -87.4, -87.6, -95.0, -104.0, -10_000.0, f32::MIN];
        for isa in Isa::available() {
            for shape in [(1, 33, 1), (2, 33, 3)] {
                let (outer, axis, inner) = shape;
                let x: Vec<f32> =
                    (0..outer * axis * inner).map(|i| hidden[i % hidden.len()]).collect();
                let mut y = std::vec![f32::NAN; x.len()];
                softmax(isa, &Serial, Softmax::Normal, shape, &x, &mut y);
                for (i, want) in reference(Softmax::Normal, shape, &x).into_iter().enumerate() {
                    let error = (f64::from(y[i]) - want).abs();
                    let bound = 1e-6 * want + 1e-38;
                    assert!(error <= bound, "{isa:?} {shape:?} {i}: {} {want}", y[i]);
                    assert!(x[i] > -1e4 || y[i] == 0.0, "{isa:?} {shape:?} {i}: {}", y[i]);
                }
            }
        }
    }

    #[test]
    fn agrees_with_f64() {
        let shapes =
            [(3, 1, 1), (2, 7, 1), (2, 128, 1), (1, 1000, 1), (2, 5, 3), (1, 9, 40), (2, 33, 17)];
        for isa in Isa::available() {
            for shape in shapes {
                let (outer, axis, inner) = shape;
                let n = outer * axis * inner;
                let x: Vec<f32> = (0..n)
                    .map(|i| ((i * 7919) % 1000) as f32 * 0.02 - 10.0 + 100.0 * (i % 2) as f32)
                    .collect();
                for form in [Softmax::Normal, Softmax::Log] {
                    let mut y = std::vec![f32::NAN; n];
                    softmax(isa, &Serial, form, shape, &x, &mut y);
                    for (i, want) in reference(form, shape, &x).into_iter().enumerate() {
                        let error = (f64::from(y[i]) - want).abs();
                        let least = if form == Softmax::Log { 1e-7 } else { 1e-38 };
                        assert!(
                            error <= 1e-6 * want.abs() + least,
                            "{isa:?} {shape:?} {form:?} {i}: {} {want}",
                            y[i]
                        );
                    }
                    if inner == 1 {
                        let mut z = x.clone();
                        softmax_rows_in_place(isa, &Serial, form, axis, &mut z);
                        assert_eq!(z, y, "{isa:?} {shape:?} {form:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn unshifted_powers_are_those_of_the_numbers() {
        for isa in Isa::available() {
            for shape in [(3, 1, 1), (2, 37, 1), (2, 9, 20)] {
                let (outer, axis, inner) = shape;
                let n = outer * axis * inner;
                let x: Vec<f32> =
                    (0..n).map(|i| ((i * 7919) % 1000) as f32 * 0.12 - 60.0).collect();
                let mut y = std::vec![f32::NAN; n];
                softmax(isa, &Serial, Softmax::Unshifted, shape, &x, &mut y);
                for (y, want) in y.iter().zip(reference(Softmax::Unshifted, shape, &x)) {
                    let error = (f64::from(*y) - want).abs();
                    assert!(error <= 1e-6 * want + 1e-38, "{isa:?} {shape:?}: {y} {want}");
                }
                softmax(isa, &Serial, Softmax::Unshifted, shape, &std::vec![100.0; n], &mut y);
                assert!(y.iter().all(|y| y.is_nan()), "{isa:?} {shape:?}: powers are infinite");
            }
        }
    }

    #[test]
    fn masked_and_hostile_rows() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for isa in Isa::available() {
            for inner in [1, 20] {
                let run = |row: [f32; 3]| {
                    let x: Vec<f32> = row.iter().flat_map(|&x| std::vec![x; inner]).collect();
                    let mut y = std::vec![0.0; x.len()];
                    softmax(isa, &Serial, Softmax::Normal, (1, 3, inner), &x, &mut y);
                    [y[0], y[inner], y[2 * inner]]
                };
                assert_eq!(run([0.0, -inf, 0.0]), [0.5, 0.0, 0.5], "{isa:?}");
                assert!(run([-inf, -inf, -inf]).iter().all(|y| y.is_nan()), "{isa:?}");
                assert!(run([1.0, nan, 2.0]).iter().all(|y| y.is_nan()), "{isa:?}");
                assert_eq!(run([-3e38, 3e38, 0.0]), [0.0, 1.0, 0.0], "{isa:?}");
            }
        }
    }
}
