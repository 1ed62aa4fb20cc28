//! What the end of a tile reads beside its sums: zero points, and the target with its scales and biases, as pointers.

use super::{Along, Byte, Rounded, Scaled, Target, ZeroPoint};
use crate::gemm::activation::Activation;
use crate::gemm::fits;
use crate::simd::Simd;

/// Zero points of rows or columns, moved to the kind of byte that the kernel works on.
#[derive(Clone, Copy)]
pub struct Zeros {
    /// The one of all, or null in `each`.
    one: i32,
    each: *const u8,
    signed: bool,
    shift: i32,
}

impl Zeros {
    /// `shift` is what numbers and zero points were moved by.
    pub fn new<T: Byte>(zeros: &ZeroPoint<'_, T>, shift: i32) -> Zeros {
        let (one, each) = match zeros {
            ZeroPoint::One(z) => ((*z).into() + shift, core::ptr::null()),
            ZeroPoint::Each(z) => (0, z.as_ptr().cast()),
        };
        Zeros { one, each, signed: T::SIGNED, shift }
    }

    /// The only one, if it is the same for all.
    #[inline(always)]
    pub fn only(self) -> Option<i32> {
        self.each.is_null().then_some(self.one)
    }

    /// # Safety
    /// Row or column `i` must exist.
    #[inline(always)]
    pub unsafe fn get(self, i: usize) -> i32 {
        if self.each.is_null() {
            return self.one;
        }
        // SAFETY: the caller's promise.
        let byte = unsafe { *self.each.add(i) };
        self.shift + if self.signed { i32::from(byte as i8) } else { i32::from(byte) }
    }
}

/// A target as pointers to element `(0, 0)`, null where there is none.
#[derive(Clone, Copy)]
pub struct Raw {
    pub sums: *mut i32,
    pub floats: *mut f32,
    pub bytes: *mut u8,
    pub stride: usize,
    pub a_scale: f32,
    pub b_scale: *const f32,
    /// 0 for one scale for all.
    pub scale_step: usize,
    /// Whether scales and bias belong to rows.
    pub by_row: bool,
    pub bias: *const f32,
    pub whole_bias: *const i32,
    pub residual: *const f32,
    pub residual_stride: usize,
    pub activation: Activation,
    pub zero: i32,
    pub limits: (i32, i32),
}

impl Raw {
    /// Checks the lengths.
    ///
    /// # Panics
    /// If anything is smaller than `m x n`, or a residual has a factor.
    pub fn new(target: Target<'_>, m: usize, n: usize, stride: usize) -> Raw {
        let covers = |len| fits(len, m, stride, n, 1) && (m == 1 || stride >= n);
        let count = |along| if along == Along::Rows { m } else { n };
        let null = core::ptr::null();
        let none = Raw {
            sums: core::ptr::null_mut(),
            floats: core::ptr::null_mut(),
            bytes: core::ptr::null_mut(),
            stride,
            a_scale: 1.0,
            b_scale: null,
            scale_step: 0,
            by_row: false,
            bias: null,
            whole_bias: core::ptr::null(),
            residual: null,
            residual_stride: 0,
            activation: Activation::None,
            zero: 0,
            limits: (0, 0),
        };
        match target {
            Target::Sums(c) => {
                assert!(covers(c.len()), "C smaller than m x n");
                Raw { sums: c.as_mut_ptr(), ..none }
            }
            Target::Floats(c, scaled) => {
                let Scaled { a_scale, b_scale, bias, along, residual, activation } = scaled;
                let count = count(along);
                assert!(covers(c.len()), "C smaller than m x n");
                assert!(b_scale.len() == 1 || b_scale.len() >= count, "scales of rows or columns");
                assert!(bias.is_none_or(|b| b.len() >= count), "bias too short");
                let fit = residual
                    .is_none_or(|r| r.scale == 1.0 && fits(r.data.len(), m, r.row_stride, n, 1));
                assert!(fit, "residual smaller than m x n, or with a factor");
                Raw {
                    floats: c.as_mut_ptr(),
                    a_scale,
                    b_scale: b_scale.as_ptr(),
                    scale_step: usize::from(b_scale.len() > 1),
                    by_row: along == Along::Rows,
                    bias: bias.map_or(null, <[f32]>::as_ptr),
                    residual: residual.map_or(null, |r| r.data.as_ptr()),
                    residual_stride: residual.map_or(0, |r| r.row_stride),
                    activation,
                    ..none
                }
            }
            Target::Bytes(c, Rounded { scale, bias, along, zero, limits }) => {
                let count = count(along);
                assert!(covers(c.len()), "C smaller than m x n");
                assert!(scale.len() == 1 || scale.len() >= count, "scales of rows or columns");
                assert!(bias.is_none_or(|b| b.len() >= count), "bias too short");
                Raw {
                    bytes: c.as_mut_ptr(),
                    b_scale: scale.as_ptr(),
                    scale_step: usize::from(scale.len() > 1),
                    by_row: along == Along::Rows,
                    whole_bias: bias.map_or(core::ptr::null(), <[i32]>::as_ptr),
                    zero,
                    limits,
                    ..none
                }
            }
        }
    }
}

/// A bias that leaves every number as it is, -0 too.
const NO_BIAS: f32 = -0.0;

/// Scale and bias of one vector of sums.
pub struct Factors<S: Simd> {
    pub scale: S::F32,
    pub bias: S::F32,
    pub whole_bias: S::I32,
}

impl<S: Simd> Factors<S> {
    /// Those of sums that stay as they are.
    #[inline(always)]
    pub fn none(s: S) -> Factors<S> {
        Factors { scale: s.zero(), bias: s.zero(), whole_bias: s.splat_i32(0) }
    }

    /// Those of `n` columns from `col` on.
    ///
    /// # Safety
    /// The columns must exist, and a whole vector of them when it is `FULL`.
    #[inline(always)]
    pub unsafe fn of_columns<const FULL: bool>(
        s: S,
        raw: &Raw,
        col: usize,
        n: usize,
    ) -> Factors<S> {
        // SAFETY: the caller's promise.
        unsafe {
            let load = |p: *const f32| {
                if FULL { s.load_ptr(p.add(col)) } else { s.load_part_ptr(p.add(col), n) }
            };
            let scale = if raw.scale_step == 0 { s.splat(*raw.b_scale) } else { load(raw.b_scale) };
            let bias = if raw.bias.is_null() { s.splat(NO_BIAS) } else { load(raw.bias) };
            let whole =
                if raw.whole_bias.is_null() { s.zero() } else { load(raw.whole_bias.cast()) };
            let scale = s.mul(s.splat(raw.a_scale), scale);
            Factors { scale, bias, whole_bias: s.bits(whole) }
        }
    }

    /// Those of a row.
    ///
    /// # Safety
    /// The row must exist.
    #[inline(always)]
    pub unsafe fn of_row(s: S, raw: &Raw, row: usize) -> Factors<S> {
        // SAFETY: the caller's promise.
        unsafe {
            let scale = raw.a_scale * *raw.b_scale.add(row * raw.scale_step);
            let bias = if raw.bias.is_null() { NO_BIAS } else { *raw.bias.add(row) };
            let whole = if raw.whole_bias.is_null() { 0 } else { *raw.whole_bias.add(row) };
            Factors { scale: s.splat(scale), bias: s.splat(bias), whole_bias: s.splat_i32(whole) }
        }
    }
}
