//! Tests of floats.

use half::{bf16, f16};

/// A float type that can be tested.
pub trait Tested: Copy {
    /// Whether it is not a number.
    fn nan(self) -> bool;
    /// Whether it is negative infinity, and positive infinity.
    fn inf(self) -> [bool; 2];
}

macro_rules! tested {
    ($($t:ty)*) => {$(
        impl Tested for $t {
            #[inline(always)]
            fn nan(self) -> bool { self.is_nan() }
            #[inline(always)]
            fn inf(self) -> [bool; 2] { [self == <$t>::NEG_INFINITY, self == <$t>::INFINITY] }
        }
    )*};
}

tested! { f32 f64 f16 bf16 }

/// `out[i]` = 1 where `x[i]` is not a number.
pub fn is_nan<T: Tested>(x: &[T], out: &mut [u8]) {
    for (y, x) in out.iter_mut().zip(x) {
        *y = u8::from(x.nan());
    }
}

/// `out[i]` = 1 where `x[i]` is an infinity of a sign that is asked for.
pub fn is_inf<T: Tested>(negative: bool, positive: bool, x: &[T], out: &mut [u8]) {
    for (y, x) in out.iter_mut().zip(x) {
        let [low, high] = x.inf();
        *y = u8::from((negative & low) | (positive & high));
    }
}
