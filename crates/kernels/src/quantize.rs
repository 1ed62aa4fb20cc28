//! Linear quantisation: `q = round(x / scale) + zero_point` and back.

use crate::chunks::{split_chunks, tasks};
use crate::requantize::Quantized;
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};
use half::f16;

/// Which scale belongs to which element: `x` is `(outer, axis, inner)`, and a scale serves `block` elements
/// along the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scales {
    /// Elements before the axis.
    pub outer: usize,
    /// Elements along it.
    pub axis: usize,
    /// Elements after it.
    pub inner: usize,
    /// Elements along the axis that share a scale; 1 for a scale for each.
    pub block: usize,
    /// Whether scales differ between positions before and after the axis (blocked), or only along it.
    pub whole: bool,
}

/// A run of elements whose scales lie `step` (0 or 1) apart.
struct Run {
    start: usize,
    len: usize,
    scale: usize,
    step: usize,
}

impl Scales {
    /// One scale for all of `n` elements.
    pub const fn single(n: usize) -> Scales {
        Scales { outer: 1, axis: 1, inner: n, block: 1, whole: false }
    }

    /// The number of elements.
    pub const fn elements(&self) -> usize {
        self.outer * self.axis * self.inner
    }

    /// The number of scales.
    pub const fn count(&self) -> usize {
        let along = self.axis.div_ceil(self.block);
        if self.whole { self.outer * along * self.inner } else { along }
    }

    /// `x / scale + zero`, not rounded: for floats of few bits. `zero` may be empty.
    ///
    /// # Panics
    /// When the lengths do not fit.
    pub fn divide(&self, x: &[f32], scale: &[f32], zero: &[f32], out: &mut [f32]) {
        assert_eq!(x.len(), self.elements(), "length of the source");
        assert_eq!(out.len(), x.len(), "length of the destination");
        for Run { start, len, scale: at, step } in self.runs() {
            let pairs = out[start..][..len].iter_mut().zip(&x[start..][..len]);
            for (i, (y, x)) in pairs.enumerate() {
                let k = at + i * step;
                *y = x / scale[k] + zero.get(k).copied().unwrap_or(0.0);
            }
        }
    }

    #[inline(always)]
    fn runs(&self) -> impl Iterator<Item = Run> + use<> {
        let Scales { outer, axis, inner, block, whole } = *self;
        let along = axis.div_ceil(block);
        // A scale for each element of rows without anything after the axis: whole rows at a time.
        let (steps, len, step) =
            if inner == 1 && block == 1 { (1, axis, 1) } else { (axis, inner, usize::from(whole)) };
        (0..outer).flat_map(move |o| {
            (0..steps).map(move |i| {
                let before = if whole { o * along * inner } else { 0 };
                let scale = before + i / block * if whole { inner } else { 1 };
                Run { start: (o * steps + i) * len, len, scale, step }
            })
        })
    }
}

/// `q = round(x / scale) + zero_point`, not yet limited to a type, with ties to even. `zero` may be empty. With
/// `half` quotients are rounded to half precision before that.
///
/// # Panics
/// When the lengths do not fit.
pub fn quantize(
    isa: Isa,
    scales: &Scales,
    x: &[f32],
    scale: &[f32],
    zero: &[f32],
    half: bool,
    q: &mut [f32],
) {
    assert_eq!(x.len(), scales.elements(), "length of the source");
    assert_eq!(q.len(), x.len(), "length of the destination");
    assert_eq!(scale.len(), scales.count(), "number of scales");
    for Run { start, len, scale: at, step } in scales.runs() {
        let (x, q) = (&x[start..][..len], &mut q[start..][..len]);
        if half {
            for (i, (q, x)) in q.iter_mut().zip(x).enumerate() {
                let quotient = f16::from_f32(x / scale[at + i * step]).to_f32();
                let zero = zero.get(at + i * step).copied().unwrap_or(0.0);
                *q = round(quotient) + zero;
            }
            continue;
        }
        dispatch(isa, Quantize { x, scale: &scale[at..], zero: zero.get(at..), step, q });
    }
}

