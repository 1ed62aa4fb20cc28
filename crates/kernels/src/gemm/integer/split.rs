//! The left operand where a product of bytes takes several instructions: as bytes that [`Simd::dot4_low`] can multiply, and
//! the few rests of those that reach beyond, or widened for [`Simd::dot2`].
//!
//! An unsigned byte is `from + low + above - below` ([`Simd::split_bytes`]), where `low` is no more than the packed right
//! operand allows in its quad: 128 at least, and about 200 for weights with a scale for each column. More is allowed where the
//! number beside it in its pair is small: together both may be 255 by any weights. `from` is chosen so that the middle of `low`
//! is near the zero point, where most activations are: behind Relu few are near the end of their range, and of those about a
//! zero point in the middle few are near either end. The dense product is that of `low`, with the zero point moved by `from`;
//! quads that have a rest are listed by panel, and added to its sums one by one. Where too many have one, and where the
//! product is too small for any of this, the rows of a panel become numbers of 16 bits: four instructions for what are three
//! of the other kind.

use super::driver::BLOCK_A;
use super::ends::Zeros;
use super::pack::{copied_stride, copy_row, limits_len};
use super::rests::{LANES, List, ROW_BITS};
use super::tile::{PAIRS_QUAD, rows};
use super::{Byte, Left, ZeroPoint};
use crate::gemm::driver::Shared;
use crate::gemm::shape::Panels;
use crate::par::for_ranges;
use crate::simd::{LINE, LINE_BYTES, Simd, SimdOp, dispatch_bytes};
use crate::{Isa, Parallel};

/// Of how many quads of a panel one may have a rest: a quad of a row takes a fourth or a third more time by numbers of 16 bits,
/// and a rest twice as much as a quad without one.
const SHARE: usize = 8;

/// How far the zero point is above `from` at least: of weights about it with a standard deviation of 32, as few quads as can be
/// have a number that is further below it, or a pair that is more than 255 together.
const BELOW: i32 = 77;

/// Columns and numbers below which a product takes less time than its left operand does to be split.
const FEW_COLS: usize = 32;
const FEW_NUMBERS: usize = 16;

/// Panels with too many rests after which only each [`AGAIN`] one is tried: those of one operand are much alike.
const REFUSED: usize = 2;
const AGAIN: usize = 8;

/// Numbers before the lists of a panel, which begin with how many are in each of the two.
const HEAD: usize = 16;

/// In the place of how many rests there are above: the panel is not split but widened.
const WHOLE: i32 = -1;

/// How a left operand is split.
#[derive(Clone, Copy)]
pub struct Plan {
    panels: Panels,
    /// Most rows of a panel.
    most: usize,
    k: usize,
    /// Whether panels are split at all.
    may_split: bool,
    /// Bytes from one row to the next: room for numbers of 16 bits.
    stride: usize,
    /// Most rests of a panel.
    limit: usize,
    /// Panels that are split before they are multiplied.
    pub together: usize,
}

impl Plan {
    /// `None` where the machine multiplies bytes in one instruction, or has no better way than [`Simd::dot4`].
    pub fn new(isa: Isa, dot4: bool, m: usize, n: usize, k: usize) -> Option<Plan> {
        struct Most;
        impl SimdOp for Most {
            type Output = Option<usize>;
            #[inline(always)]
            fn eval<S: Simd>(self, _: S) -> Option<usize> {
                S::DOT4_LOW.then_some(rows::<S>())
            }
        }
        let most = dispatch_bytes(isa, dot4, Most)?;
        let quads = k.div_ceil(4);
        let may_split = n >= FEW_COLS && k >= FEW_NUMBERS && quads < 1 << (31 - ROW_BITS);
        let panels = Panels::new(m, most);
        let stride = copied_stride(2 * k, PAIRS_QUAD);
        // Of narrow rows not so many that what is written down of panels is more than they are.
        let together = (BLOCK_A / (stride.max(LINE_BYTES) * most)).clamp(1, panels.count);
        let limit = if may_split { most * quads / SHARE } else { 0 };
        Some(Plan { panels, most, k, may_split, stride, limit, together })
    }

