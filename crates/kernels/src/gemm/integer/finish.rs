//! What happens to the sums of a tile before they are stored.

use super::{Byte, Scaled, Target, ZeroPoint};
use crate::gemm::ActivateRows;
use crate::gemm::activation::Activation;
use crate::gemm::fits;
use crate::simd::{Simd, SimdOp};

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
    fn only(self) -> Option<i32> {
        self.each.is_null().then_some(self.one)
    }

    /// # Safety
    /// Row or column `i` must exist.
    #[inline(always)]
    unsafe fn get(self, i: usize) -> i32 {
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
    sums: *mut i32,
    floats: *mut f32,
    stride: usize,
    a_scale: f32,
    b_scale: *const f32,
    /// 0 for one scale for all columns.
    scale_step: usize,
    bias: *const f32,
    residual: *const f32,
    residual_stride: usize,
    activation: Activation,
}

impl Raw {
    /// Checks the lengths.
    ///
    /// # Panics
    /// If anything is smaller than `m x n`, or a residual has a factor.
    pub fn new(target: Target<'_>, m: usize, n: usize, stride: usize) -> Raw {
        let covers = |len| fits(len, m, stride, n, 1) && (m == 1 || stride >= n);
        let null = core::ptr::null();
        let none = Raw {
            sums: core::ptr::null_mut(),
            floats: core::ptr::null_mut(),
            stride,
            a_scale: 1.0,
            b_scale: null,
            scale_step: 0,
            bias: null,
            residual: null,
            residual_stride: 0,
            activation: Activation::None,
        };
        match target {
            Target::Sums(c) => {
                assert!(covers(c.len()), "C smaller than m x n");
                Raw { sums: c.as_mut_ptr(), ..none }
            }
            Target::Floats(c, scaled) => {
                let Scaled { a_scale, b_scale, bias, residual, activation } = scaled;
                assert!(covers(c.len()), "C smaller than m x n");
                assert!(b_scale.len() == 1 || b_scale.len() >= n, "scales of columns");
                assert!(bias.is_none_or(|b| b.len() >= n), "bias shorter than n");
                let fit = residual
                    .is_none_or(|r| r.scale == 1.0 && fits(r.data.len(), m, r.row_stride, n, 1));
                assert!(fit, "residual smaller than m x n, or with a factor");
                Raw {
                    floats: c.as_mut_ptr(),
                    a_scale,
                    b_scale: b_scale.as_ptr(),
                    scale_step: usize::from(b_scale.len() > 1),
                    bias: bias.map_or(null, <[f32]>::as_ptr),
                    residual: residual.map_or(null, |r| r.data.as_ptr()),
                    residual_stride: residual.map_or(0, |r| r.row_stride),
                    activation,
                    ..none
                }
            }
        }
    }
}

/// The end of a tile of `rows x cols` at `(row, col)`, whose sums lie in memory in whole vectors.
#[derive(Clone, Copy)]
pub struct Finish {
    pub sums: *const i32,
    pub sums_stride: usize,
    pub row: usize,
    pub rows: usize,
    pub col: usize,
    pub cols: usize,
    pub k: usize,
    pub a_zero: Zeros,
    pub b_zero: Zeros,
    /// Sums of the rows of `A`; null when the zero points of `B` are 0.
    pub row_sums: *const i32,
    /// Sums of the columns of `B`.
    pub col_sums: *const i32,
    pub raw: Raw,
}

impl SimdOp for Finish {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let mut at = 0;
        // SAFETY: columns below `cols`, as whoever builds the struct promises.
        unsafe {
            while at + S::LANES <= self.cols {
                self.columns::<S, true>(s, at, S::LANES);
                at += S::LANES;
            }
            if at < self.cols {
                self.columns::<S, false>(s, at, self.cols - at);
            }
            let Raw { floats, stride, activation, .. } = self.raw;
            if !floats.is_null() && activation.bounds().is_none() {
                let data = floats.add(self.row * stride + self.col);
                let (rows, cols) = (self.rows, self.cols);
                s.call(ActivateRows { act: activation, data, rows, cols, stride });
            }
        }
    }
}

impl Finish {
    /// One vector of columns, `n` of which exist: all of them when it is `FULL`.
    ///
    /// # Safety
    /// The columns must exist in all operands.
    #[inline(always)]
    unsafe fn columns<S: Simd, const FULL: bool>(&self, s: S, at: usize, n: usize) {
        let raw = &self.raw;
        let col = self.col + at;
        // SAFETY: the caller's promise; sums of columns and of tiles are padded to whole vectors.
        unsafe {
            let col_sums = s.load_i32_ptr(self.col_sums.add(col));
            let common = match self.a_zero.only() {
                Some(zero) => s.mul_i32(col_sums, s.splat_i32(zero)),
                None => s.splat_i32(0),
            };
            let mut b_zeros = s.splat_i32(0);
            if !self.row_sums.is_null() {
                let mut list = [0i32; 16];
                for (j, zero) in list.iter_mut().enumerate().take(n) {
                    *zero = self.b_zero.get(col + j);
                }
                b_zeros = s.load_i32_ptr(list.as_ptr());
            }
            let (mut scale, mut bias) = (s.zero(), s.zero());
            if !raw.floats.is_null() {
                scale = if raw.scale_step == 0 {
                    s.splat(*raw.b_scale)
                } else if FULL {
                    s.load_ptr(raw.b_scale.add(col))
                } else {
                    s.load_part_ptr(raw.b_scale.add(col), n)
                };
                scale = s.mul(s.splat(raw.a_scale), scale);
                if !raw.bias.is_null() {
                    let from = raw.bias.add(col);
                    bias = if FULL { s.load_ptr(from) } else { s.load_part_ptr(from, n) };
                }
            }
            let bounds = raw.activation.bounds();
            let (low, high) = bounds.unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
            let (low, high) = (s.splat(low), s.splat(high));
            for i in 0..self.rows {
                let row = self.row + i;
                let mut x = s.load_i32_ptr(self.sums.add(i * self.sums_stride + at));
                x = s.sub_i32(x, common);
                if self.a_zero.only().is_none() {
                    let zero = s.splat_i32(self.a_zero.get(row));
                    x = s.sub_i32(x, s.mul_i32(col_sums, zero));
                }
                if !self.row_sums.is_null() {
                    let moved = (self.k as i32).wrapping_mul(self.a_zero.get(row));
                    let rest = s.splat_i32((*self.row_sums.add(row)).wrapping_sub(moved));
                    x = s.sub_i32(x, s.mul_i32(b_zeros, rest));
                }
                let to = row * raw.stride + col;
                if raw.floats.is_null() {
                    // Bits are only moved: the mask of a last part is there for f32.
                    let to = raw.sums.add(to);
                    if FULL {
                        s.store_i32_ptr(to, x);
                    } else {
                        s.store_part_ptr(to.cast(), s.bits_to_f32(x), n);
                    }
                    continue;
                }
                let mut y = s.mul(s.to_f32(x), scale);
                if !raw.bias.is_null() {
                    y = s.add(y, bias);
                }
                if !raw.residual.is_null() {
                    let from = raw.residual.add(row * raw.residual_stride + col);
                    let r = if FULL { s.load_ptr(from) } else { s.load_part_ptr(from, n) };
                    y = s.add(y, r);
                }
                if bounds.is_some() {
                    y = s.min(high, s.max(low, y));
                }
                if FULL {
                    s.store_ptr(raw.floats.add(to), y);
                } else {
                    s.store_part_ptr(raw.floats.add(to), y, n);
                }
            }
        }
    }
}
