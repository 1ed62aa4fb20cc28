//! Whole numbers to integer types.

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
