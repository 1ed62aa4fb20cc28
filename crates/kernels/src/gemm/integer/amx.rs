//! Blocks of sums by tiles of AMX (`tdpbusd`).

use super::driver::Block;
use super::finish::Finish;
use super::pack::{COLS, sliver_width};
use crate::amx::{Kind, LANES, Operands, ROWS, Rest, SUMS_STRIDE, Sums, Tiles};
use crate::gemm::shape::Panels;
use crate::simd::{Simd, SimdOp};

const _: () = assert!(COLS == SUMS_STRIDE);

/// A task by tiles, two panels at a time: a function of its own, so that the frame of the one for vectors stays small.
pub struct ByTiles(Block);

impl ByTiles {
    /// The task.
    ///
    /// # Safety
    /// The machine must have [`Isa::Amx`](crate::Isa::Amx); panels are cut for it, and each row of `A` has as many bytes as
    /// whole tiles of `k` have.
    pub unsafe fn new(block: Block) -> ByTiles {
        ByTiles(block)
    }
}

impl SimdOp for ByTiles {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let t = self.0;
        let (m, first, last) = t.panels;
        let panels = Panels::new(m, ROWS);
        // Larger panels come first: those behind have as many rows, or one row less. Their tiles begin with the row before,
        // and the first row of their sums means nothing.
        let most = panels.rows(first);
        let quads = t.k.div_ceil(4);
        let together = t.panels_together(ROWS).next_multiple_of(2);
        // SAFETY: `new` demands tiles, and no task begins inside another.
        let mut tiles = unsafe { Tiles::new(most) };
        let (mut sums, mut rest) = (Sums::new(), Rest::new());
        let mut from = first;
        while from < last {
            let to = (from + together).min(last);
            for sliver in t.slivers.0..t.slivers.1 {
                let col = sliver * COLS;
                let width = sliver_width(t.n, col);
                let b = t.b.wrapping_add(col * quads).cast::<u32>();
                // SAFETY: the sliver has `quads` quads of `width` lanes.
                let rest = unsafe { rest.of(b, quads, width) };
                for panel in (from..to).step_by(2) {
                    // The second panel, or the first one again, which is not read twice.
                    let second = (panel + 1).min(to - 1);
                    let both = [panel, second].map(|i| (panels.start(i), panels.rows(i)));
                    let operands = Operands {
                        a: both.map(|(row, rows)| {
                            t.a.wrapping_add((row - (most - rows)) * t.a_stride)
                        }),
                        has_two: second > panel,
                        a_stride: t.a_stride,
                        a_step: [4 * LANES; 2],
                        steps: quads / LANES,
                        b,
                        width,
                        rest,
                    };
                    // SAFETY: `new` demands the rows of `A`, and the sliver has whole tiles for the steps.
                    unsafe { tiles.multiply(Kind::Quads, &operands, &mut sums) };
                    for (i, (row, rows)) in both.into_iter().enumerate().take(1 + second - panel) {
                        let sums = sums.of_row(i, most - rows).cast::<i32>().cast_const();
                        let cols = width.min(t.n - col);
                        s.call(Finish { sums, row, rows, col, cols, ..t.finish });
                    }
                }
            }
            from = to;
        }
    }
}
