//! What happens to the sums of a tile before they are stored.

use super::{Along, Byte, Rounded, Scaled, Target, ZeroPoint};
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
    bytes: *mut u8,
    stride: usize,
    a_scale: f32,
    b_scale: *const f32,
    /// 0 for one scale for all.
    scale_step: usize,
    /// Whether scales and bias belong to rows.
    by_row: bool,
    bias: *const f32,
    whole_bias: *const i32,
    residual: *const f32,
    residual_stride: usize,
    activation: Activation,
    zero: i32,
    limits: (i32, i32),
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

/// What sums become: what is asked once for a tile, not for each of its vectors.
mod to {
    pub const SUMS: u8 = 0;
    pub const FLOATS: u8 = 1;
    pub const BYTES: u8 = 2;
}

impl SimdOp for Finish {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let raw = &self.raw;
        let is_plain = self.a_zero.only().is_some() && self.row_sums.is_null() && !raw.by_row;
        match (raw.bytes.is_null(), raw.floats.is_null(), is_plain) {
            (false, _, true) => self.all::<S, { to::BYTES }, true>(s),
            (false, _, false) => self.all::<S, { to::BYTES }, false>(s),
            (true, false, true) => self.all::<S, { to::FLOATS }, true>(s),
            (true, false, false) => self.all::<S, { to::FLOATS }, false>(s),
            (true, true, _) => self.all::<S, { to::SUMS }, false>(s),
        }
    }
}

impl Finish {
    /// All columns; `PLAIN` if `A` has one zero point, those of `B` are 0, and scales and biases belong to columns.
    #[inline(always)]
    fn all<S: Simd, const TO: u8, const PLAIN: bool>(&self, s: S) {
        let mut at = 0;
        // SAFETY: columns below `cols`, as whoever builds the struct promises.
        unsafe {
            while at + S::LANES <= self.cols {
                self.columns::<S, TO, PLAIN, true>(s, at, S::LANES);
                at += S::LANES;
            }
            if at < self.cols {
                self.columns::<S, TO, PLAIN, false>(s, at, self.cols - at);
            }
            let Raw { floats, stride, activation, .. } = self.raw;
            if TO == to::FLOATS && activation.bounds().is_none() {
                let data = floats.add(self.row * stride + self.col);
                let (rows, cols) = (self.rows, self.cols);
                s.call(ActivateRows { act: activation, data, rows, cols, stride });
            }
        }
    }

