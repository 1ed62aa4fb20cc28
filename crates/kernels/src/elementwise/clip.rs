//! Limits.

use super::lane::map_half;
use super::number::Number;
use crate::simd::{Scalar, Simd, SimdOp, dispatch};
use crate::split::split;
use crate::{Isa, Parallel};
use half::{bf16, f16};

/// An element type with limits.
pub trait ClipLane: Copy + Send + Sync + 'static {
    /// `out[i] = min(hi, max(lo, x[i]))`; an absent limit does not limit, NaN stays, and `hi` wins where the
    /// limits cross.
    ///
    /// # Panics
    /// When the lengths differ.
    fn clip(
        isa: Isa,
        parallel: &dyn Parallel,
        limits: [Option<Self>; 2],
        x: &[Self],
        out: &mut [Self],
    );
}

/// As [`ClipLane::clip`].
pub fn clip<T: ClipLane>(
    isa: Isa,
    parallel: &dyn Parallel,
    limits: [Option<T>; 2],
    x: &[T],
    out: &mut [T],
) {
    T::clip(isa, parallel, limits, x, out);
}

struct Clip<'a, T> {
    lo: T,
    hi: T,
    x: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> SimdOp for Clip<'_, T> {
    type Output = ();
    #[inline(always)]
    fn eval<S: Simd>(self, _: S) {
        let Clip { lo, hi, x, out } = self;
        for (y, &x) in out.iter_mut().zip(x) {
            let raised = if x < lo { lo } else { x };
            *y = if raised > hi { hi } else { raised };
        }
    }
}

macro_rules! clips {
    ($($t:ty: $min:expr, $max:expr;)*) => {$(
        impl ClipLane for $t {
            fn clip(
                isa: Isa,
                parallel: &dyn Parallel,
                limits: [Option<Self>; 2],
                x: &[Self],
                out: &mut [Self],
            ) {
                assert_eq!(x.len(), out.len(), "lengths of source and destination");
                let (lo, hi) = (limits[0].unwrap_or($min), limits[1].unwrap_or($max));
                split(parallel, out, &|start, out| {
                    let clip = Clip { lo, hi, x: &x[start..][..out.len()], out };
                    if <$t>::COMMON { dispatch(isa, clip) } else { clip.eval(Scalar) }
                });
            }
        }
    )*};
}

clips! {
    f32: f32::NEG_INFINITY, f32::INFINITY;
    f64: f64::NEG_INFINITY, f64::INFINITY;
    i8: i8::MIN, i8::MAX;
    i16: i16::MIN, i16::MAX;
    i32: i32::MIN, i32::MAX;
    i64: i64::MIN, i64::MAX;
    u8: u8::MIN, u8::MAX;
    u16: u16::MIN, u16::MAX;
    u32: u32::MIN, u32::MAX;
    u64: u64::MIN, u64::MAX;
}

macro_rules! half_clips {
    ($($t:ty)*) => {$(
        impl ClipLane for $t {
            fn clip(
                isa: Isa,
                parallel: &dyn Parallel,
                limits: [Option<Self>; 2],
                x: &[Self],
                out: &mut [Self],
            ) {
                let lo = limits[0].map_or(f32::NEG_INFINITY, f32::from);
                let hi = limits[1].map_or(f32::INFINITY, f32::from);
                map_half(isa, parallel, x, out, &|x, out| dispatch(isa, Clip { lo, hi, x, out }));
            }
        }
    )*};
}

half_clips! { f16 bf16 }