/// To the nearest integer with ties to even, for numbers of which only those below 2^22 matter: larger ones
/// are limited to it, and NaN becomes 0.
#[inline(always)]
fn round(x: f32) -> f32 {
    const LIMIT: f32 = 4_194_304.0;
    /// 1.5 * 2^23, where the distance between numbers is 1.
    const MAGIC: f32 = 12_582_912.0;
    let x = if x > -LIMIT { x } else { -LIMIT };
    let x = if x < LIMIT { x } else { LIMIT };
    (x + MAGIC) - MAGIC
}

struct Quantize<'a> {
    x: &'a [f32],
    scale: &'a [f32],
    zero: Option<&'a [f32]>,
    step: usize,
    q: &'a mut [f32],
}

impl SimdOp for Quantize<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Quantize { x, scale, zero, step, q } = self;
        let n = q.len();
        let x = &x[..n];
        let zero = zero.filter(|z| !z.is_empty());
        if step == 0 {
            let (scale, zero) = (scale[0], zero.map_or(0.0, |z| z[0]));
            for i in 0..n {
                q[i] = round(x[i] / scale) + zero;
            }
            return;
        }
        let scale = &scale[..n];
        for i in 0..n {
            q[i] = round(x[i] / scale[i]);
        }
        if let Some(zero) = zero {
            let zero = &zero[..n];
            for i in 0..n {
                q[i] += zero[i];
            }
        }
    }
}

/// `x = (q - zero_point) * scale`. `zero` may be empty.
///
/// # Panics
/// When the lengths do not fit.
pub fn dequantize(
    isa: Isa,
    scales: &Scales,
    q: &[f32],
    scale: &[f32],
    zero: &[f32],
    x: &mut [f32],
) {
    assert_eq!(q.len(), scales.elements(), "length of the source");
    assert_eq!(q.len(), x.len(), "length of the destination");
    assert_eq!(scale.len(), scales.count(), "number of scales");
    for Run { start, len, scale: at, step } in scales.runs() {
        let (q, x) = (&q[start..][..len], &mut x[start..][..len]);
        dispatch(isa, Dequantize { q, scale: &scale[at..], zero: zero.get(at..), step, x });
    }
}

struct Dequantize<'a> {
    q: &'a [f32],
    scale: &'a [f32],
    zero: Option<&'a [f32]>,
    step: usize,
    x: &'a mut [f32],
}

impl SimdOp for Dequantize<'_> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Dequantize { q, scale, zero, step, x } = self;
        let n = x.len();
        let q = &q[..n];
        let zero = zero.filter(|z| !z.is_empty());
        if step == 0 {
            let (scale, zero) = (scale[0], zero.map_or(0.0, |z| z[0]));
            for i in 0..n {
                x[i] = (q[i] - zero) * scale;
            }
            return;
        }
        let scale = &scale[..n];
        match zero {
            None => (0..n).for_each(|i| x[i] = q[i] * scale[i]),
            Some(zero) => {
                let zero = &zero[..n];
                for i in 0..n {
                    x[i] = (q[i] - zero[i]) * scale[i];
                }
            }
        }
    }
}

/// `q = round(x / scale) + zero` with ties to even, limited to the type: one scale for all, without a detour by floats.
/// NaN gives the least number.
///
/// # Panics
/// When the lengths differ.
pub fn quantize_bytes<T: Quantized>(
    isa: Isa,
    par: &dyn Parallel,
    x: &[f32],
    scale: f32,
    zero: T,
    q: &mut [T],
) {
    assert_eq!(q.len(), x.len(), "lengths of source and destination");
    let count = tasks(par, x.len(), x.len());
    split_chunks(par, count, x.len(), q, 1, &|range, q| {
        dispatch(isa, QuantizeBytes { x: &x[range], scale, zero, q });
    });
}

struct QuantizeBytes<'a, T> {
    x: &'a [f32],
    scale: f32,
    zero: T,
    q: &'a mut [T],
}

