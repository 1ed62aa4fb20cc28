//! Scatters: updates written, or combined with what is there, where index tensors say.

use super::{ElementIndex, Index, NdIndex, OutOfRange};
use half::{bf16, f16};

/// How an update meets what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// It replaces it.
    Replace,
    /// The sum; integers wrap.
    Add,
    /// The product; integers wrap.
    Mul,
    /// The greater one; NaN if either is.
    Max,
    /// The smaller one; NaN if either is.
    Min,
}

/// An element type that updates can be combined for.
pub trait Combine: Copy {
    /// What is left when `new` meets `old`.
    fn combine(reduction: Reduction, old: Self, new: Self) -> Self;
}

macro_rules! combine {
    ($($t:ty: |$a:ident, $b:ident| $add:expr, $mul:expr;)*) => {
        $(impl Combine for $t {
            #[inline(always)]
            #[allow(clippy::eq_op)]
            fn combine(reduction: Reduction, $a: Self, $b: Self) -> Self {
                // Only NaN differs from itself.
                match reduction {
                    Reduction::Replace => $b,
                    Reduction::Add => $add,
                    Reduction::Mul => $mul,
                    Reduction::Max => if $b > $a || $b != $b { $b } else { $a },
                    Reduction::Min => if $b < $a || $b != $b { $b } else { $a },
                }
            }
        })*
    };
}

combine! {
    f32: |a, b| a + b, a * b;
    f64: |a, b| a + b, a * b;
    f16: |a, b| f16::from_f32(a.to_f32() + b.to_f32()), f16::from_f32(a.to_f32() * b.to_f32());
    bf16: |a, b| bf16::from_f32(a.to_f32() + b.to_f32()), bf16::from_f32(a.to_f32() * b.to_f32());
    i8: |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    i16: |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    i32: |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    i64: |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    u8: |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    u16: |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    u32: |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    u64: |a, b| a.wrapping_add(b), a.wrapping_mul(b);
}

/// Combines `dst[the element that indices[i] names]` with `updates[i]`.
///
/// # Errors
/// [`OutOfRange`] for an index outside of the axis; some updates are then written.
///
/// # Panics
/// When a slice is too short.
pub fn scatter_elements<T: Combine, I: Index>(
    at: ElementIndex<'_>,
    indices: &[I],
    updates: &[T],
    reduction: Reduction,
    dst: &mut [T],
) -> Result<(), OutOfRange> {
    at.walk(indices, |from, to| {
        dst[to] = T::combine(reduction, dst[to], updates[from]);
    })
}

/// Combines the block of `block` elements that each of `count` index tuples names with the update at its
/// position.
///
/// # Errors
/// [`OutOfRange`] for an index outside of its axis; some updates are then written.
///
/// # Panics
/// When a slice is too short.
pub fn scatter_nd<T: Combine, I: Index>(
    block: usize,
    at: NdIndex<'_>,
    count: usize,
    indices: &[I],
    updates: &[T],
    reduction: Reduction,
    dst: &mut [T],
) -> Result<(), OutOfRange> {
    at.walk(count, indices, |from, to| {
        let dst = &mut dst[to * block..][..block];
        let updates = &updates[from * block..][..block];
        if reduction == Reduction::Replace {
            dst.copy_from_slice(updates);
            return;
        }
        for (d, &u) in dst.iter_mut().zip(updates) {
            *d = T::combine(reduction, *d, u);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_meet_what_is_there() {
        let cases = [
            (Reduction::Replace, 7),
            (Reduction::Add, 3),
            (Reduction::Mul, -28),
            (Reduction::Max, 7),
            (Reduction::Min, -4),
        ];
        for (reduction, expected) in cases {
            assert_eq!(i32::combine(reduction, -4, 7), expected, "{reduction:?}");
            let float = f16::combine(reduction, f16::from_f32(-4.0), f16::from_f32(7.0));
            assert_eq!(float.to_f32(), expected as f32, "{reduction:?}");
        }
        assert_eq!(i8::combine(Reduction::Add, 127, 1), -128, "integers wrap");
        assert!(f32::combine(Reduction::Max, 1.0, f32::NAN).is_nan());
    }

    #[test]
    fn updates_are_scattered() {
        let mut dst = [1i32, 2, 3, 4, 5];
        let at = ElementIndex { dims: &[3], strides: &[1], axis: 0, limit: 5 };
        let got = scatter_elements(at, &[1i64, -1, 1], &[10, 20, 30], Reduction::Add, &mut dst);
        assert_eq!((got, dst), (Ok(()), [1, 42, 3, 4, 25]));
        let mut dst = [0i32; 6];
        let at = NdIndex { limits: &[3], strides: &[1], per_batch: 2, batch_stride: 0 };
        let got = scatter_nd(2, at, 2, &[2i64, 0], &[1, 2, 3, 4], Reduction::Replace, &mut dst);
        assert_eq!((got, dst), (Ok(()), [3, 4, 0, 0, 1, 2]));
        let got = scatter_nd(2, at, 1, &[3i64], &[1, 2], Reduction::Replace, &mut dst);
        assert_eq!(got, Err(OutOfRange { index: 3, limit: 3 }));
    }
}
