//! Functions of bits and of truth values.

use super::zip::{Pair, Run, zip};

/// A function of the bits of two integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitOp {
    /// Both
    And,
    /// Either
    Or,
    /// One of the two
    Xor,
    /// a moved up by b bits; 0 where b is negative or not less than the width
    ShiftLeft,
    /// a moved down by b bits, filled with its sign; where b is negative or not less than the width, what
    /// the sign alone gives
    ShiftRight,
}

/// A function of two truth values, each true unless 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicOp {
    /// Both
    And,
    /// Either
    Or,
    /// One of the two
    Xor,
    /// Both or neither
    Equal,
}

/// An integer type.
pub trait Bits: Copy + Send + Sync + 'static {
    /// `out = op(a, b)`.
    ///
    /// # Panics
    /// When strides along rows are others than 0 and 1, or slices are shorter than the plan says.
    fn bits(run: Run<'_>, op: BitOp, a: &[Self], b: &[Self], out: &mut [Self]);
}

#[derive(Clone, Copy)]
struct And;
#[derive(Clone, Copy)]
struct Or;
#[derive(Clone, Copy)]
struct Xor;
#[derive(Clone, Copy)]
struct Equal;
#[derive(Clone, Copy)]
struct ShiftLeft;
#[derive(Clone, Copy)]
struct ShiftRight;

macro_rules! bits {
    ($($t:ty)*) => {$(
        impl Pair<$t, $t, $t> for ShiftLeft {
            #[inline(always)]
            fn of(self, a: $t, b: $t) -> $t {
                u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0)
            }
        }
        impl Pair<$t, $t, $t> for ShiftRight {
            #[inline(always)]
            fn of(self, a: $t, b: $t) -> $t {
                // All but one bit, then one more: the sign alone is left, or 0.
                u32::try_from(b).ok().and_then(|b| a.checked_shr(b)).unwrap_or(a >> (<$t>::BITS - 1) >> 1)
            }
        }
        impl Pair<$t, $t, $t> for And {
            #[inline(always)]
            fn of(self, a: $t, b: $t) -> $t { a & b }
        }
        impl Pair<$t, $t, $t> for Or {
            #[inline(always)]
            fn of(self, a: $t, b: $t) -> $t { a | b }
        }
        impl Pair<$t, $t, $t> for Xor {
            #[inline(always)]
            fn of(self, a: $t, b: $t) -> $t { a ^ b }
        }
        impl Bits for $t {
            fn bits(run: Run<'_>, op: BitOp, a: &[Self], b: &[Self], out: &mut [Self]) {
                match op {
                    BitOp::And => zip(run, false, And, a, b, out),
                    BitOp::Or => zip(run, false, Or, a, b, out),
                    BitOp::Xor => zip(run, false, Xor, a, b, out),
                    BitOp::ShiftLeft => zip(run, false, ShiftLeft, a, b, out),
                    BitOp::ShiftRight => zip(run, false, ShiftRight, a, b, out),
                }
            }
        }
    )*};
}

bits! { i8 i16 i32 i64 u8 u16 u32 u64 }

/// A byte that is true unless 0.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

macro_rules! truths {
    ($($name:ident: $op:tt)*) => {$(
        impl Pair<Truth, Truth, u8> for $name {
            #[inline(always)]
            fn of(self, a: Truth, b: Truth) -> u8 { u8::from((a.0 != 0) $op (b.0 != 0)) }
        }
    )*};
}

truths! { And: & Or: | Xor: ^ Equal: == }

/// `out = op(a, b)`, 1 for true.
///
/// # Panics
/// As [`Bits::bits`].
pub fn logic(run: Run<'_>, op: LogicOp, a: &[u8], b: &[u8], out: &mut [u8]) {
    let (a, b) = (truths(a), truths(b));
    match op {
        LogicOp::And => zip(run, false, And, a, b, out),
        LogicOp::Or => zip(run, false, Or, a, b, out),
        LogicOp::Xor => zip(run, false, Xor, a, b, out),
        LogicOp::Equal => zip(run, false, Equal, a, b, out),
    }
}

fn truths(bytes: &[u8]) -> &[Truth] {
    // SAFETY: `Truth` has the layout of a byte, and any byte is one.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// `out[i]` = 1 where `x[i]` is 0, else 0.
pub fn not(x: &[u8], out: &mut [u8]) {
    for (y, x) in out.iter_mut().zip(x) {
        *y = u8::from(*x == 0);
    }
}

/// `out[i] = !x[i]`, bit by bit: the same for integers of any width.
pub fn invert(x: &[u8], out: &mut [u8]) {
    for (y, x) in out.iter_mut().zip(x) {
        *y = !*x;
    }
}
