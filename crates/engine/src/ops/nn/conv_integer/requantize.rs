//! Scales and zero points between sums and bytes.

use crate::error::RunError;
use crate::ops::{Args, Operand, PlanCx, Slot};
use stead_kernels::gemm::Activation;
use stead_kernels::requantize::{Quantized, Scales, requantize};
use stead_tensor::{DType, Element};

use super::first;

/// `x * w / y` for each `w`, rounded in the order of ONNX Runtime; `dst` has one for each, or one `w` is for all of it.
pub(in crate::ops) fn combine_scales(x: f32, w: &[f32], y: f32, dst: &mut [f32]) {
    for (i, dst) in dst.iter_mut().enumerate() {
        *dst = x * w[if w.len() == 1 { 0 } else { i }] / y;
    }
}

/// The zero point of a result at `index`, and the limits of its type.
pub(in crate::ops) fn zero_of(
    a: &Args<'_>,
    index: usize,
    dtype: DType,
) -> Result<(i32, (i32, i32)), RunError> {
    fn of<T: Element + Quantized>(
        a: &Args<'_>,
        index: usize,
    ) -> Result<(i32, (i32, i32)), RunError> {
        Ok((first::<T>(a, index)?.into(), (T::LOW, T::HIGH)))
    }
    if dtype == DType::U8 { of::<u8>(a, index) } else { of::<i8>(a, index) }
}

/// What an activation that only limits leaves of the range of a type: rounding keeps order, so bounds may be rounded in
/// place of numbers.
pub(in crate::ops) fn limited(
    activation: Activation,
    scale: f32,
    zero: i32,
    (least, most): (i32, i32),
) -> (i32, i32) {
    let at = |bound: f32| {
        let rounded = (bound / scale).round_ties_even() + zero as f32;
        (rounded.max(least as f32).min(most as f32)) as i32
    };
    match activation {
        Activation::Relu => (at(0.0), most),
        Activation::Clip { lo, hi } => (at(lo).min(at(hi)), at(hi)),
        _ => (least, most),
    }
}

/// Sums, scale by row, scale by column, scale and zero point of the result to bytes.
pub(in crate::ops) fn emit_requantize<T: Element + Quantized>(
    cx: &mut PlanCx<'_>,
    reads: &[Operand],
    y: Slot,
    count: usize,
    cols: usize,
) {
    cx.step("requantize", reads, &[y], move |a| {
        let sums = &a.read::<i32>(0)?[..count];
        let scales =
            Scales { row: a.read(1)?, col: a.read(2)?, result: a.read(3)?, zero: a.read::<T>(4)? };
        requantize(a.isa, a.parallel, cols, &scales, sums, &mut a.write::<T>()?[..count]);
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_limit_the_range() {
        let all = (-128, 127);
        let cases = [
            ("none", Activation::None, 0.1, 5, all),
            ("relu", Activation::Relu, 0.1, 5, (5, 127)),
            ("relu, all below", Activation::Relu, 0.1, 127, (127, 127)),
            ("clip", Activation::Clip { lo: 0.0, hi: 6.0 }, 0.1, -10, (-10, 50)),
            ("clip beyond the type", Activation::Clip { lo: -99.0, hi: 99.0 }, 0.1, 0, all),
            ("open clip", Activation::Clip { lo: f32::MIN, hi: f32::MAX }, 0.1, 3, all),
            ("ties", Activation::Clip { lo: -0.5, hi: 2.5 }, 1.0, 0, (0, 2)),
        ];
        for (label, activation, scale, zero, want) in cases {
            assert_eq!(limited(activation, scale, zero, all), want, "{label}");
        }
    }
}
