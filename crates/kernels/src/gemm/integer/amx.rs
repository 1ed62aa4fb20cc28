//! Blocks of sums by tiles of AMX (`tdpbusd`).

use super::block::Block;
use super::finish::Finish;
use super::pack::{COLS, sliver_width};
use crate::amx::{Kind, LANES, ROWS, Rows, SUMS_STRIDE, Sweep, Width};
use crate::gemm::shape::Panels;
use crate::simd::{Simd, SimdOp};

const _: () = assert!(COLS == SUMS_STRIDE);

/// A task by tiles: a function of its own, so that the frame of the one for vectors stays small.
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
        let rows = |panel| Rows {
            at: t.a.wrapping_add((panels.start(panel) + panels.rows(panel) - most) * t.a_stride),
            stride: t.a_stride,
            step: 4 * LANES,
        };
        let sliver = |sliver| Width {
            at: t.b.wrapping_add(sliver * COLS * quads).cast(),
            width: sliver_width(t.n, sliver * COLS),
        };
        let mut from = first;
        while from < last {
            let to = (from + together).min(last);
            let sweep = Sweep {
                kind: Kind::Quads,
                panels: (from, to),
                slivers: t.slivers,
                depth: quads,
                most,
            };
            // SAFETY: `new` demands tiles and the rows of `A`, no task begins inside another, and slivers have as many quads.
            unsafe {
                sweep.run(rows, sliver, |sums, panel, sliver| {
                    let (row, rows) = (panels.start(panel), panels.rows(panel));
                    let col = sliver * COLS;
                    let sums = sums.wrapping_add((most - rows) * SUMS_STRIDE).cast();
                    let cols = sliver_width(t.n, col).min(t.n - col);
                    s.call(Finish { sums, row, rows, col, cols, ..t.finish });
                });
            }
            from = to;
        }
    }
}
