//! Sums of products over any strides: what Einsum needs beyond matrix products.

use crate::movement::MAX_DIMS;
use half::{bf16, f16};

/// An element type and what its products are summed in.
pub trait Term: Copy {
    /// The sum.
    type Sum: Copy;
    /// An empty sum.
    const ZERO: Self::Sum;
    /// The sum with one more product; integers wrap.
    fn add(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    /// The sum with one more element.
    fn add_one(sum: Self::Sum, a: Self) -> Self::Sum;
    /// The sum as an element.
    fn finish(sum: Self::Sum) -> Self;
}

macro_rules! terms {
    ($($t:ty, $sum:ty, $zero:expr, |$s:ident, $a:ident, $b:ident| $add:expr, $one:expr, $finish:expr;)*) => {
        $(impl Term for $t {
            type Sum = $sum;
            const ZERO: $sum = $zero;
            #[inline(always)]
            fn add($s: $sum, $a: $t, $b: $t) -> $sum {
                $add
            }
            #[inline(always)]
            fn add_one($s: $sum, $a: $t) -> $sum {
                $one
            }
            #[inline(always)]
            fn finish($s: $sum) -> $t {
                $finish
            }
        })*
    };
}

terms! {
    f32, f32, 0.0, |s, a, b| s + a * b, s + a, s;
    f64, f64, 0.0, |s, a, b| s + a * b, s + a, s;
    f16, f32, 0.0, |s, a, b| s + a.to_f32() * b.to_f32(), s + a.to_f32(), f16::from_f32(s);
    bf16, f32, 0.0, |s, a, b| s + a.to_f32() * b.to_f32(), s + a.to_f32(), bf16::from_f32(s);
    i32, i32, 0, |s, a, b| s.wrapping_add(a.wrapping_mul(b)), s.wrapping_add(a), s;
    i64, i64, 0, |s, a, b| s.wrapping_add(a.wrapping_mul(b)), s.wrapping_add(a), s;
}

/// The extents and strides of a contraction: first the dimensions of the result, then those summed over.
#[derive(Debug, Clone, Copy)]
pub struct Contraction<'a> {
    /// Extents of the result.
    pub out: &'a [usize],
    /// Extents summed over.
    pub sum: &'a [usize],
    /// Where the elements of the first operand lie: strides along both lists.
    pub a: Strides<'a>,
    /// Those of the second.
    pub b: Strides<'a>,
}

/// How one operand of a [`Contraction`] lies, in elements. A dimension that it does not have has the
/// stride 0.
#[derive(Debug, Clone, Copy)]
pub struct Strides<'a> {
    /// The first element.
    pub offset: usize,
    /// Along the dimensions of the result.
    pub out: &'a [isize],
    /// Along those summed over.
    pub sum: &'a [isize],
}

/// `dst[i...] = sum over j... of a[i..., j...] b[i..., j...]`, or of `a` alone.
///
/// # Panics
/// When an element lies outside of its slice, or `dst` has another size.
pub fn contract<T: Term>(c: &Contraction<'_>, a: &[T], b: Option<&[T]>, dst: &mut [T]) {
    assert_eq!(dst.len(), c.out.iter().product::<usize>(), "the destination has another size");
    let mut outer = Odometer::new(c.a.offset, c.b.offset);
    for d in dst {
        let mut inner = Odometer::new(outer.a as usize, outer.b as usize);
        let terms = c.sum.iter().product::<usize>();
        let mut sum = T::ZERO;
        for _ in 0..terms {
            sum = match b {
                Some(b) => T::add(sum, a[inner.a as usize], b[inner.b as usize]),
                None => T::add_one(sum, a[inner.a as usize]),
            };
            inner.step(c.sum, c.a.sum, c.b.sum);
        }
        *d = T::finish(sum);
        outer.step(c.out, c.a.out, c.b.out);
    }
}

/// Positions in both operands while all dimensions are stepped through.
struct Odometer {
    at: [usize; MAX_DIMS],
    a: isize,
    b: isize,
}

impl Odometer {
    fn new(a: usize, b: usize) -> Odometer {
        Odometer { at: [0; MAX_DIMS], a: a as isize, b: b as isize }
    }

    #[inline(always)]
    fn step(&mut self, dims: &[usize], a: &[isize], b: &[isize]) {
        for axis in (0..dims.len()).rev() {
            self.at[axis] += 1;
            self.a += a[axis];
            self.b += b[axis];
            if self.at[axis] < dims[axis] {
                return;
            }
            self.a -= a[axis] * dims[axis] as isize;
            self.b -= b[axis] * dims[axis] as isize;
            self.at[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_summed_over_strides() {
        let strides = |out, sum| Strides { offset: 0, out, sum };
        // (2 x 3) times (3 x 2)
        let c = Contraction {
            out: &[2, 2],
            sum: &[3],
            a: strides(&[3, 0], &[1]),
            b: strides(&[0, 1], &[2]),
        };
        let (a, b) = ([1, 2, 3, 4, 5, 6], [1, 0, 0, 1, 1, 1]);
        let mut dst = [0i32; 4];
        contract(&c, &a, Some(&b), &mut dst);
        assert_eq!(dst, [4, 5, 10, 11]);
        let diagonal =
            Contraction { out: &[], sum: &[2], a: strides(&[], &[4]), b: strides(&[], &[0]) };
        contract(&diagonal, &a, None, &mut dst[..1]);
        assert_eq!(dst[0], 6, "trace of the first columns");
    }
}
