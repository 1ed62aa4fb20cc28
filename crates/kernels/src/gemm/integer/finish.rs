//! What happens to the sums of a tile before they are stored.

use super::ends::{Factors, Raw, Zeros};
use crate::gemm::ActivateRows;
use crate::simd::{Simd, SimdOp};

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
