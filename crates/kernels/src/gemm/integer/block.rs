//! One task of a product: tiles of sums, and what happens to them.

use super::driver::BLOCK_A;
use super::finish::Finish;
use super::pack::{COLS, sliver_width};
use super::rests::Rests;
use super::split::{Part, Parts};
use super::tile::{MAX_ROWS, Operands, exact_rows, rows, tile};
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
                later,
                step,
            };
            if !const { S::DOT4_LOW } {
                sliver_of::<S, false>(s, rows, width, operands);
                s.call(finish);
                return;
            }
            let part = match &self.parts {
                Some(parts) => parts.part(panel, row),
                None => Part { rows: None, rests: None },
            };
            let (a, a_stride) = part.rows.unwrap_or((operands.a, operands.a_stride));
            let operands = Operands { a, a_stride, ..operands };
            if let (Some([add, subtract]), Some(parts)) = (part.rests, &self.parts) {
                sliver_of::<S, true>(s, rows, width, operands);
                if add.len > 0 {
                    s.call(Rests::<true> { list: add, b, width, sums });
                }
                if subtract.len > 0 {
                    s.call(Rests::<false> { list: subtract, b, width, sums });
                }
                finish.a_zero = parts.zero;
            } else {
                // Tiles of fewer rows.
                let pieces = Panels::new(rows, const { exact_rows::<S>() });
                for piece in 0..pieces.count {
                    let first = pieces.start(piece);
                    let operands = Operands {
                        a: a.add(first * a_stride),
                        sums: sums.add(first * COLS),
                        step: if piece == 0 { step } else { 0 },
                        ..operands
                    };
                    sliver_of::<S, false>(s, pieces.rows(piece), width, operands);
                }
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
unsafe fn sliver_of<S: Simd, const LOW: bool>(s: S, rows: usize, width: usize, operands: Operands) {
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
                tile::<S, 2, LOW>(s, rows, operands);
                at += 2 * S::LANES;
            } else {
                tile::<S, 1, LOW>(s, rows, operands);
                at += S::LANES;
            }
        }
    }
}