impl<T: Quantized> SimdOp for QuantizeBytes<'_, T> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        const { assert!(size_of::<T>() == 1) };
        let (scale, zero) = (s.splat(self.scale), s.splat_i32(self.zero.into()));
        // Limits before the zero point is added, so that nothing overflows.
        let low = s.splat((T::LOW - self.zero.into()) as f32);
        let high = s.splat((T::HIGH - self.zero.into()) as f32);
        let whole = self.q.len() / S::LANES * S::LANES;
        let (x, q) = (self.x.as_ptr(), self.q.as_mut_ptr().cast::<u8>());
        let mut i = 0;
        // SAFETY: `x` and `q` are of one length, and whole vectors below it.
        unsafe {
            while i < whole {
                let y = s.div(s.load_ptr(x.add(i)), scale);
                let y = s.min(high, s.max(y, low));
                s.store_low_bytes(q.add(i), s.add_i32(s.to_i32(y), zero));
                i += S::LANES;
            }
            let rest = self.q.len() - whole;
            if rest > 0 {
                let y = s.div(s.load_part_ptr(x.add(whole), rest), scale);
                let y = s.min(high, s.max(y, low));
                let mut last = [0u8; 16];
                s.store_low_bytes(last.as_mut_ptr(), s.add_i32(s.to_i32(y), zero));
                core::ptr::copy_nonoverlapping(last.as_ptr(), q.add(whole), rest);
            }
        }
    }
}

/// Numbers to integers of a type, limited to its range; NaN gives 0.
///
/// # Panics
/// When the lengths differ.
pub fn limit<T: FromWhole>(q: &[f32], dst: &mut [T]) {
    assert_eq!(q.len(), dst.len(), "lengths of source and destination");
    for (y, q) in dst.iter_mut().zip(q) {
        *y = T::from_whole(*q);
    }
}

/// An integer type that [`limit`] can make.
pub trait FromWhole {
    /// The nearest number of the type to a whole number.
    fn from_whole(x: f32) -> Self;
}

macro_rules! whole {
    ($($t:ty)*) => {$(
        impl FromWhole for $t {
            #[inline(always)]
            fn from_whole(x: f32) -> $t { x as $t }
        }
    )*};
}

whole! { i8 u8 i16 u16 }