    /// Numbers written down of a panel.
    fn record(&self) -> usize {
        if self.may_split { HEAD + 4 * (self.limit + LANES) } else { HEAD }
    }

    /// Numbers of scratch that [`Plan::split`] needs.
    pub fn scratch_len(&self) -> usize {
        let copies = self.together * self.most * self.stride / 4 + LINE - 1;
        copies + self.together * self.record()
    }

    /// Splits or widens the panels from `first` to `last`, no more than are split together. Sums of rows, moved as their zero
    /// points are, are written to `sums` unless it is null.
    ///
    /// # Safety
    /// `A` must have the rows and numbers that the plan is for, and `sums` must be null or have as many numbers as rows.
    ///
    /// # Panics
    /// If `limits`, those of the right operand with the bounds behind them, are fewer than its quads, or `scratch` is too small.
    #[expect(clippy::too_many_arguments, reason = "all that the product knows of it")]
    pub unsafe fn split<A: Byte>(
        &self,
        (isa, dot4): (Isa, bool),
        par: &dyn Parallel,
        a: &Left<'_, A>,
        limits: &[i32],
        (first, last): (usize, usize),
        sums: *mut i32,
        scratch: &mut [i32],
    ) -> Parts {
        assert!(scratch.len() >= self.scratch_len() && last - first <= self.together);
        let shift = 128 * i32::from(A::SIGNED);
        let zero = match &a.zero {
            ZeroPoint::One(zero) => (*zero).into(),
            ZeroPoint::Each(each) => each.first().map_or(0, |&zero| zero.into()),
        };
        let quads = self.k.div_ceil(4);
        assert!(limits.len() >= 2 * limits_len(self.k), "limits and bounds of quads");
        let sum: usize = limits[..quads].iter().map(|&limit| limit as usize & 0xff).sum();
        let half = ((sum / (2 * quads).max(1)) as i32).max(BELOW);
        let from = (zero + shift - half).clamp(0, 127) as u8;
        let (records, copies) = scratch.split_at_mut(self.together * self.record());
        let at = copies.as_ptr().align_offset(LINE_BYTES).min(LINE - 1);
        let copies = copies[at..].as_mut_ptr();
        let parts = Parts {
            first,
            row: self.panels.start(first),
            copies: copies.cast(),
            stride: self.stride,
            records: records.as_mut_ptr(),
            record: self.record(),
            zero: Zeros::new(&a.zero, shift - i32::from(from)),
        };
        let shared = Shared((parts, sums));
        for_ranges(par, last - first, self.most * self.k, &|i, end| {
            let mut refused = 0;
            for panel in first + i..first + end {
                let (parts, sums) = shared.get();
                let limits = limits.as_ptr();
                let again = refused < REFUSED || (panel - first - i).is_multiple_of(AGAIN);
                let try_it = self.may_split && again;
                let job = Panel { plan: self, a, limits, from, panel, try_it, parts, sums };
                refused = if dispatch_bytes(isa, dot4, job) { 0 } else { refused + 1 };
            }
        });
        parts
    }
}

/// Panels that are split.
#[derive(Clone, Copy)]
pub struct Parts {
    /// The first of them, and its first row.
    first: usize,
    row: usize,
    copies: *mut u8,
    stride: usize,
    records: *mut i32,
    record: usize,
    /// The zero points of the dense part.
    pub zero: Zeros,
}

/// What a tile reads of a panel.
pub struct Part {
    /// The rows, and the bytes from one to the next.
    pub rows: (*const u8, usize),
    /// If it is split: the rests that are added, and those that are subtracted. Else rows are numbers of 16 bits.
    pub rests: Option<[List; 2]>,
}

