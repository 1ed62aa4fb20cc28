//! Sums of quantised numbers.

use crate::chunks::{split_chunks, tasks};
use crate::requantize::Quantized;
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// Quantised numbers: each stands for `(q - zero) * scale`.
#[derive(Debug, Clone, Copy)]
pub struct Addend<'a, T> {
    /// The numbers.
    pub q: &'a [T],
    /// What a step is.
    pub scale: f32,
    /// What stands for 0.
    pub zero: T,
}

/// `dst = limit(round((a + b) / scale) + zero)` with ties to even, of the numbers that bytes stand for. The result lies within
/// `limits`, which are those of the type or what an activation leaves of them. Each step is rounded to f32, as separate
/// operators would.
///
/// # Panics
/// When the lengths differ.
pub fn add_bytes<T: Quantized>(
    isa: Isa,
    par: &dyn Parallel,
    [a, b]: [Addend<'_, T>; 2],
    (scale, zero): (f32, T),
    limits: (i32, i32),
    dst: &mut [T],
) {
    assert!(a.q.len() == dst.len() && b.q.len() == dst.len(), "lengths of addends and sum");
    let count = tasks(par, dst.len(), dst.len());
    split_chunks(par, count, dst.len(), dst, 1, &|range, dst| {
        let part = |of: Addend<'_, T>| Part { scale: of.scale, zero: of.zero.into() };
        let (x, y) = (&a.q[range.clone()], &b.q[range]);
        let sum = Sum { x, y, of: [part(a), part(b)], scale, zero: zero.into(), limits, dst };
        dispatch(isa, sum);
    });
}

#[derive(Clone, Copy)]
struct Part {
    scale: f32,
    zero: i32,
}

struct Sum<'a, T> {
    x: &'a [T],
    y: &'a [T],
    of: [Part; 2],
    scale: f32,
    zero: i32,
    limits: (i32, i32),
    dst: &'a mut [T],
}

impl<T: Quantized> SimdOp for Sum<'_, T> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        /// 1.5 * 2^23: what is added to it is rounded to an integer, which its lowest bits are then.
        const MAGIC: f32 = 12_582_912.0;
        let [a, b] = self.of;
        // Limits before the zero point is added, so that nothing overflows.
        let low = (self.limits.0 - self.zero) as f32;
        let high = (self.limits.1 - self.zero) as f32;
        let n = self.dst.len();
        let (x, y) = (&self.x[..n], &self.y[..n]);
        for i in 0..n {
            let (p, q): (i32, i32) = (x[i].into(), y[i].into());
            let sum = (p - a.zero) as f32 * a.scale + (q - b.zero) as f32 * b.scale;
            let steps = sum / self.scale;
            let steps = if steps > low { steps } else { low };
            let steps = if steps < high { steps } else { high };
            let whole = ((steps + MAGIC).to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32);
            self.dst[i] = T::from_i32(whole + self.zero);
        }
    }
}