/// Scale and zero point of unsigned 8-bit numbers for `x`, with 0 in their range, after the definition of
/// DynamicQuantizeLinear. Of nothing, or of zeros: scale 1 and zero point 0 in place of a division by zero.
pub fn dynamic_scale(isa: Isa, x: &[f32]) -> (f32, u8) {
    struct Range<'a>(&'a [f32]);
    impl SimdOp for Range<'_> {
        type Output = (f32, f32);
        #[inline(always)]
        fn eval<S: Simd>(self, s: S) -> (f32, f32) {
            // Several vectors are under way at a time.
            let (mut low, mut high) = ([s.zero(); 4], [s.zero(); 4]);
            let groups = self.0.chunks_exact(4 * S::LANES);
            let rest = groups.remainder();
            for group in groups {
                for (i, (low, high)) in low.iter_mut().zip(&mut high).enumerate() {
                    let v = s.load(&group[i * S::LANES..]);
                    *low = s.min(v, *low);
                    *high = s.max(v, *high);
                }
            }
            // The rest is filled up with zeros, which count anyway.
            for chunk in rest.chunks(S::LANES) {
                let v = s.load_part(chunk);
                low[0] = s.min(v, low[0]);
                high[0] = s.max(v, high[0]);
            }
            let least = s.min(s.min(low[0], low[1]), s.min(low[2], low[3]));
            let most = s.max(s.max(high[0], high[1]), s.max(high[2], high[3]));
            (s.min_lane(least), s.max_lane(most))
        }
    }
    let (low, high) = dispatch(isa, Range(x));
    let scale = (high - low) / 255.0;
    if scale == 0.0 {
        return (1.0, 0);
    }
    (scale, round(-low / scale) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    #[test]
    fn scales_by_tensor_axis_and_block() {
        let x = [0.0, 2.5, 3.5, -1.5, 6.0, 127.4];
        let cases: [(&str, Scales, &[f32], &[f32], [f32; 6]); 4] = [
            ("tensor", Scales::single(6), &[1.0], &[], [0.0, 2.0, 4.0, -2.0, 6.0, 127.0]),
            (
                "rows",
                Scales { outer: 1, axis: 2, inner: 3, block: 1, whole: false },
                &[0.5, 2.0],
                &[0.0, 10.0],
                [0.0, 5.0, 7.0, 9.0, 13.0, 74.0],
            ),
            (
                "columns",
                Scales { outer: 2, axis: 3, inner: 1, block: 1, whole: false },
                &[1.0, 0.5, 2.0],
                &[1.0, 2.0, 3.0],
                [1.0, 7.0, 5.0, -1.0, 14.0, 67.0],
            ),
            (
                "blocks of two columns",
                Scales { outer: 2, axis: 3, inner: 1, block: 2, whole: true },
                &[1.0, 2.0, 0.5, 4.0],
                &[],
                [0.0, 2.0, 2.0, -3.0, 12.0, 32.0],
            ),
        ];
        for isa in Isa::available() {
            for (label, scales, scale, zero, want) in cases {
                let mut got = [0.0; 6];
                quantize(isa, &scales, &x, scale, zero, false, &mut got);
                assert_eq!(got, want, "{label}");
            }
            let mut back = [0.0; 2];
            let scales = Scales { outer: 1, axis: 2, inner: 1, block: 1, whole: false };
            dequantize(isa, &scales, &[3.0, 4.0], &[2.0, 0.5], &[1.0, 0.0], &mut back);
            assert_eq!(back, [4.0, 2.0]);
            assert_eq!(dynamic_scale(isa, &[]), (1.0, 0));
            assert_eq!(dynamic_scale(isa, &[-1.0, 0.5, 254.0]), (1.0, 1));
        }
        let mut bytes = [0u8; 4];
        limit(&[-3.0, 300.0, f32::NAN, 7.0], &mut bytes);
        assert_eq!(bytes, [0, 255, 0, 7]);
    }

    #[test]
    fn bytes_are_those_of_the_steps_one_by_one() {
        let x: [f32; 41] = core::array::from_fn(|i| match i {
            0 => f32::NAN,
            1 => f32::INFINITY,
            2 => f32::NEG_INFINITY,
            3 => 1e30,
            _ => (i as f32 - 20.0) * 9.25,
        });
        for isa in Isa::available() {
            for len in [0, 1, 5, 16, 33, 41] {
                for (scale, zero) in [(0.5, 0), (0.5, 7), (1.5, 128), (3.0, 255), (1.0, 20)] {
                    let x = &x[..len];
                    let mut whole = [0.0; 41];
                    let zeros = [f32::from(zero)];
                    let all = Scales::single(len);
                    quantize(isa, &all, x, &[scale], &zeros, false, &mut whole[..len]);
                    let (mut want, mut got) = ([0u8; 41], [9u8; 41]);
                    limit(&whole[..len], &mut want[..len]);
                    quantize_bytes(isa, &Serial, x, scale, zero, &mut got[..len]);
                    assert_eq!(got[..len], want[..len], "{isa:?} {len} {scale} {zero}");
                    assert!(got[len..].iter().all(|&x| x == 9), "{isa:?} {len} wrote behind");
                    let signed = [f32::from(zero as i8)];
                    quantize(isa, &all, x, &[scale], &signed, false, &mut whole[..len]);
                    let (mut want, mut got) = ([0i8; 41], [9i8; 41]);
                    limit(&whole[..len], &mut want[..len]);
                    quantize_bytes(isa, &Serial, x, scale, zero as i8, &mut got[..len]);
                    assert_eq!(got[..len], want[..len], "{isa:?} {len} {scale} {zero} signed");
                }
            }
        }
    }

    #[test]
    fn the_range_is_that_of_all_numbers() {
        for isa in Isa::available() {
            for at in [0, 17, 63, 64, 130, 136] {
                let mut x = [0.0; 137];
                x[at] = 510.0;
                assert_eq!(dynamic_scale(isa, &x), (2.0, 0), "{isa:?} {at}");
                x[at] = -255.0;
                assert_eq!(dynamic_scale(isa, &x), (1.0, 255), "{isa:?} {at}");
            }
        }
    }
}