impl Parts {
    /// # Safety
    /// The panel, which begins with `row`, must be one that was split.
    pub unsafe fn part(&self, panel: usize, row: usize) -> Part {
        let rows =
            (self.copies.wrapping_add((row - self.row) * self.stride).cast_const(), self.stride);
        // SAFETY: the caller's promise: the record was written.
        unsafe {
            let record = self.records.add((panel - self.first) * self.record);
            let len = [*record, *record.add(1)];
            if len[0] == WHOLE {
                return Part { rows, rests: None };
            }
            let list = |i: usize| {
                let [at, bytes] = self.list(record, i);
                List { at, bytes, len: len[i] as usize }
            };
            Part { rows, rests: Some([list(0), list(1)]) }
        }
    }

    /// Where list `i` of a panel lies: quads and rows, and bytes.
    fn list(&self, record: *mut i32, i: usize) -> [*mut i32; 2] {
        let len = (self.record - HEAD) / 4;
        let at = record.wrapping_add(HEAD + 2 * i * len);
        [at, at.wrapping_add(len)]
    }
}

/// One panel to be split.
struct Panel<'a, A> {
    plan: &'a Plan,
    a: &'a Left<'a, A>,
    /// Of the quads, whole vectors, and their bounds behind them.
    limits: *const i32,
    from: u8,
    panel: usize,
    /// Whether it may be split.
    try_it: bool,
    parts: Parts,
    sums: *mut i32,
}

impl<A: Byte> SimdOp for Panel<'_, A> {
    /// Whether it is split.
    type Output = bool;

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) -> bool {
        let (plan, parts) = (self.plan, &self.parts);
        let (row, rows) = (plan.panels.start(self.panel), plan.panels.rows(self.panel));
        // SAFETY: panels are disjoint, in the copies as in the records and in the sums, and no more than there is room for.
        unsafe {
            let record = parts.records.add((self.panel - parts.first) * parts.record);
            let lists = [parts.list(record, 0), parts.list(record, 1)];
            let mut counts = [0; 2];
            let fits =
                self.try_it && (0..rows).all(|i| self.row(s, row + i, i, lists, &mut counts));
            if fits && counts[0] + counts[1] <= plan.limit {
                *record = counts[0] as i32;
                *record.add(1) = counts[1] as i32;
                return true;
            }
            *record = WHOLE;
            for i in row..row + rows {
                self.widen(i);
            }
        }
        false
    }
}

