//! Linear quantisation: `q = round(x / scale) + zero_point` and back.
//!
//! [`quantize`] and [`dequantize`] go by floats, for all types and [`Scales`]; bytes are made and read without that where one
//! scale is for all of them.

mod bytes;
mod dynamic;
mod few_bits;
mod linear;
mod sum;
mod table;
mod whole;

pub use bytes::{dequantize_bytes, quantize_bytes};
pub use dynamic::dynamic_scale;
pub use few_bits::{FewBits, widen_few_bits};
pub use linear::{dequantize, quantize};
pub use sum::{Addend, add_bytes};
pub use table::look_up;
pub use whole::{FromWhole, limit};

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

#[cfg(test)]
mod tests;
