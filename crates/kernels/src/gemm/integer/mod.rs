//! The quantised product: 8-bit numbers with zero points, summed exactly in i32.
//!
//! The left operand is worked on as unsigned and the right one as signed bytes, four numbers along `k` to a lane of 32 bits
//! ([`Simd::dot4`](crate::simd::Simd::dot4)); the other kinds are moved by 128 together with their zero points, which
//! changes no difference; tiles of AMX (`tdpbusd`) read the same. With `A` and `B` moved that far,
//!
//! `sum of (A - a_zero)(B - b_zero) = sum of A B - a_zero sum of B - b_zero (sum of A - k a_zero)`
//!
//! and the sums of the columns of `B` are taken when it is packed, those of the rows of `A` only where `b_zero` is not 0.
//!
//! ```
//! use stead_kernels::gemm::MatRef;
//! use stead_kernels::gemm::integer::{Left, Right, Target, ZeroPoint, gemm, pack, packed_len, scratch_len};
//! use stead_kernels::{Isa, Serial};
//!
//! let (isa, m, n, k) = (Isa::detect(), 1, 2, 3);
//! let mut packed = vec![0; packed_len(k, n)];
//! pack(k, n, MatRef::rows(&[1i8, 0, 0, 1, 2, -2], n), &mut packed);
//! let a = Left { matrix: MatRef::rows(&[11u8, 12, 13], k), zero: ZeroPoint::One(10) };
//! let b = Right { matrix: None, packed: Some(&packed), zero: ZeroPoint::One(0i8) };
//! let mut scratch = vec![0; scratch_len(isa, m, n, k, &a, &b)];
//! let mut c = [0; 2];
//! gemm(isa, &Serial, m, n, k, a, b, Target::Sums(&mut c), n, &mut scratch);
//! assert_eq!(c, [1 + 2 * 3, 2 - 2 * 3]);
//! ```

#[cfg(target_arch = "x86_64")]
mod amx;
mod block;
mod driver;
pub(crate) mod ends;
pub(crate) mod finish;
mod pack;
mod rests;
mod split;
mod sum;
mod tile;

use super::{Activation, MatRef, Residual};

pub use driver::{gemm, scratch_len};
pub(crate) use pack::{
    COLS, LEAST_LIMIT, MOST_BOUNDS, copied_stride, limits_len, padded, sliver_width,
};
pub use pack::{pack, packed_len};

/// u8 or i8.
pub trait Byte: Copy + Send + Sync + Into<i32> + private::Sealed {
    /// Whether it is i8.
    const SIGNED: bool;
    /// Its bits.
    fn bits(self) -> u8;
}

impl Byte for u8 {
    const SIGNED: bool = false;
    #[inline(always)]
    fn bits(self) -> u8 {
        self
    }
}

impl Byte for i8 {
    const SIGNED: bool = true;
    #[inline(always)]
    fn bits(self) -> u8 {
        self as u8
    }
}

mod private {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for i8 {}
}

/// What stands for 0 in a quantised operand.
#[derive(Debug, Clone, Copy)]
pub enum ZeroPoint<'a, T> {
    /// The same for all.
    One(T),
    /// One per row of `A` or per column of `B`.
    Each(&'a [T]),
}

impl<T: Byte> ZeroPoint<'_, T> {
    fn covers(&self, n: usize) -> bool {
        match self {
            ZeroPoint::One(_) => true,
            ZeroPoint::Each(z) => z.len() >= n,
        }
    }

    /// Whether all of the first `n` are `zero`.
    fn are_all(&self, zero: i32, n: usize) -> bool {
        match self {
            ZeroPoint::One(z) => (*z).into() == zero,
            ZeroPoint::Each(z) => z.iter().take(n).all(|&z| z.into() == zero),
        }
    }
}

/// The left operand, `m x k`.
#[derive(Debug, Clone, Copy)]
pub struct Left<'a, A> {
    /// The numbers.
    pub matrix: MatRef<'a, A>,
    /// Their zero points, by row.
    pub zero: ZeroPoint<'a, A>,
}

/// The right operand, `k x n`.
#[derive(Debug, Clone, Copy)]
pub struct Right<'a, B> {
    /// The numbers as they lie; read when there is no packed form.
    pub matrix: Option<MatRef<'a, B>>,
    /// What [`pack`] made of numbers of the same type.
    pub packed: Option<&'a [i32]>,
    /// Their zero points, by column.
    pub zero: ZeroPoint<'a, B>,
}

/// What becomes of the sums.
#[derive(Debug)]
pub enum Target<'a> {
    /// They are stored, wrapped to 32 bits.
    Sums(&'a mut [i32]),
    /// They become numbers again.
    Floats(&'a mut [f32], Scaled<'a>),
    /// They become bytes again: the bits of u8 or i8, whichever the zero point and the limits are of.
    Bytes(&'a mut [u8], Rounded<'a>),
}

/// What numbers for parts of a product belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Along {
    /// Rows of `C`: channels, where weights are the left operand.
    Rows,
    /// Columns of `C`.
    #[default]
    Columns,
}

/// `activation(sums * (a_scale * b_scale) + bias + residual)`, each step rounded to f32 in this order, as separate operators
/// would.
#[derive(Debug, Clone, Copy)]
pub struct Scaled<'a> {
    /// The scale of one operand.
    pub a_scale: f32,
    /// That of the other: one number, or one for each row or column.
    pub b_scale: &'a [f32],
    /// One number for each row or column.
    pub bias: Option<&'a [f32]>,
    /// What scales and bias belong to.
    pub along: Along,
    /// A matrix shaped like `C`; its factor must be 1.
    pub residual: Option<Residual<'a>>,
    /// The last step.
    pub activation: Activation,
}

/// `limit(round((sums + bias) * scale) + zero)`, with ties to even: the rounding of ONNX Runtime, which multiplies by one
/// scale, `x_scale * w_scale / y_scale`, in f32.
#[derive(Debug, Clone, Copy)]
pub struct Rounded<'a> {
    /// One number, or one for each row or column.
    pub scale: &'a [f32],
    /// One number for each row or column, in units of the sums.
    pub bias: Option<&'a [i32]>,
    /// What scales and bias belong to.
    pub along: Along,
    /// What stands for 0.
    pub zero: i32,
    /// The least and the greatest result: those of the type, or what an activation leaves of them.
    pub limits: (i32, i32),
}

#[cfg(test)]
mod tests;