impl<A: Byte> Panel<'_, A> {
    /// Where a row is copied to.
    #[inline(always)]
    fn copy(&self, row: usize) -> *mut u8 {
        self.parts.copies.wrapping_add((row - self.parts.row) * self.plan.stride)
    }

    /// Where a row lies.
    #[inline(always)]
    fn source(&self, row: usize) -> *const u8 {
        let matrix = &self.a.matrix;
        matrix.data.as_ptr().wrapping_add(row * matrix.row_stride).cast()
    }

    /// Widens a row to unsigned numbers of 16 bits, with zeros behind it.
    ///
    /// # Safety
    /// The row must exist.
    #[inline(always)]
    unsafe fn widen(&self, row: usize) {
        let k = self.plan.k;
        // SAFETY: the caller's promise; rows of copies have room for whole quads of numbers of 16 bits, and begin at multiples of 8.
        unsafe {
            let to: *mut u16 = self.copy(row).cast();
            let copy = core::slice::from_raw_parts_mut(to, k.next_multiple_of(4));
            copy_row(&self.a.matrix, row, k, copy);
            if !self.sums.is_null() {
                // Zeros behind the row add nothing.
                let sum = copy.iter().fold(0i32, |sum, &x| sum.wrapping_add(i32::from(x)));
                *self.sums.add(row) = sum;
            }
        }
    }

    /// Splits a row, number `i` of the panel; whether the lists had room.
    ///
    /// # Safety
    /// The row must exist, and the lists be those of its panel, with `counts` in them.
    #[inline(always)]
    unsafe fn row<S: Simd>(
        &self,
        s: S,
        row: usize,
        i: usize,
        lists: [[*mut i32; 2]; 2],
        counts: &mut [usize; 2],
    ) -> bool {
        const QUADS: [i32; LANES] = {
            let mut quads = [0; LANES];
            let mut i = 0;
            while i < LANES {
                quads[i] = (i as i32) << ROW_BITS;
                i += 1;
            }
            quads
        };
        let Plan { k, stride, limit, .. } = *self.plan;
        let to = self.copy(row);
        let (mut source, mut flip) = (self.source(row), if A::SIGNED { 0x80u8 } else { 0 });
        // SAFETY: the caller's promise; whole vectors are read of `k` bytes only, and written of `stride` bytes only.
        unsafe {
            if self.a.matrix.col_stride != 1 {
                let copy = core::slice::from_raw_parts_mut(to, k.next_multiple_of(4));
                copy_row(&self.a.matrix, row, k, copy);
                (source, flip) = (to, 0);
            }
            let flips = s.splat_i32(i32::from_ne_bytes([flip; 4]));
            let (zero, ones) = (s.splat_i32(0), s.splat_i32(0x0101_0101));
            let lanes = s.load_i32_ptr(QUADS.as_ptr());
            let mut sums = zero;
            let mut at = 0;
            while at < k {
                let mut bytes = if k - at >= S::BYTES {
                    s.load_i32_ptr(source.add(at).cast())
                } else {
                    // What fills it up is nothing in all three parts.
                    let mut last = [self.from ^ flip; 4 * LANES];
                    core::ptr::copy_nonoverlapping(source.add(at), last.as_mut_ptr(), k - at);
                    s.load_i32_ptr(last.as_ptr().cast())
                };
                bytes = s.xor_i32(bytes, flips);
                let most = s.load_i32_ptr(self.limits.add(at / 4));
                let bounds = s.load_i32_ptr(self.limits.add(limits_len(k) + at / 4));
                let [low, above, below] = s.split_bytes(bytes, self.from, most, bounds);
                if stride - at >= S::BYTES {
                    s.store_i32_ptr(to.add(at).cast(), low);
                } else {
                    let mut last = [0u8; 4 * LANES];
                    s.store_i32_ptr(last.as_mut_ptr().cast(), low);
                    core::ptr::copy_nonoverlapping(last.as_ptr(), to.add(at), stride - at);
                }
                if !self.sums.is_null() {
                    sums = s.dot4(sums, bytes, ones);
                }
                if s.any(s.mask_not(s.eq_i32(s.or_i32(above, below), zero))) {
                    let first = (at as i32 / 4) << ROW_BITS | i as i32;
                    let quads = s.add_i32(lanes, s.splat_i32(first));
                    for (l, rests) in [above, below].into_iter().enumerate() {
                        if counts[l] > limit {
                            return false;
                        }
                        let has = s.mask_not(s.eq_i32(rests, zero));
                        let [at, bytes] = lists[l];
                        s.compress_i32_ptr(at.add(counts[l]), quads, has);
                        counts[l] += s.compress_i32_ptr(bytes.add(counts[l]), rests, has);
                    }
                }
                at += S::BYTES;
            }
            if !self.sums.is_null() {
                let mut lanes = [0i32; LANES];
                s.store_i32_ptr(lanes.as_mut_ptr(), sums);
                // All bytes are moved by `from`, and what filled up the last vector to 0.
                let all = k.next_multiple_of(S::BYTES) as i32;
                let sum = lanes.iter().fold(0i32, |sum, lane| sum.wrapping_add(*lane));
                *self.sums.add(row) = sum.wrapping_sub(all.wrapping_mul(i32::from(self.from)));
            }
        }
        true
    }
}