    /// One vector of columns, `n` of which exist: all of them when it is `FULL`.
    ///
    /// # Safety
    /// The columns must exist in all operands.
    #[inline(always)]
    unsafe fn columns<S: Simd, const TO: u8, const PLAIN: bool, const FULL: bool>(
        &self,
        s: S,
        at: usize,
        n: usize,
    ) {
        let raw = &self.raw;
        let col = self.col + at;
        // SAFETY: the caller's promise; sums of columns and of tiles are padded to whole vectors.
        unsafe {
            let col_sums = s.load_i32_ptr(self.col_sums.add(col));
            let mut common = match self.a_zero.only() {
                Some(zero) => s.mul_i32(col_sums, s.splat_i32(zero)),
                None => s.splat_i32(0),
            };
            let mut b_zeros = s.splat_i32(0);
            if !PLAIN && !self.row_sums.is_null() {
                let mut list = [0i32; 16];
                for (j, zero) in list.iter_mut().enumerate().take(n) {
                    *zero = self.b_zero.get(col + j);
                }
                b_zeros = s.load_i32_ptr(list.as_ptr());
            }
            let mut factors = Factors::none(s);
            if TO != to::SUMS && !raw.by_row {
                factors = Factors::of_columns::<FULL>(s, raw, col, n);
            }
            if PLAIN && TO == to::BYTES {
                common = s.sub_i32(common, factors.whole_bias);
            }
            let (low, high) = raw.activation.bounds().unwrap_or(UNBOUNDED);
            let (low, high) = (s.splat(low), s.splat(high));
            // Limits before the zero point is added, so that nothing overflows.
            let least = s.splat((raw.limits.0 - raw.zero) as f32);
            let most = s.splat((raw.limits.1 - raw.zero) as f32);
            let zero = s.splat_i32(raw.zero);
            for i in 0..self.rows {
                let row = self.row + i;
                let mut x = s.load_i32_ptr(self.sums.add(i * self.sums_stride + at));
                x = s.sub_i32(x, common);
                if !PLAIN && self.a_zero.only().is_none() {
                    let zero = s.splat_i32(self.a_zero.get(row));
                    x = s.sub_i32(x, s.mul_i32(col_sums, zero));
                }
                if !PLAIN && !self.row_sums.is_null() {
                    let moved = (self.k as i32).wrapping_mul(self.a_zero.get(row));
                    let rest = s.splat_i32((*self.row_sums.add(row)).wrapping_sub(moved));
                    x = s.sub_i32(x, s.mul_i32(b_zeros, rest));
                }
                let to = row * raw.stride + col;
                if TO == to::SUMS {
                    // Bits are only moved: the mask of a last part is there for f32.
                    let to = raw.sums.add(to);
                    if FULL {
                        s.store_i32_ptr(to, x);
                    } else {
                        s.store_part_ptr(to.cast(), s.bits_to_f32(x), n);
                    }
                    continue;
                }
                if !PLAIN && raw.by_row {
                    factors = Factors::of_row(s, raw, row);
                }
                if TO == to::BYTES {
                    if !PLAIN {
                        x = s.add_i32(x, factors.whole_bias);
                    }
                    let y = s.mul(s.to_f32(x), factors.scale);
                    let y = s.add_i32(s.to_i32(s.min(most, s.max(y, least))), zero);
                    if FULL {
                        s.store_low_bytes(raw.bytes.add(to), y);
                    } else {
                        let mut last = [0u8; 16];
                        s.store_low_bytes(last.as_mut_ptr(), y);
                        core::ptr::copy_nonoverlapping(last.as_ptr(), raw.bytes.add(to), n);
                    }
                    continue;
                }
                let mut y = s.add(s.mul(s.to_f32(x), factors.scale), factors.bias);
                if !raw.residual.is_null() {
                    let from = raw.residual.add(row * raw.residual_stride + col);
                    let r = if FULL { s.load_ptr(from) } else { s.load_part_ptr(from, n) };
                    y = s.add(y, r);
                }
                y = s.min(high, s.max(low, y));
                if FULL {
                    s.store_ptr(raw.floats.add(to), y);
                } else {
                    s.store_part_ptr(raw.floats.add(to), y, n);
                }
            }
        }
    }
}

/// Limits of an activation that has none: numbers between them are left as they are, and NaN too.
const UNBOUNDED: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

/// A bias that leaves every number as it is, -0 too.
const NO_BIAS: f32 = -0.0;

/// Scale and bias of one vector of sums.
struct Factors<S: Simd> {
    scale: S::F32,
    bias: S::F32,
    whole_bias: S::I32,
}

impl<S: Simd> Factors<S> {
    /// Those of sums that stay as they are.
    #[inline(always)]
    fn none(s: S) -> Factors<S> {
        Factors { scale: s.zero(), bias: s.zero(), whole_bias: s.splat_i32(0) }
    }

    /// Those of `n` columns from `col` on.
    ///
    /// # Safety
    /// The columns must exist, and a whole vector of them when it is `FULL`.
    #[inline(always)]
    unsafe fn of_columns<const FULL: bool>(s: S, raw: &Raw, col: usize, n: usize) -> Factors<S> {
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
    unsafe fn of_row(s: S, raw: &Raw, row: usize) -> Factors<S> {
        // SAFETY: the caller's promise.
        unsafe {
            let scale = raw.a_scale * *raw.b_scale.add(row * raw.scale_step);
            let bias = if raw.bias.is_null() { NO_BIAS } else { *raw.bias.add(row) };
            let whole = if raw.whole_bias.is_null() { 0 } else { *raw.whole_bias.add(row) };
            Factors { scale: s.splat(scale), bias: s.splat(bias), whole_bias: s.splat_i32(whole) }
        }
    }
}
