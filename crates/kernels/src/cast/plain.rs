//! Numbers of whole bytes, and truth values.

use half::{bf16, f16};

/// A number that can become a `B`.
pub trait Cast<B>: Copy {
    /// The conversion of one number.
    fn cast(self) -> B;
}

macro_rules! casts {
    ([$($a:ty)*] => $b:tt, |$x:ident| $value:expr) => { $(casts!(@ $a, $b, |$x| $value);)* };
    (@ $a:ty, [$($b:ty)*], |$x:ident| $value:expr) => {$(
        impl Cast<$b> for $a {
            #[inline(always)]
            fn cast(self) -> $b {
                let $x = self;
                // Some pairs are the same type.
                #[allow(clippy::unnecessary_cast)]
                { $value as $b }
            }
        }
    )*};
}

casts!([i8 i16 i32 i64 u8 u16 u32 u64] => [i8 i16 i32 i64 u8 u16 u32 u64 f32 f64], |x| x);
casts!([f32 f64] => [f32 f64 i32 i64], |x| x);
casts!([f32 f64] => [i8 i16 u8 u16], |x| (x as i32));
casts!([f32 f64] => [u32], |x| (x as i64));
casts!([f32 f64] => [u64], |x| (if x < 0.0 { x as i64 as u64 } else { x as u64 }));

macro_rules! from_halves {
    ($($b:ty)*) => {$(
        impl Cast<$b> for f16 {
            #[inline(always)]
            fn cast(self) -> $b {
                Cast::<$b>::cast(f32::from(self))
            }
        }
        impl Cast<$b> for bf16 {
            #[inline(always)]
            fn cast(self) -> $b {
                Cast::<$b>::cast(f32::from(self))
            }
        }
    )*};
}

from_halves! { i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 }

macro_rules! to_halves {
    ($($h:ty: $($a:ty)*;)*) => {$($(
        impl Cast<$h> for $a {
            #[inline(always)]
            fn cast(self) -> $h { <$h>::from_f32(self as f32) }
        }
    )*)*};
}

to_halves! {
    f16: i8 i16 i32 i64 u8 u16 u32 u64 f32;
    bf16: i8 i16 i32 i64 u8 u16 u32 u64 f32;
}

impl Cast<f16> for f64 {
    #[inline(always)]
    fn cast(self) -> f16 {
        f16::from_f64(self)
    }
}

impl Cast<bf16> for f64 {
    #[inline(always)]
    fn cast(self) -> bf16 {
        bf16::from_f64(self)
    }
}

macro_rules! between_halves {
    ($($a:ty => $b:ty),*) => {$(
        impl Cast<$b> for $a {
            #[inline(always)]
            fn cast(self) -> $b { <$b>::from_f32(f32::from(self)) }
        }
    )*};
}

between_halves! { f16 => f16, f16 => bf16, bf16 => f16, bf16 => bf16 }

/// Converts each number.
///
/// # Panics
/// When the lengths differ.
pub fn cast<A: Cast<B>, B>(src: &[A], dst: &mut [B]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    for (y, x) in dst.iter_mut().zip(src) {
        *y = x.cast();
    }
}

/// 1 for all numbers but 0; NaN is true.
///
/// # Panics
/// When the lengths differ.
pub fn to_truth<A: Copy + PartialEq + Default>(src: &[A], dst: &mut [u8]) {
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    for (y, x) in dst.iter_mut().zip(src) {
        *y = u8::from(*x != A::default());
    }
}

/// 1 for true bytes, else 0.
///
/// # Panics
/// When the lengths differ.
pub fn from_truth<B>(src: &[u8], dst: &mut [B])
where
    u8: Cast<B>,
{
    assert_eq!(src.len(), dst.len(), "lengths of source and destination");
    for (y, x) in dst.iter_mut().zip(src) {
        *y = u8::from(*x != 0).cast();
    }
}
