//! One task of a product: tiles of sums, and what happens to them.

use super::driver::BLOCK_A;
use super::finish::Finish;
use super::pack::{COLS, sliver_width};
use super::rests::Rests;
use super::split::Parts;
use super::tile::{MAX_ROWS, Operands, PAIRS_QUAD, by, rows, tile};
use crate::gemm::shape::Panels;
use crate::simd::{Simd, SimdOp};
use core::mem::MaybeUninit;

/// One task: some panels of rows by some slivers of `B`.
#[derive(Clone, Copy)]
pub struct Block {
    /// Rows of the product, and the first and last panel of the task.
    pub panels: (usize, usize, usize),
    pub slivers: (usize, usize),
    pub n: usize,
    pub k: usize,
    pub a: *const u8,
    pub a_stride: usize,
    /// What is read instead of `a` where it is split.
    pub parts: Option<Parts>,
    pub b: *const i32,
    pub finish: Finish,
}

impl SimdOp for Block {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let (m, first, last) = self.panels;
        let panels = Panels::new(m, const { rows::<S>() });
        let step = self.panels_together(const { rows::<S>() });
        let mut from = first;
        while from < last {
            let to = (from + step).min(last);
            for sliver in self.slivers.0..self.slivers.1 {
                for panel in from..to {
                    // SAFETY: panels and slivers lie in the operands, which were checked.
                    unsafe { self.tiles(s, &panels, (panel, from, to), sliver) }
                }
            }
            from = to;
        }
    }
}

impl Block {
    /// Panels of `rows` rows that are worked on together.
    #[inline(always)]
    pub fn panels_together(&self, rows: usize) -> usize {
        (BLOCK_A / (self.k * rows).max(1)).max(1)
    }

    /// The tiles of one panel by one sliver.
    ///
    /// # Safety
    /// Both must exist.
    #[inline(always)]
    unsafe fn tiles<S: Simd>(
        &self,
        s: S,
        panels: &Panels,
        (panel, from, to): (usize, usize, usize),
        sliver: usize,
    ) {
        let quads = self.k.div_ceil(4);
        let (row, rows) = (panels.start(panel), panels.rows(panel));
        let col = sliver * COLS;
        let width = sliver_width(self.n, col);
        let cols = width.min(self.n - col);
        let mut sums = Sums(MaybeUninit::uninit());
        let sums: *mut i32 = sums.0.as_mut_ptr().cast();
        // The part of the next sliver that is asked for during this panel: only the first panel would wait for it.
        let share = (panel - from) * quads * COLS / (to - from);
        let later = self.b.wrapping_add((col + width) * quads + share);
        let step = if sliver + 1 < self.slivers.1 { COLS.div_ceil(to - from) } else { 0 };
        let mut finish = Finish { sums, row, rows, col, cols, ..self.finish };
        // SAFETY: the caller's promise; `sums` has a whole sliver for each row of a tile.
        unsafe {
            let b = self.b.add(col * quads);
            let operands = Operands {
                quads,
                a: self.a.wrapping_add(row * self.a_stride),
                a_stride: self.a_stride,
                b,
                b_stride: width,
                sums,
                sums_stride: COLS,
                adds: false,
                later,
                step,
            };
            let Some(parts) = &self.parts else {
                sliver_of::<S, { by::QUADS }>(s, rows, width, operands);
                s.call(finish);
                return;
            };
            let part = parts.part(panel, row);
            let (a, a_stride) = part.rows;
            let operands = Operands { a, a_stride, ..operands };
            if let Some([add, subtract]) = part.rests {
                sliver_of::<S, { by::LOW }>(s, rows, width, operands);
                if add.len > 0 {
                    s.call(Rests::<true> { list: add, b, width, sums });
                }
                if subtract.len > 0 {
                    s.call(Rests::<false> { list: subtract, b, width, sums });
                }
                finish.a_zero = parts.zero;
            } else {
                sliver_by_pairs(s, rows, width, operands);
            }
            s.call(finish);
        }
    }
}

/// Sums of a tile, none of whose vectors lies in two lines of the cache.
#[repr(align(64))]
struct Sums(MaybeUninit<[i32; MAX_ROWS * COLS]>);

/// The tiles of `rows` rows by a sliver, which is `width` wide.
///
/// # Safety
/// The operands must have these rows and columns; `rows` must be no more than a tile has.
#[inline(always)]
unsafe fn sliver_of<S: Simd, const BY: u8>(s: S, rows: usize, width: usize, operands: Operands) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut at = 0;
        while at < width {
            let operands = Operands {
                b: operands.b.add(at),
                sums: operands.sums.add(at),
                step: if at == 0 { operands.step } else { 0 },
                ..operands
            };
            if width - at >= 2 * S::LANES {
                tile::<S, 2, BY>(s, rows, operands);
                at += 2 * S::LANES;
            } else {
                tile::<S, 1, BY>(s, rows, operands);
                at += S::LANES;
            }
        }
    }
}

/// Quads whose part of a sliver stays in the first-level cache, 16 KB, beside that of the rows of a tile: by pairs a tile reads
/// half of a line, and the next one the rest.
const QUADS_TOGETHER: usize = 128;

/// As [`sliver_of`], by pairs.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn sliver_by_pairs<S: Simd>(s: S, rows: usize, width: usize, operands: Operands) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut first = 0;
        loop {
            for at in (0..width).step_by(S::LANES) {
                let operands = Operands {
                    quads: (operands.quads - first).min(QUADS_TOGETHER),
                    a: operands.a.add(first * PAIRS_QUAD),
                    b: operands.b.add(first * operands.b_stride + at),
                    sums: operands.sums.add(at),
                    adds: first > 0,
                    later: operands.later.wrapping_add(first * operands.step),
                    step: if at == 0 { operands.step } else { 0 },
                    ..operands
                };
                tile::<S, 2, { by::PAIRS }>(s, rows, operands);
            }
            first += QUADS_TOGETHER;
            // Sums of nothing are written too.
            if first >= operands.quads {
                break;
            }
        }
    }
}
